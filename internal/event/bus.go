// Package event is the bus: what happens is published once, numbered, and read
// by many, who can come back and read on where they were. It keeps nothing on
// the disk and knows no HTTP; package web streams it.
package event

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"ambry.dev/ambry"
)

// progressLimit is how many events may wait for a reader before progress makes
// room for the rest.
const progressLimit = 256

// Bus numbers events and hands them to its readers. Publishing never waits for
// a reader. Every reader gets every event in order, with two exceptions, both of
// them for a reader who is slow: progress ([ambry.ScanProgress]) may be left
// out, oldest first; and if twice as much as the ring holds is waiting, all of
// it is replaced by one [ambry.AppResync].
type Bus struct {
	epoch string
	now   func() time.Time

	mu      sync.Mutex
	ring    []*message // the last ones; message n is at n modulo its length
	last    uint64     // number of the newest message, 0 before the first
	readers map[*Subscription]struct{}
	closed  bool
}

// message is an event and its JSON, made once for all readers.
type message struct {
	event    ambry.Event
	json     []byte
	seq      uint64
	progress bool
}

// New returns a bus that keeps the last size events for readers who come back.
// Ids are epoch-number; the epoch must be another one at every start, since
// numbers begin anew.
func New(epoch string, size int, now func() time.Time) *Bus {
	return &Bus{
		epoch: epoch, now: now,
		ring: make([]*message, max(size, 1)), readers: map[*Subscription]struct{}{},
	}
}

// Publish gives p a number and the time, and hands it to everybody who reads
// now or comes back later. It keeps p, which must not change afterwards. A
// closed bus still numbers it.
func (b *Bus) Publish(p ambry.Payload) ambry.Event {
	_, progress := p.(ambry.ScanProgress)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	m := b.message(p, b.last)
	m.progress = progress
	b.ring[b.last%uint64(len(b.ring))] = m
	for s := range b.readers {
		s.offer(m)
	}
	return m.event
}

// message encodes p; that it can be encoded is up to the types in package ambry.
func (b *Bus) message(p ambry.Payload, seq uint64) *message {
	e := ambry.Event{ID: b.id(seq), Type: p.Topic(), Timestamp: b.now().UTC(), Payload: p}
	data, err := json.Marshal(e)
	if err != nil {
		panic(fmt.Sprintf("event: %s cannot be encoded: %v", e.Type, err))
	}
	return &message{event: e, json: data, seq: seq}
}

func (b *Bus) id(seq uint64) string { return b.epoch + "-" + strconv.FormatUint(seq, 10) }

// Subscribe begins to read after the event lastEventID, or after the newest one
// if that is empty. If events in between are gone, or the id is of another
// epoch, the first event is an [ambry.AppResync] that says why, and reading goes
// on from now. The caller closes the subscription.
func (b *Bus) Subscribe(lastEventID string) *Subscription {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &Subscription{bus: b, wake: make(chan struct{}, 1), at: b.last}
	if lastEventID != "" {
		b.replay(s, lastEventID)
	}
	if b.closed {
		s.ended = true
	} else {
		b.readers[s] = struct{}{}
	}
	return s
}

func (b *Bus) replay(s *Subscription, lastEventID string) {
	seq, ok := b.parse(lastEventID)
	switch {
	case !ok:
		s.resync("epoch_changed", b.last)
	case b.last-seq > uint64(len(b.ring)):
		s.resync("too_old", b.last)
	default:
		s.at = seq
		for n := seq + 1; n <= b.last; n++ {
			s.queue = append(s.queue, b.ring[n%uint64(len(b.ring))])
		}
	}
}

// parse returns the number of an id that this bus has given out, or could give
// out as the position before its first event.
func (b *Bus) parse(id string) (uint64, bool) {
	number, ok := strings.CutPrefix(id, b.epoch+"-")
	if !ok {
		return 0, false
	}
	seq, err := strconv.ParseUint(number, 10, 64)
	return seq, err == nil && seq <= b.last
}

// Close ends every subscription once its reader has what was published before.
func (b *Bus) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for s := range b.readers {
		s.end()
	}
}
