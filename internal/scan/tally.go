package scan

import (
	"sync"
	"time"

	"ambry.dev/ambry"
)

// progressEvery is the least time between two progress events of a source.
const progressEvery = 250 * time.Millisecond

// tally counts what a scan finds, by agent, and tells it. Reading and storing
// count at the same time.
type tally struct {
	scanner *Scanner
	job     *job // nil for the reading of single files as they change; then nothing is told

	mu      sync.Mutex // guards what follows
	results map[string]*count
	order   []string

	imported ambry.Imported
}

type count struct {
	ambry.ScanResult
	total    int64
	sessions map[string]bool
	told     time.Time
}

func newTally(s *Scanner, j *job) *tally {
	return &tally{scanner: s, job: j, results: map[string]*count{}}
}

// of returns the count of an agent. The caller holds t.mu.
func (t *tally) of(agentID string) *count {
	c := t.results[agentID]
	if c == nil {
		c = &count{ScanResult: ambry.ScanResult{SourceID: agentID, Errors: []string{}}, sessions: map[string]bool{}}
		t.results[agentID] = c
		t.order = append(t.order, agentID)
	}
	return c
}

func (t *tally) begin(agentID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tell(t.of(agentID), ambry.PhaseScan, "")
}

func (t *tally) expect(agentID string, bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of(agentID).total += bytes
}

// fail counts a source, or all of an agent, that could not be read.
func (t *tally) fail(agentID, path string, err error) {
	text := t.scanner.problem(path, err)
	t.scanner.Logger.Warn("read history", "agent", agentID, "err", text)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of(agentID).fail(text)
}

func (c *count) fail(text string) {
	c.ErrorCount++
	if len(c.Errors) < ambry.MaxScanErrors {
		c.Errors = append(c.Errors, text)
	}
}

// stored counts a batch that is safe.
func (t *tally) stored(b batch, done ambry.Imported) {
	t.mu.Lock()
	defer t.mu.Unlock()
	touched := map[string]bool{}
	for _, p := range b.parts {
		c := t.of(p.agent)
		c.Messages += int64(p.messages)
		c.Turns += int64(p.turns)
		c.Redactions += int64(p.redactions)
		c.Skipped += int64(p.skip)
		c.Bytes += p.read
		if p.turns > 0 {
			c.sessions[p.session] = true
		}
		touched[p.agent] = true
	}
	t.imported = t.imported.Add(done)
	now := t.scanner.Now()
	for id := range touched {
		if c := t.of(id); now.Sub(c.told) >= progressEvery {
			c.told = now
			t.tell(c, ambry.PhaseAdd, "")
		}
	}
}

// tell publishes how far a source is. The caller holds t.mu.
func (t *tally) tell(c *count, phase ambry.Phase, message string) {
	if t.job == nil {
		return
	}
	p := ambry.ScanProgress{
		JobID: t.job.id, SourceID: c.SourceID, Phase: phase,
		Current: min(c.Bytes, c.total), Total: c.total, Unit: "bytes", Message: message,
	}
	t.scanner.mu.Lock()
	t.job.progress = &p
	t.scanner.mu.Unlock()
	t.scanner.Bus.Publish(p)
}

// completion sums up and tells the last progress of each source.
func (t *tally) completion(err error, stopped bool) ambry.ScanCompletion {
	t.mu.Lock()
	defer t.mu.Unlock()
	phase := ambry.PhaseDone
	if stopped || err != nil {
		phase = ambry.PhaseStopped
	}
	out := ambry.ScanCompletion{
		JobID: t.job.id, SourceID: t.job.request.SourceID, Mode: t.job.request.Mode,
		Succeeded: err == nil && !stopped, Stopped: stopped, CompletedAt: t.scanner.Now().UTC(), Results: []ambry.ScanResult{}, Imported: t.imported,
	}
	for _, id := range t.order {
		c := t.results[id]
		if err != nil && !stopped {
			c.fail(t.scanner.problem("", err))
		}
		if phase == ambry.PhaseDone {
			c.total = c.Bytes
		}
		c.Conversations = int64(len(c.sessions))
		t.tell(c, phase, "")
		out.Results = append(out.Results, c.ScanResult)
	}
	return out
}
