package upstream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// orderWait is how long an answer may be kept for what was said before it.
const orderWait = time.Second / 2

// order keeps answers behind the notifications that came before them. The SDK
// takes answers at once and notifications one after the other, so the last
// progress of a call could come after its answer, when nobody may be told of it
// any more.
type order struct {
	mu      sync.Mutex // guards what follows
	seen    int        // notifications that were read
	handled int        // and those of them that were passed on
	moved   chan struct{}
}

// follows are the notifications that an answer is kept for.
var follows = [][]byte{[]byte("notifications/progress"), []byte("notifications/message"), []byte("notifications/resources/updated")}

func isFollowed(method []byte) bool {
	for _, f := range follows {
		if bytes.Equal(method, f) {
			return true
		}
	}
	return false
}

// read is called with each message before the SDK sees it.
func (o *order) read(message []byte) {
	// Only names and short values are looked at; a message that is no JSON is for
	// the SDK to refuse.
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(message, &m) != nil {
		return
	}
	if m.Method != "" {
		if m.ID == nil && isFollowed([]byte(m.Method)) {
			o.mu.Lock()
			o.seen++
			o.mu.Unlock()
		}
		return
	}
	o.wait()
}

// done is called when a notification was passed on.
func (o *order) done() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.handled++
	if o.moved != nil {
		close(o.moved)
		o.moved = nil
	}
}

// wait waits until all that was read is passed on. What the SDK refuses to take
// never is.
func (o *order) wait() {
	late := time.NewTimer(orderWait)
	defer late.Stop()
	for {
		o.mu.Lock()
		if o.handled >= o.seen {
			o.mu.Unlock()
			return
		}
		if o.moved == nil {
			o.moved = make(chan struct{})
		}
		moved := o.moved
		o.mu.Unlock()
		select {
		case <-moved:
		case <-late.C:
			o.mu.Lock()
			o.handled = o.seen
			o.mu.Unlock()
			return
		}
	}
}

// lines reads messages, one a line, and tells the order of each. A line may be so
// long and no longer.
type lines struct {
	from  *bufio.Reader
	order *order
	over  *atomic.Bool // is set at the end; may be nil
	ready []byte       // of a line that was not asked for yet
	err   error
}

func newLines(from io.Reader, o *order) *lines {
	return &lines{from: bufio.NewReaderSize(from, 32<<10), order: o}
}

// Read reads of one line at most.
func (l *lines) Read(p []byte) (int, error) {
	if len(l.ready) == 0 {
		if l.err != nil {
			return 0, l.err
		}
		l.next()
	}
	n := copy(p, l.ready)
	l.ready = l.ready[n:]
	if n == 0 {
		return 0, l.err
	}
	return n, nil
}

// next reads a line. What comes behind the last one is one too.
func (l *lines) next() {
	l.ready = l.ready[:0:0]
	for {
		part, err := l.from.ReadSlice('\n')
		l.ready = append(l.ready, part...)
		switch {
		case len(l.ready) > maxMessage:
			l.ready, l.err = nil, fmt.Errorf("a message of more than %d bytes", maxMessage)
			return
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		}
		l.err = err
		if l.over != nil && errors.Is(err, io.EOF) {
			l.over.Store(true)
		}
		break
	}
	message := bytes.TrimSpace(bytes.TrimPrefix(l.ready, []byte("data:")))
	if len(message) > 0 && message[0] == '{' {
		l.order.read(message)
	}
}
