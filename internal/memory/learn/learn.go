// Package learn finds in turns what is worth knowing next time: decisions,
// preferences, corrections, commands that worked, errors and what fixed them,
// facts, and tasks left open. It does so by rules, one file for each kind:
// deterministic, for free, and rather silent than wrong. What a rule finds is a
// claim; the store decides which claims stand (store.Learn).
//
// It works in the background on what is stored already. Nothing waits for it, and
// what it has not looked at yet is known to the store, so that it survives
// kill -9.
package learn

import (
	"context"
	"log/slog"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
)

// Version grows when the rules change; all turns are then looked at again.
const Version = 2

// How much is looked at between two looks at the clock.
const (
	batchTurns = 48
	batchBytes = 1 << 20 // as stored
	retryAfter = 30 * time.Second
)

// Learner learns from the turns of a store.
type Learner struct {
	store *store.Store
	log   *slog.Logger
}

// New returns a Learner of a store. It does nothing by itself.
func New(s *store.Store, log *slog.Logger) *Learner {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Learner{store: s, log: log}
}

// Run learns whenever there are new turns, until ctx ends. It rests as long as it
// worked, so that others have the processor and the disk half of the time.
func (l *Learner) Run(ctx context.Context) {
	for ctx.Err() == nil {
		wait := time.Duration(-1)
		if err := l.catchUp(ctx, rest); err != nil && ctx.Err() == nil {
			l.log.Warn("learn from turns", "err", err)
			wait = retryAfter
		}
		if !l.waitFor(ctx, wait) {
			return
		}
	}
}

// waitFor returns when there are new turns or, if it is not negative, after a
// time; it is false when ctx ends.
func (l *Learner) waitFor(ctx context.Context, wait time.Duration) bool {
	var over <-chan time.Time
	if wait >= 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-l.store.Arrived():
	case <-over:
	}
	return true
}

// rest waits for a time.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Drain learns from all turns there are, without a rest.
func (l *Learner) Drain(ctx context.Context) error {
	return l.catchUp(ctx, func(ctx context.Context, _ time.Duration) error { return ctx.Err() })
}

func (l *Learner) catchUp(ctx context.Context, pause func(context.Context, time.Duration) error) error {
	if _, err := l.store.Relearn(ctx, Version); err != nil {
		return err
	}
	for {
		if err := l.store.Calm(ctx); err != nil {
			return err
		}
		began := time.Now()
		more, err := l.batch(ctx)
		if err != nil || !more {
			return err
		}
		if err := pause(ctx, time.Since(began)); err != nil {
			return err
		}
	}
}

// batch learns from some turns, and reports whether there were any.
func (l *Learner) batch(ctx context.Context) (bool, error) {
	lessons, err := l.store.Lessons(ctx, batchTurns, batchBytes)
	if err != nil || len(lessons) == 0 {
		return false, err
	}
	open := openTasks{ctx: ctx, store: l.store, known: map[string][]task{}}
	learned := make([]store.Learned, len(lessons))
	for i := range lessons {
		learned[i].Lesson = lessons[i]
		learned[i].Claims = Claims(lessons[i])
		ends, err := open.ended(lessons[i])
		if err != nil {
			return false, err
		}
		learned[i].Claims = append(learned[i].Claims, ends...)
		learned[i].Lesson.Messages = nil
	}
	if err := l.store.Learn(ctx, learned); err != nil {
		return false, err
	}
	return true, nil
}

// Claims returns what one turn says by itself, by all rules.
func Claims(l store.Lesson) []store.Claim {
	s := newScene(l)
	for _, r := range rules {
		r.find(s)
	}
	return s.claims
}

// rule finds claims in a scene and adds them to it. A sentence that one rule has
// taken is not offered to the next.
type rule struct {
	name ambry.Rule
	find func(*scene)
}

// rules are in the order in which they are offered what was said.
var rules = []rule{
	{ambry.Correction, corrections},
	{ambry.OpenTask, tasks},
	{ambry.Preference, preferences},
	{ambry.Decision, decisions},
	{ambry.Fact, facts},
	{ambry.Command, commands},
	{ambry.Fix, fixes},
}
