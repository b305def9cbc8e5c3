package store

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/sqlite"
)

// Call is something that was asked of the memory. It must be free of secrets.
type Call struct {
	ID      string // of a search, its searchEventId
	Tool    string
	Agent   string // who asked, "" if it did not say
	Session string // of the caller
	Turn    string
	At      time.Time
	Took    time.Duration
	Input   any // becomes JSON
	Output  ambry.LoggedAnswer
}

// The bounds of the journal.
const (
	maxQueued    = 256                    // calls that wait to be written; more are dropped
	maxJournaled = 128                    // calls written together
	journalWait  = 250 * time.Millisecond // that a call waits for others
)

// journal writes what was asked to the disk, a little later and together. Nobody
// waits for it: what comes faster than it can write is dropped, and counted.
type journal struct {
	queue   chan func() Call
	flushes chan chan struct{}
	stop    chan struct{} // closed to end run
	done    chan struct{} // closed when run has ended
	dropped atomic.Int64
}

func newJournal() *journal {
	return &journal{
		queue:   make(chan func() Call, maxQueued),
		flushes: make(chan chan struct{}),
		stop:    make(chan struct{}),
		done:    make(chan struct{}),
	}
}

// Record has a call logged some time later. It never waits; under pressure, or
// when the memory is closing, the call is dropped. describe is called on another
// goroutine.
func (s *Store) Record(describe func() Call) {
	select {
	case s.journal.queue <- describe:
	default:
		s.journal.dropped.Add(1)
	}
}

// run writes calls until stop is closed, and then those that are queued.
func (j *journal) run(write func([]Call) error) {
	defer close(j.done)
	timer := time.NewTimer(journalWait)
	timer.Stop()
	var calls []Call
	for {
		var waiting chan struct{}
		stopped := false
		select {
		case describe := <-j.queue:
			if calls = append(calls, describe()); len(calls) == 1 {
				timer.Reset(journalWait)
			}
			if len(calls) < maxJournaled {
				continue
			}
		case <-timer.C:
		case waiting = <-j.flushes:
			calls = j.drain(calls)
		case <-j.stop:
			calls, stopped = j.drain(calls), true
		}
		timer.Stop()
		if len(calls) > 0 && write(calls) != nil {
			j.dropped.Add(int64(len(calls)))
		}
		calls = nil
		if waiting != nil {
			close(waiting)
		}
		if stopped {
			return
		}
	}
}

// drain appends what is queued now.
func (j *journal) drain(calls []Call) []Call {
	for range len(j.queue) {
		calls = append(calls, (<-j.queue)())
	}
	return calls
}

// flush returns when all calls that were recorded before it are on the disk, or
// dropped.
func (j *journal) flush(ctx context.Context) error {
	written := make(chan struct{})
	select {
	case j.flushes <- written:
	case <-j.done:
		return sqlite.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-written:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close has everything written that is queued.
func (j *journal) close() {
	close(j.stop)
	<-j.done
}

// record writes calls to the log.
func (s *Store) record(calls []Call) error {
	cost := 0
	rows := make([]callRow, 0, len(calls))
	for _, c := range calls {
		row, err := c.row()
		if err != nil {
			return err
		}
		rows, cost = append(rows, row), cost+int(row.bytes)
	}
	err := s.write(context.Background(), cost, func(t *tx) error {
		for _, r := range rows {
			if err := t.record(r); err != nil {
				return err
			}
		}
		if err := t.countUses(rows); err != nil {
			return err
		}
		return t.pruneLog()
	})
	if err != nil && !errors.Is(err, sqlite.ErrClosed) {
		s.log.Warn("calls are missing in the log", "calls", len(calls), "err", err)
	}
	return err
}
