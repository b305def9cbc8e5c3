// Package meaning finds memories by what they mean: it has their texts embedded
// in the background, keeps what tells most of the vectors in memory, and compares
// them with that of a question. It is not for words, and it decides nothing about order; that is
// recall. Nothing here makes a search or a write wait for a model: what has no
// vector yet is found by its words.
package meaning

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/model"
)

// Config says what a Meaning is made of.
type Config struct {
	Store    *store.Store
	Embedder model.Embedder
	Logger   *slog.Logger // nil logs nothing

	// Scratch makes a file that is gone with the process, for what need not be in
	// memory; nil keeps all of the vectors there.
	Scratch func() (*os.File, error)

	// Slow says that the embedder is elsewhere: questions are remembered, and are
	// answered without it when it takes longer than a moment.
	Slow bool
}

// Meaning keeps the vectors of a store. All methods may be called at the same
// time; Run once.
type Meaning struct {
	store    *store.Store
	embedder model.Embedder
	log      *slog.Logger
	slow     bool
	index    index
	asked    questions

	wake chan struct{} // something is due

	mu      sync.Mutex     // guards the rest
	touched map[int64]bool // rows that changed while the vectors are read from the disk; nil afterwards
	stale   bool           // all vectors have to be read again
	storing int64          // vectors that are on their way to the disk
	failed  string         // why the last batch was not embedded, "" if it was
	retryAt time.Time
}

// New returns a Meaning that knows nothing until Run. It watches the store from
// now on.
func New(c Config) *Meaning {
	m := &Meaning{
		store: c.Store, embedder: c.Embedder, log: c.Logger, slow: c.Slow,
		wake: make(chan struct{}, 1), touched: map[int64]bool{}, index: index{shelf: shelf{open: c.Scratch}},
	}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	m.store.Watch(watch{m})
	return m
}

// Space names the model, for weights that are fitted to it.
func (m *Meaning) Space() string { return m.embedder.Space() }

// form grows when what is stored of a vector changes; all are made anew then.
const form = " 2"

// stored names the space of the vectors that are stored.
func (m *Meaning) stored() string { return m.embedder.Space() + form }

// Bytes is how much memory the vectors take.
func (m *Meaning) Bytes() int64 { return m.index.bytes() }

// State is how far the memories are embedded.
type State struct {
	Space   string
	Ready   int64  // memories that can be found by meaning
	Due     int64  // that wait
	Loaded  bool   // what was embedded before is there
	Reason  string // why nothing goes on, "" if it does
	RetryAt time.Time
}

// State reports the progress.
func (m *Meaning) State(ctx context.Context) (State, error) {
	m.mu.Lock()
	loaded := m.touched == nil
	m.mu.Unlock()
	if !loaded {
		return m.state(0, false), nil
	}
	due, err := m.store.VectorsDue(ctx)
	if err != nil {
		return State{}, err
	}
	return m.state(due, true), nil
}

// state is what is known when so many memories were due. Those whose vectors are
// being stored are due until they can be found, which is a moment after the disk
// has them.
func (m *Meaning) state(due int64, loaded bool) State {
	m.mu.Lock()
	defer m.mu.Unlock()
	due = max(due, m.storing)
	return State{Space: m.Space(), Ready: int64(m.index.size()), Due: due, Loaded: loaded, Reason: m.failed, RetryAt: m.retryAt}
}

// Near returns the memories that are nearest to a text among those that pass a
// filter, best first, at most n, and those of also. Their scores are from 0, as like as any two
// memories are, to 1. It finds none while the model does not answer. It asks for
// also when it has the nearest, so that they can be looked for meanwhile.
func (m *Meaning) Near(ctx context.Context, text string, f store.Filter, n int, also func() []int64) ([]store.Candidate, error) {
	if m.index.size() == 0 {
		return nil, nil
	}
	places, err := m.store.Places(ctx, f)
	if err != nil || places.None {
		return nil, err
	}
	v := m.question(ctx, text)
	if v == nil {
		return nil, ctx.Err()
	}
	found, mean := m.index.nearest(v, store.ScriptOf(text), newFilter(places), n, also)
	out := make([]store.Candidate, 0, len(found))
	for _, f := range found {
		mean := mean[f.script]
		score := (f.cosine - mean) / max(1-mean, 1e-6)
		out = append(out, store.Candidate{Row: f.row, Score: float64(min(max(score, 0), 1)), At: time.UnixMilli(f.at).UTC()})
	}
	return out, nil
}

// put makes a memory findable.
func (m *Meaning) put(p store.Placed) {
	if err := m.index.put(p); err != nil {
		m.log.Warn("keep a vector", "err", err)
	}
}

// watch is what the store tells.
type watch struct{ m *Meaning }

// Due wakes the worker.
func (w watch) Due(row int64) {
	w.touch(row)
	w.m.index.remove(row)
	w.m.poke()
}

// Stored makes a memory findable.
func (w watch) Stored(p store.Placed) {
	w.touch(p.Row)
	w.m.put(p)
}

// Gone makes a memory unfindable.
func (w watch) Gone(row int64) {
	w.touch(row)
	w.m.index.remove(row)
}

// Emptied has everything read anew.
func (w watch) Emptied() {
	w.m.mu.Lock()
	w.m.touched = map[int64]bool{}
	w.m.stale = true
	w.m.mu.Unlock()
	w.m.index.empty()
	w.m.poke()
}

func (w watch) touch(row int64) {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	if w.m.touched != nil {
		w.m.touched[row] = true
	}
}

func (m *Meaning) poke() {
	select {
	case m.wake <- struct{}{}:
	default: // it is awake already
	}
}
