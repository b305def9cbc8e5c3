package scan

import (
	"context"
	"time"

	"ambry.dev/ambry"
)

// Journal keeps when and how scans ended.
type Journal interface {
	LastScan(ctx context.Context, agentID string) (time.Time, error)
	SetLastScan(ctx context.Context, agentID string, at time.Time) error
	Completion(ctx context.Context) (*ambry.ScanCompletion, error)
	SetCompletion(ctx context.Context, c ambry.ScanCompletion) error
}

// ends is how scans ended, and what of it the journal does not have yet: looking
// for news where there is none writes nothing.
type ends struct {
	last      *ambry.ScanCompletion
	times     map[string]time.Time // by agent, since the scanner began
	unwritten bool
}

// finish ends a job and tells how.
func (s *Scanner) finish(j *job, c ambry.ScanCompletion, news bool) {
	s.mu.Lock()
	if s.active == j {
		s.active = nil
	}
	s.ends.last, s.ends.unwritten = &c, true
	if c.Succeeded {
		s.noteTimes(c)
	}
	s.mu.Unlock()
	if news || !c.Succeeded {
		s.writeEnds()
	}
	s.Bus.Publish(c)
	close(j.done)
}

// noteTimes remembers that the agents of a scan were read to their end. The
// caller holds s.mu.
func (s *Scanner) noteTimes(c ambry.ScanCompletion) {
	if s.ends.times == nil {
		s.ends.times = map[string]time.Time{}
	}
	for _, a := range s.chosen(c.SourceID) {
		if _, here, _ := look(a.History.Roots(s.Home)); here {
			s.ends.times[a.ID] = c.CompletedAt
		}
	}
}

// lastScan returns when an agent was last read to its end.
func (s *Scanner) lastScan(ctx context.Context, agentID string) (time.Time, error) {
	s.mu.Lock()
	at, ok := s.ends.times[agentID]
	s.mu.Unlock()
	if ok {
		return at, nil
	}
	return s.Journal.LastScan(ctx, agentID)
}

// writeEnds gives the journal what it does not have.
func (s *Scanner) writeEnds() {
	ctx := context.Background() // also when the scanner is ending
	s.mu.Lock()
	last, unwritten := s.ends.last, s.ends.unwritten
	times := map[string]time.Time{}
	for id, at := range s.ends.times {
		times[id] = at
	}
	s.ends.unwritten = false
	s.mu.Unlock()
	if !unwritten {
		return
	}
	if err := s.Journal.SetCompletion(ctx, *last); err != nil {
		s.Logger.Warn("remember how the scan ended", "err", err)
	}
	for id, at := range times {
		if err := s.Journal.SetLastScan(ctx, id, at); err != nil {
			s.Logger.Warn("remember the time of the scan", "agent", id, "err", err)
		}
	}
}
