// Package supervise keeps one child process running: it starts it, shakes hands
// with it over its standard input and output, replaces it when it ends or
// hangs, and stops it with us. It does not know what the child is for, and it
// is not a job runner: a child that ends is always a fault.
package supervise

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"ambry.dev/ambry"
)

// Config says what to run. A is the answer by which the child says that it is
// ready, such as its address and token; it is decoded from JSON.
type Config[A any] struct {
	Name    string   // what people call it, such as memory runtime; child process if empty
	Command string   // path of the program
	Args    []string // without the program; other users can see them, so no secrets
	Env     []string // the whole environment; nil means [Environment] of ours

	// Hello is told to each child as JSON on its standard input, secrets too; see
	// [Supervisor.Tell].
	Hello any

	// Probe asks a child that has answered how it is. The context ends with the
	// child, or when the answer takes too long.
	Probe func(ctx context.Context, answer A) error

	Stderr  io.Writer    // gets what the child logs; nil drops it
	Log     *slog.Logger // nil drops it
	OnState func(State)  // called in turn, by [Supervisor.Run], at each change
	Timing  Timing
}

// Timing is how long things may take. A field that is zero has the value named
// beside it.
type Timing struct {
	Handshake    time.Duration // 15 s from start to answer
	ProbeEvery   time.Duration // 5 s from one probe to the next
	ProbeAgain   time.Duration // 1 s, and never more than ProbeEvery, from a probe that failed to the next
	ProbeTimeout time.Duration // 3 s
	Grace        time.Duration // 10 s from the end of its input to a clean end
	Stable       time.Duration // 30 s of health, and earlier failures no longer count
	Backoff      time.Duration // 0.5 s at least from an end to the next start
	Pace         time.Duration // 33.5 s from start to start, but for one in hand
	Jitter       time.Duration // 0.5 s at most on top of a wait
}

func (t Timing) withDefaults() Timing {
	for _, f := range []struct {
		field   *time.Duration
		initial time.Duration
	}{
		{&t.Handshake, 15 * time.Second},
		{&t.ProbeEvery, 5 * time.Second},
		{&t.ProbeAgain, time.Second},
		{&t.ProbeTimeout, 3 * time.Second},
		{&t.Grace, 10 * time.Second},
		{&t.Stable, 30 * time.Second},
		{&t.Backoff, 500 * time.Millisecond},
		{&t.Pace, 33500 * time.Millisecond},
		{&t.Jitter, 500 * time.Millisecond},
	} {
		if *f.field == 0 {
			*f.field = f.initial
		}
	}
	t.ProbeAgain = min(t.ProbeAgain, t.ProbeEvery)
	return t
}

// With the default timing a child that hangs is unavailable 12 seconds after
// its last good probe at the latest, and killed after 20. Each probe wakes both
// processes, so good ones are far apart.
const (
	probesToUnavailable = 2 // failed in a row
	probesToKill        = 4
	failuresToFailed    = 3 // lives in a row that failed
)

// restartWindow is what [State.Restarts] looks back on.
const restartWindow = 5 * time.Minute

// State is how the child is.
type State struct {
	Health   ambry.HealthState // starting, ok, unavailable or failed
	Reason   string            // why it is not ok, for people; names no path and no secret
	Restarts int               // in the last five minutes
}

// Supervisor keeps one child running. Make one with [New].
type Supervisor[A any] struct {
	cfg  Config[A]
	pace *pace

	streak int // lives in a row that failed; belongs to Run

	mu       sync.Mutex // guards what follows
	hello    []byte
	end      context.CancelCauseFunc // of the child's life; nil if there is none
	state    State
	answer   A
	restarts []time.Time
}

