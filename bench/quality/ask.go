package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/engine"
	"ambry.dev/ambry/internal/memory/meaning"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/redact"
)

// Hits that are asked for: ten as callers do; many where sessions are ranked, by
// the first hit of each.
const (
	hitsOfTurns    = 10
	hitsOfSessions = 100
)

// found is what the memory gave for a question.
type found struct {
	question     question
	turns        []string // best first, each once
	sessions     []string // the same; asked for only where sessions are measured
	wantSessions []string // those of the evidence
	scores       []float64
	titles       []string
	injected     bool // something would have been put into a prompt
	took         time.Duration
}

// answers imports a corpus into an empty memory and asks all its questions.
func answers(ctx context.Context, c corpus, sessions bool) ([]found, error) {
	m, shut, err := newAsker(ctx, c)
	if err != nil {
		return nil, err
	}
	defer shut()
	if sessions {
		m.session = c.sessionByTurn()
	}
	return m.all(ctx, c.questions)
}

// asker asks a memory that is full.
type asker struct {
	store   *store.Store
	now     func() time.Time
	engine  *engine.Engine
	session map[string]string // session by turn; nil if sessions are not measured

	mu    sync.Mutex
	turns map[string]string // turn by memory, guarded by mu
}

// newAsker fills a memory with a corpus. Shut removes it.
func newAsker(ctx context.Context, c corpus) (a *asker, shut func(), err error) {
	dir, err := os.MkdirTemp("", "ambry-quality-")
	if err != nil {
		return nil, nil, err
	}
	s, err := store.Open(ctx, store.Config{Path: filepath.Join(dir, "memory.db")})
	if err != nil {
		os.RemoveAll(dir)
		return nil, nil, err
	}
	shut = func() { _ = s.Close(); _ = os.RemoveAll(dir) }
	now := time.Now
	if !c.now.IsZero() {
		now = func() time.Time { return c.now }
	}
	var m *meaning.Meaning
	if c.model != nil {
		shutStore := shut
		var stop func()
		m, stop = startModel(ctx, s, c.model)
		shut = func() { stop(); shutStore() }
	}
	a = &asker{store: s, now: now, engine: engine.New(engine.Config{Store: s, Now: now, Meaning: m, Fit: c.fit}), turns: map[string]string{}}
	if err := a.fill(ctx, c.sessions); err != nil {
		shut()
		return nil, nil, err
	}
	if m != nil {
		if err := embedded(ctx, m); err != nil {
			shut()
			return nil, nil, err
		}
	}
	return a, shut, nil
}

// fill imports sessions as a scan does.
func (a *asker) fill(ctx context.Context, sessions []ambry.Conversation) error {
	clean := make([]redact.Conversation, len(sessions))
	for i, s := range sessions {
		clean[i] = redact.Clean(s)
	}
	n, err := a.engine.Import(ctx, clean)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	if n.Added != n.Turns {
		return fmt.Errorf("import: %d of %d turns are new; ids are not unique", n.Added, n.Turns)
	}
	return a.engine.LearnAll(ctx) // what was learned is found too, as everywhere
}

// all asks the questions, as many at a time as there are cores.
func (a *asker) all(ctx context.Context, questions []question) ([]found, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := make([]found, len(questions))
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				f, err := a.ask(ctx, questions[i])
				if err != nil {
					cancel(fmt.Errorf("ask %s: %w", questions[i].id, err))
				}
				out[i] = f
			}
		})
	}
	for i := range questions {
		next <- i
	}
	close(next)
	workers.Wait()
	return out, context.Cause(ctx)
}

func (a *asker) ask(ctx context.Context, q question) (found, error) {
	f := found{question: q}
	query := q.query
	query.Limit = hitsOfTurns
	begun := time.Now()
	answer, err := a.engine.Search(ctx, query)
	if err != nil {
		return found{}, err
	}
	f.took, f.injected = time.Since(begun), answer.InjectedContext != ""
	known := map[string]bool{}
	for _, h := range answer.Hits {
		turn, err := a.turn(ctx, h.ID)
		if err != nil {
			return found{}, err
		}
		if !known[turn] {
			known[turn] = true
			f.turns, f.scores, f.titles = append(f.turns, turn), append(f.scores, h.Score), append(f.titles, h.Title)
		}
	}
	if a.session == nil {
		return f, nil
	}
	for _, turn := range q.want {
		if s := a.session[turn]; !slices.Contains(f.wantSessions, s) {
			f.wantSessions = append(f.wantSessions, s)
		}
	}
	query.Limit = hitsOfSessions
	if answer, err = a.engine.Search(ctx, query); err != nil {
		return found{}, err
	}
	for _, h := range answer.Hits {
		if !known[h.SessionID] {
			known[h.SessionID] = true
			f.sessions = append(f.sessions, h.SessionID)
		}
	}
	return f, nil
}

// turn returns the turn that a memory was made of. What was learned from a turn
// answers as well as the turn does.
func (a *asker) turn(ctx context.Context, memory string) (string, error) {
	a.mu.Lock()
	turn, ok := a.turns[memory]
	a.mu.Unlock()
	if ok {
		return turn, nil
	}
	d, err := a.engine.Get(ctx, memory)
	if err != nil {
		return "", err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turns[memory] = d.TurnID
	return d.TurnID, nil
}
