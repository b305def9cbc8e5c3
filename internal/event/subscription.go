package event

import (
	"context"
	"errors"
	"slices"

	"ambry.dev/ambry"
)

// ErrClosed says that no event will follow: the bus or the subscription was
// closed.
var ErrClosed = errors.New("no more events")

// Subscription is the place of one reader. One goroutine at a time may read it;
// Close may be called from any.
type Subscription struct {
	bus  *Bus
	wake chan struct{} // holds one token when the queue or ended has changed

	// The bus guards what follows with its mutex.
	queue []*message
	at    uint64 // number of the last message that was read
	ended bool
}

// Next waits for the next event. It returns the error of ctx when that ends
// first, and [ErrClosed] after the last event. An event that is there already is
// returned even if ctx has ended.
func (s *Subscription) Next(ctx context.Context) (ambry.Event, error) {
	e, _, err := s.NextJSON(ctx)
	return e, err
}

// NextJSON is Next, and returns the JSON of the event too: one line, which all
// readers share and nobody may change.
func (s *Subscription) NextJSON(ctx context.Context) (ambry.Event, []byte, error) {
	for {
		m, ended := s.take()
		switch {
		case m != nil:
			return m.event, m.json, nil
		case ended:
			return ambry.Event{}, nil, ErrClosed
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return ambry.Event{}, nil, ctx.Err()
		}
	}
}

func (s *Subscription) take() (m *message, ended bool) {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	if len(s.queue) == 0 {
		return nil, s.ended
	}
	m = s.queue[0]
	s.queue[0] = nil
	s.queue = s.queue[1:]
	s.at = m.seq
	return m, false
}

// Position returns the id of the last event read, or of the one before the
// first. Subscribing with it misses nothing.
func (s *Subscription) Position() string {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	return s.bus.id(s.at)
}

// Close ends the subscription. Closing again does nothing.
func (s *Subscription) Close() {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	delete(s.bus.readers, s)
	s.queue = nil
	s.end()
}

func (s *Subscription) end() {
	s.ended = true
	s.signal()
}

// offer queues m. It runs under the bus's mutex, as all below.
func (s *Subscription) offer(m *message) {
	switch {
	case m.progress:
		if len(s.queue) >= progressLimit && !s.dropProgress() {
			return // all that waits is more important
		}
	case len(s.queue) >= 2*len(s.bus.ring) && !s.dropProgress():
		s.resync("slow_reader", m.seq-1)
	}
	s.queue = append(s.queue, m)
	s.signal()
}

// dropProgress leaves out the oldest progress that waits: a newer one of the
// same source has come since, or will.
func (s *Subscription) dropProgress() bool {
	i := slices.IndexFunc(s.queue, func(m *message) bool { return m.progress })
	if i < 0 {
		return false
	}
	s.queue = slices.Delete(s.queue, i, i+1)
	return true
}

// resync replaces all that waits. Its id is that of the last event which the
// reader need not see any more.
func (s *Subscription) resync(reason string, seq uint64) {
	clear(s.queue)
	s.queue = append(s.queue[:0], s.bus.message(ambry.AppResync{Reason: reason}, seq))
}

func (s *Subscription) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
