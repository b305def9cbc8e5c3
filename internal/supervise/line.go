package supervise

import (
	"bytes"
	"encoding/json"
)

// message is what a child says, on one line: its answer, or why it refuses.
type message struct {
	Answer  json.RawMessage `json:"answer,omitempty"`
	Refusal string          `json:"refusal,omitempty"`
}

// maxLine is how long a line between the two processes may be, in bytes.
const maxLine = 1 << 20

// firstLine is a writer that passes on the first line and drops the rest, so
// that a child that goes on talking does not get stuck.
type firstLine struct {
	line chan []byte // gets one line
	held []byte
	done bool
}

func newFirstLine() *firstLine { return &firstLine{line: make(chan []byte, 1)} }

// Write never fails.
func (f *firstLine) Write(p []byte) (int, error) {
	if f.done {
		return len(p), nil
	}
	end := bytes.IndexByte(p, '\n')
	if end < 0 {
		end = len(p)
	} else {
		f.done = true
	}
	f.held = append(f.held, p[:end]...)
	if len(f.held) > maxLine {
		f.held, f.done = nil, true
	}
	if f.done {
		f.line <- f.held
		f.held = nil
	}
	return len(p), nil
}
