package supervise

import (
	"bytes"
	"encoding/json"
)

// message is what a child says, on one line: what it is at, any number of times,
// then its answer, or why it refuses.
type message struct {
	Working string          `json:"working,omitempty"`
	Answer  json.RawMessage `json:"answer,omitempty"`
	Refusal string          `json:"refusal,omitempty"`
}

// atWork is how a line begins that is no answer yet.
var atWork = []byte(`{"working":`)

// maxLine is how long a line between the two processes may be, in bytes.
const maxLine = 1 << 20

// sayings is a writer that passes on the first line that is an answer and, of those
// before it, the last that was not read yet. It drops the rest, so that a child that
// goes on talking does not get stuck.
type sayings struct {
	working chan []byte
	answer  chan []byte // gets one line
	held    []byte
	done    bool
}

func newSayings() *sayings {
	return &sayings{working: make(chan []byte, 1), answer: make(chan []byte, 1)}
}

// Write never fails.
func (s *sayings) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 && !s.done {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		s.held = append(s.held, line...)
		if p = rest; len(s.held) > maxLine {
			s.held, s.done = nil, true
		}
		switch {
		case !s.done && whole && bytes.HasPrefix(s.held, atWork):
			select { // nobody else writes
			case <-s.working:
			default:
			}
			s.working <- s.held
			s.held = nil
		case s.done || whole:
			s.done = true
			s.answer <- s.held
			s.held = nil
		}
	}
	return n, nil
}
