package hook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/redact"
)

// Turns takes turns that have ended; the contract is that of the memory.
type Turns interface {
	OpenSession(ctx context.Context, o ambry.SessionOpen, key string) (ambry.SessionOpened, error)
	CompleteTurn(ctx context.Context, turn string, c ambry.TurnComplete, key string) (ambry.TurnCompleted, error)
}

// Spool is the service's end: it takes the turns that hooks kept, and gives them
// to the memory. Each is taken out only when the memory has it, and the memory
// knows one that comes again; so a crash at any moment loses and doubles
// nothing. That the directory is there is how hooks know that the person
// consents: they cannot ask anybody in the time they have.
type Spool struct {
	Dir       string
	Turns     Turns
	Permitted func() bool // whether histories may be read
	Logger    *slog.Logger

	mu      sync.Mutex // guards changes of Dir
	taking  sync.Mutex // held by who gives turns to the memory
	changed chan struct{}
	once    sync.Once
}

func spoolDir(dir string) string { return filepath.Join(dir, "spool") }

// permitted reports whether hooks may read and keep anything.
func permitted(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

// Heed makes the directory, or removes it with all that is in it, as the person
// permits now. Call it before hooks can find the service, and when the consent
// has changed.
func (s *Spool) Heed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.wake()
	if s.Permitted() {
		return errors.Join(os.MkdirAll(s.Dir, 0o700), makeDir(s.Dir, spoolDir(s.Dir)))
	}
	return os.RemoveAll(s.Dir)
}

func (s *Spool) signal() chan struct{} {
	s.once.Do(func() { s.changed = make(chan struct{}, 1) })
	return s.changed
}

func (s *Spool) wake() {
	select {
	case s.signal() <- struct{}{}:
	default: // it is awake
	}
}

// How often it is looked what there is to take, beside the watch of the system.
const (
	lookEvery = time.Minute
	firstWait = time.Second
	longWait  = time.Minute
	staleTurn = 7 * 24 * time.Hour
	staleKept = 30 * 24 * time.Hour // what the memory cannot take is not kept for ever
)

// Run takes what is kept, and what will be, until ctx ends.
func (s *Spool) Run(ctx context.Context) error {
	var events chan fsnotify.Event
	var errs chan error
	notify, err := fsnotify.NewWatcher()
	if err == nil {
		defer notify.Close()
		events, errs = notify.Events, notify.Errors
	} else {
		s.Logger.Warn("watch the spool of hooks; looking each minute instead", "err", err)
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	wait := firstWait
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.signal():
		case <-timer.C:
		case err := <-errs: // looking at everything finds what was missed
			s.Logger.Warn("watch the spool of hooks", "err", err)
		case e := <-events:
			if !strings.HasSuffix(e.Name, ".json") || !e.Has(fsnotify.Create) && !e.Has(fsnotify.Rename) {
				continue
			}
		}
		if notify != nil && permitted(s.Dir) {
			_ = notify.Add(spoolDir(s.Dir)) // again does nothing; if it fails, the timer looks
		}
		next := lookEvery
		if err := s.Take(ctx); err != nil && ctx.Err() == nil {
			s.Logger.Info("turns of hooks wait for the memory", "err", err)
			next, wait = wait, min(2*wait, longWait)
		} else {
			wait = firstWait
		}
		timer.Reset(next)
	}
}

// Take gives all that is kept to the memory, oldest first, and returns why it
// had to stop.
func (s *Spool) Take(ctx context.Context) error {
	if !s.Permitted() {
		return nil
	}
	s.taking.Lock()
	defer s.taking.Unlock()
	tidy(turnsDir(s.Dir), "", "", staleTurn)
	tidy(spoolDir(s.Dir), tempSuffix, "", staleTurn)
	entries, err := os.ReadDir(spoolDir(s.Dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), ".json") && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	var failed error
	for _, name := range names {
		path := filepath.Join(spoolDir(s.Dir), name)
		err := s.give(ctx, path)
		switch ambry.KindOf(err) {
		case ambry.MemoryUnavailable, ambry.MemoryTimeout, ambry.StorageFull, ambry.UpstreamFailed, ambry.RateLimited:
			return err
		case ambry.Internal:
			if err != nil && !old(path, staleKept) {
				failed = cmp.Or(failed, err) // the next one may do better
				continue
			}
		}
		if err != nil {
			s.Logger.Warn("the memory does not take a turn of a hook", "err", err)
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return failed
}

// give gives one turn to the memory.
func (s *Spool) give(ctx context.Context, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var kept redact.Conversation
	if json.Unmarshal(data, &kept) != nil || !complete(kept) {
		return ambry.InvalidArgument.Errorf("a file in the spool is no turn")
	}
	c := kept.Conversation()
	session, turn := c.Session, c.Turns[0]
	_, err = s.Turns.OpenSession(ctx, ambry.SessionOpen{
		Source: session.Agent, SessionID: session.ID, WorkspacePath: session.Cwd, Model: session.Model,
	}, "")
	if err != nil {
		return err
	}
	told := ambry.TurnComplete{
		SessionID: session.ID, Source: session.Agent, Query: turn.Messages[0].Text, Model: turn.Model,
		StartedAt: turn.At, EndedAt: turn.At,
	}
	if len(turn.Messages) > 1 {
		told.Answer, told.EndedAt = turn.Messages[1].Text, turn.Messages[1].At
	}
	_, err = s.Turns.CompleteTurn(ctx, turn.ID, told, "hook-"+hash(string(data)))
	return err
}