// New returns a supervisor that runs nothing yet. It fails if Hello cannot be
// encoded.
func New[A any](cfg Config[A]) (*Supervisor[A], error) {
	hello, err := encode(cfg.Hello)
	if err != nil {
		return nil, fmt.Errorf("encode what to tell the child: %w", err)
	}
	if cfg.Env == nil {
		cfg.Env = Environment(os.Environ())
	}
	if cfg.Name == "" {
		cfg.Name = "child process"
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Timing = cfg.Timing.withDefaults()
	return &Supervisor[A]{
		cfg:   cfg,
		hello: hello,
		pace:  newPace(cfg.Timing, rand.Float64),
		state: State{Health: ambry.HealthStarting},
	}, nil
}

// Run keeps the child running until ctx ends, and returns when it is gone. There
// are never two at once: the next one is started when the one before has ended.
// Call it once.
func (s *Supervisor[A]) Run(ctx context.Context) {
	defer holdThread()()
	news := false
	for n := 0; ; n++ {
		// Pacing is for faults: whoever was ended to be told something is back at once.
		if !news && !pause(ctx, s.pace.next(time.Now(), n)) {
			break
		}
		if n > 0 {
			s.countRestart()
		}
		began := time.Now()
		var err error
		news, err = s.life(ctx)
		switch {
		case ctx.Err() != nil:
			s.set(ambry.HealthUnavailable, s.reason("was stopped"))
			return
		case news:
			s.set(ambry.HealthStarting, s.reason("takes over new settings"))
			n = -1 // which is no restart
		default:
			s.failed(began, err)
		}
	}
	s.set(ambry.HealthUnavailable, s.reason("was stopped"))
}

// errNews is the cause of a life that ended because there is something new to
// tell.
var errNews = errors.New("the child is to be told something new")

// life is [Supervisor.live] in which Tell may intervene.
func (s *Supervisor[A]) life(ctx context.Context) (news bool, err error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	s.mu.Lock()
	s.end = end
	s.mu.Unlock()
	err = s.live(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end = nil
	return errors.Is(context.Cause(ctx), errNews), err
}

// Tell changes what the child is told. If that is news to a child that runs, it
// is stopped as at the end, and the next one is started.
func (s *Supervisor[A]) Tell(hello any) error {
	line, err := encode(hello)
	if err != nil {
		return fmt.Errorf("encode what to tell the child: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes.Equal(line, s.hello) {
		return nil
	}
	s.hello = line
	if s.end != nil {
		s.end(errNews)
	}
	return nil
}

// told returns what a child is told now.
func (s *Supervisor[A]) told() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hello
}

// pause waits for d, and reports whether ctx is still good.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// State returns how the child is now.
func (s *Supervisor[A]) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stateLocked()
}

func (s *Supervisor[A]) stateLocked() State {
	state := s.state
	for _, at := range s.restarts {
		if time.Since(at) < restartWindow {
			state.Restarts++
		}
	}
	return state
}

// Current returns the answer of the child if it is ok.
func (s *Supervisor[A]) Current() (answer A, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Health != ambry.HealthOK {
		return answer, false
	}
	return s.answer, true
}

func (s *Supervisor[A]) countRestart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restarts = append(s.restarts, time.Now())
	for time.Since(s.restarts[0]) >= restartWindow {
		s.restarts = s.restarts[1:]
	}
}

// set changes the state, and tells if that is news.
func (s *Supervisor[A]) set(health ambry.HealthState, reason string) {
	s.mu.Lock()
	news := s.state.Health != health || s.state.Reason != reason
	s.state.Health, s.state.Reason = health, reason
	state := s.stateLocked()
	s.mu.Unlock()
	if news && s.cfg.OnState != nil {
		s.cfg.OnState(state)
	}
}

func (s *Supervisor[A]) setOK(answer A) {
	s.mu.Lock()
	s.answer = answer
	s.mu.Unlock()
	s.set(ambry.HealthOK, "")
}

// failed takes note of a life that began at some time and ended with err.
func (s *Supervisor[A]) failed(began time.Time, err error) {
	lived := time.Since(began)
	s.cfg.Log.Warn("child process failed", "child", s.cfg.Name, "err", err, "lived", lived.Round(time.Millisecond))
	if lived >= s.cfg.Timing.Stable {
		s.streak = 0
	}
	s.streak++
	why := "failed"
	f, ok := errors.AsType[*fault](err)
	if ok {
		why = f.why
	}
	switch {
	case ok && f.refusal:
		s.set(ambry.HealthFailed, s.reason("refuses to start: "+why))
	case s.streak >= failuresToFailed:
		s.set(ambry.HealthFailed, s.reason(why+", again and again; it is tried anew every half minute"))
	default:
		s.set(ambry.HealthUnavailable, s.reason(why+"; it is being started again"))
	}
}

func (s *Supervisor[A]) reason(why string) string { return "the " + s.cfg.Name + " " + why }

// fault is why a life ended.
type fault struct {
	why     string // for people: what the child did, or the text of its refusal
	cause   error  // for the log
	refusal bool
}

func (f *fault) Error() string {
	if f.cause == nil {
		return f.why
	}
	return fmt.Sprintf("%s: %v", f.why, f.cause)
}

func (f *fault) Unwrap() error { return f.cause }

func encode(v any) ([]byte, error) {
	line, err := json.Marshal(v)
	return append(line, '\n'), err
}
