// Package scan brings what agents have kept into the memory: history →
// redaction → memory → marks and events. It calls everybody and nobody calls it
// back. It parses nothing and stores nothing itself.
package scan

import (
	"context"
	"log/slog"
	"sync"
	"time"
	"uuid"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/redact"
)

// Importer is the part of the memory that a scan needs.
type Importer interface {
	Import(ctx context.Context, cs []redact.Conversation) (ambry.Imported, error)
}

// Marks keeps how far each file was read.
type Marks interface {
	Marks(ctx context.Context, agentID string) (map[string]ambry.FileMark, error)
	Mark(ctx context.Context, agentID, path string) (ambry.FileMark, error)
	SetMarks(ctx context.Context, agentID string, marks map[string]ambry.FileMark) error
	Totals(ctx context.Context, agentID string) (ambry.SourceTotals, error)
}

// Bus is told what happens.
type Bus interface {
	Publish(p ambry.Payload) ambry.Event
}

// Scanner reads histories. Its fields are set before [Scanner.Run] and not
// changed after. Reading needs the consent that Consent tells: without it a
// scan is refused and no file is watched.
type Scanner struct {
	Agents  []agent.Agent
	Home    agent.Home
	Memory  Importer
	Marks   Marks
	Journal Journal
	Manual  ManualSources // nil: none can be added
	Own     string        // our own directory, which is never read
	Bus     Bus
	Consent func() (ambry.ScanPermission, ambry.ScanPreferences)
	Logger  *slog.Logger
	Now     func() time.Time

	once    sync.Once
	jobs    chan *job
	changed chan struct{} // consent or preferences

	mu     sync.Mutex // guards what follows
	active *job
	begun  int // jobs so far
	before int // jobs when the consent last changed
	ends   ends

	naming sync.Mutex // guards manual; taken after mu
	manual []manual   // nil until they were loaded
}

// job is a scan of what is in the histories now.
type job struct {
	id       string
	request  ambry.ScanRequest
	unasked  bool // the scanner's own idea; it makes way for what a person asks
	halt     sync.Once
	halted   chan struct{} // closed when it shall stop
	done     chan struct{} // closed when it has ended
	progress *ambry.ScanProgress
}

func (j *job) stop() { j.halt.Do(func() { close(j.halted) }) }

func (s *Scanner) init() {
	s.once.Do(func() {
		s.jobs = make(chan *job, 2)
		s.changed = make(chan struct{}, 1)
	})
}

// Run does what is asked of the scanner until ctx ends, and watches the
// histories for changes while the person permits it. It returns when all its
// work has ended.
func (s *Scanner) Run(ctx context.Context) error {
	s.init()
	if err := s.loadManual(ctx); err != nil {
		s.Logger.Error("read which sources were added", "err", err)
	}
	if last, err := s.Journal.Completion(ctx); err == nil {
		s.mu.Lock()
		s.ends.last = last
		s.mu.Unlock()
	}
	defer s.writeEnds()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { s.watch(ctx) })
	for {
		select {
		case <-ctx.Done():
			s.abandon()
			return nil
		case j := <-s.jobs:
			s.run(ctx, j)
		}
	}
}

// abandon ends the jobs that were accepted and will not be run.
func (s *Scanner) abandon() {
	for {
		select {
		case j := <-s.jobs:
			s.finish(j, ambry.ScanCompletion{JobID: j.id, SourceID: j.request.SourceID, Mode: j.request.Mode, Stopped: true, CompletedAt: s.Now()}, true)
		default:
			return
		}
	}
}

// ConsentChanged makes the scanner look at the consent again.
func (s *Scanner) ConsentChanged() {
	s.init()
	s.mu.Lock()
	s.before = s.begun
	s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
	if p, _ := s.Consent(); !p.MayScan() {
		s.mu.Lock()
		j := s.active
		s.mu.Unlock()
		if j != nil {
			j.stop()
		}
	}
}

// Start begins a scan and returns its id. The same scan already running gives
// that scan's id; another one is in the way with [ambry.Conflict].
func (s *Scanner) Start(req ambry.ScanRequest) (ambry.ScanStarted, error) {
	s.init()
	if req.SourceID == "" {
		req.SourceID = ambry.AllSources
	}
	if req.Mode == "" {
		req.Mode = ambry.Incremental
	}
	if p, _ := s.Consent(); !p.MayScan() {
		return ambry.ScanStarted{}, ambry.ScanNotPermitted.Errorf("reading the agents' histories is not permitted yet; give consent with scanPermission, or run \"ambry scan --allow\"")
	}
	if len(s.chosen(req.SourceID)) == 0 {
		return ambry.ScanStarted{}, ambry.NotFound.Errorf("there is no agent source %q", req.SourceID)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch a := s.active; {
	case a == nil:
	case a.request == req:
		a.unasked = false
		return ambry.ScanStarted{JobID: a.id}, nil
	case a.unasked:
		a.stop() // what it has read stays; the new job reads the rest
	default:
		return ambry.ScanStarted{}, &ambry.Error{
			Kind: ambry.Conflict, Message: "a scan of " + a.request.SourceID + " is running; wait for it or stop it",
			Extra: map[string]any{"jobId": a.id},
		}
	}
	return ambry.ScanStarted{JobID: s.begin(req, false).id}, nil
}

// begin makes a job the active one. The caller holds s.mu.
func (s *Scanner) begin(req ambry.ScanRequest, unasked bool) *job {
	j := &job{id: uuid.NewV7().String(), request: req, unasked: unasked, halted: make(chan struct{}), done: make(chan struct{})}
	s.active = j
	s.begun++
	s.jobs <- j // never blocks: the one before, if any, is out of the channel or stopped
	return j
}

// startUnasked begins a scan of what is new, unless one runs already.
func (s *Scanner) startUnasked() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active == nil {
		s.begin(ambry.ScanRequest{SourceID: ambry.AllSources, Mode: ambry.Incremental}, true)
	}
}

// asked reports whether somebody asked for a scan since the consent changed.
func (s *Scanner) asked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun != s.before
}

// Stop ends the running scan, if any, and returns once it has really ended.
// What was read stays; scanning again goes on where it was.
func (s *Scanner) Stop(ctx context.Context) error {
	s.mu.Lock()
	j := s.active
	s.mu.Unlock()
	if j == nil {
		return nil
	}
	j.stop()
	select {
	case <-j.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Status says what is being done and how the last scan ended.
func (s *Scanner) Status() ambry.ScanStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := ambry.ScanStatus{Active: s.active != nil, Completion: s.ends.last}
	if s.active != nil && s.active.progress != nil {
		p := *s.active.progress
		st.Progress = &p
	}
	return st
}

// chosen returns the agents that a source id stands for.
func (s *Scanner) chosen(sourceID string) []agent.Agent {
	var out []agent.Agent
	for _, a := range s.agents() {
		if a.History != nil && (sourceID == ambry.AllSources || a.ID == sourceID) {
			out = append(out, a)
		}
	}
	return out
}
