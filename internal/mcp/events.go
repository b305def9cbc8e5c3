package mcp

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// How much of what was sent each session can ask for again.
const (
	keptStreams = 32
	keptBytes   = 256 << 10
)

// events keeps what was sent, so that a client whose connection broke can go on
// where it was. The store of the SDK is bounded by bytes only, and keeps a
// stream for every request that a session ever made.
type events struct {
	mu       sync.Mutex
	sessions map[string]*sessionEvents
}

var _ mcp.EventStore = (*events)(nil)

type sessionEvents struct {
	streams []*streamEvents // oldest first
	bytes   int
}

type streamEvents struct {
	id    string
	first int // number of the first event that is still there
	kept  [][]byte
}

func newEvents() *events { return &events{sessions: map[string]*sessionEvents{}} }

// Open begins a stream.
func (e *events) Open(_ context.Context, session, stream string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.sessions[session]
	if s == nil {
		s = &sessionEvents{}
		e.sessions[session] = s
	}
	if s.stream(stream) != nil {
		return nil
	}
	s.streams = append(s.streams, &streamEvents{id: stream})
	if len(s.streams) > keptStreams {
		s.drop(s.oldest())
	}
	return nil
}

// Append keeps an event. The oldest ones of the session go when it has too many.
func (e *events) Append(_ context.Context, session, stream string, data []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.sessions[session]
	if s == nil {
		return nil
	}
	t := s.stream(stream)
	if t == nil {
		return nil // it was dropped; whoever asks for it is told
	}
	t.kept = append(t.kept, data)
	s.bytes += weight(data)
	for s.bytes > keptBytes && s.streams[s.oldest()] != t {
		s.drop(s.oldest())
	}
	for s.bytes > keptBytes && len(t.kept) > 1 {
		s.bytes -= weight(t.kept[0])
		t.kept[0] = nil
		t.kept = t.kept[1:]
		t.first++
	}
	return nil
}

// After returns the events of a stream behind the one with the number given, or
// [mcp.ErrEventsPurged] if not all of them are there.
func (e *events) After(_ context.Context, session, stream string, number int) iter.Seq2[[]byte, error] {
	kept, err := e.after(session, stream, number)
	return func(yield func([]byte, error) bool) {
		if err != nil {
			yield(nil, err)
			return
		}
		for _, data := range kept {
			if !yield(data, nil) {
				return
			}
		}
	}
}

func (e *events) after(session, stream string, number int) ([][]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.sessions[session]
	if s == nil {
		return nil, mcp.ErrEventsPurged
	}
	t := s.stream(stream)
	if t == nil || number+1 < t.first || number >= t.first+len(t.kept) {
		return nil, mcp.ErrEventsPurged
	}
	return slices.Clone(t.kept[number+1-t.first:]), nil
}

// SessionClosed forgets a session.
func (e *events) SessionClosed(_ context.Context, session string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.sessions, session)
	return nil
}

func (s *sessionEvents) stream(id string) *streamEvents {
	if i := slices.IndexFunc(s.streams, func(t *streamEvents) bool { return t.id == id }); i >= 0 {
		return s.streams[i]
	}
	return nil
}

// oldest is the stream to drop first. The one that a client listens to, which
// has no id, is there as long as the session.
func (s *sessionEvents) oldest() int {
	return max(slices.IndexFunc(s.streams, func(t *streamEvents) bool { return t.id != "" }), 0)
}

func (s *sessionEvents) drop(i int) {
	for _, data := range s.streams[i].kept {
		s.bytes -= weight(data)
	}
	s.streams = slices.Delete(s.streams, i, i+1)
}

// weight counts what an event takes, even one that is empty.
func weight(data []byte) int { return len(data) + 64 }
