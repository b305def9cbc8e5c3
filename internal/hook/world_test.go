package hook_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/hook"
	"ambry.dev/ambry/internal/memory/engine"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/redact"
)

// world is a memory, and the hooks of agents beside it.
type world struct {
	*engine.Engine
	t      *testing.T
	dir    string
	clock  atomic.Int64 // the store reads it when it has nothing else to do
	spool  *hook.Spool
	env    map[string]string
	find   func() (hook.Memory, string, error)
	reason []string
}

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func newWorld(t *testing.T) *world {
	t.Helper()
	home := t.TempDir()
	w := &world{t: t, dir: filepath.Join(home, "hooks"), env: map[string]string{}}
	w.clock.Store(noon.UnixNano())
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	s, err := store.Open(t.Context(), store.Config{Path: filepath.Join(home, "memory.db"), BackupDir: home, Logger: log, Now: w.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	w.Engine = engine.New(engine.Config{Store: s, Now: w.now, Logger: log})
	w.spool = &hook.Spool{Dir: w.dir, Turns: w, Permitted: func() bool { return true }, Logger: log}
	w.find = func() (hook.Memory, string, error) { return w, "1", nil }
	if err := w.spool.Heed(); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) now() time.Time { return time.Unix(0, w.clock.Load()).UTC() }

func (w *world) later(d time.Duration) { w.clock.Add(int64(d)) }

// hook calls the hook, and returns what it writes.
func (w *world) hook(agent, event, input string) string {
	w.t.Helper()
	w.reason = nil
	h := hook.Hook{
		Dir: w.dir, Getenv: func(name string) string { return w.env[name] }, Now: w.now,
		Wait:    time.Hour, // a test that is slow must not be another test
		Find:    func() (hook.Memory, string, error) { return w.find() },
		Explain: func(format string, args ...any) { w.reason = append(w.reason, fmt.Sprintf(format, args...)) },
	}
	return string(h.Answer(w.t.Context(), agent, event, strings.NewReader(input)))
}

// silent calls the hook, which must write nothing.
func (w *world) silent(agent, event, input string) {
	w.t.Helper()
	if out := w.hook(agent, event, input); out != "" {
		w.t.Errorf("%s %s %.60s: got %s", agent, event, input, out)
	}
}

func (w *world) take() {
	w.t.Helper()
	if err := w.spool.Take(w.t.Context()); err != nil {
		w.t.Errorf("take what hooks kept: %v", err)
	}
}

// kept returns the files of turns that wait for the service.
func (w *world) kept() []string {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.dir, "spool", "*"))
	if err != nil {
		w.t.Fatal(err)
	}
	return files
}

func (w *world) wantTurns(what string, want int64) {
	w.t.Helper()
	o, err := w.Overview(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if o.Counts.Turns != want || o.Counts.Memories != want {
		w.t.Errorf("%s: got %d turns and %d memories, want %d", what, o.Counts.Turns, o.Counts.Memories, want)
	}
}

// learn adds a turn of an earlier session.
func (w *world) learn(agent, session, query, answer string) {
	w.t.Helper()
	c := ambry.Conversation{
		Session: ambry.Session{Agent: agent, ID: session, Cwd: "/home/ana/web", Project: "/home/ana/web", StartedAt: noon.Add(-time.Hour), EndedAt: noon.Add(-time.Hour)},
		Turns: []ambry.Turn{{ID: session + "-1", At: noon.Add(-time.Hour), Messages: []ambry.Message{
			{ID: "q", Role: ambry.User, Text: query, At: noon.Add(-time.Hour)}, {ID: "a", Role: ambry.Assistant, Text: answer, At: noon.Add(-time.Hour)},
		}}},
	}
	if _, err := w.Import(w.t.Context(), []redact.Conversation{redact.Clean(c)}); err != nil {
		w.t.Fatal(err)
	}
}

// only returns the only memory.
func (w *world) only() ambry.Detail {
	w.t.Helper()
	items, err := w.Items(w.t.Context(), ambry.ItemsQuery{Page: 1})
	if err != nil || len(items.Items) != 1 {
		w.t.Fatalf("got %d memories and error %v, want one", len(items.Items), err)
	}
	d, err := w.Get(w.t.Context(), items.Items[0].ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// bytesOnDisk is all that hooks wrote.
func (w *world) bytesOnDisk() string {
	w.t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(w.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm() != 0o600 {
			w.t.Errorf("%s has the permissions %v", path, info.Mode())
		}
		data, err := os.ReadFile(path)
		all.Write(data)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return all.String()
}

// broken is a memory that fails.
type broken struct{ err error }

func (b broken) Search(context.Context, ambry.Query) (ambry.Answer, error) {
	return ambry.Answer{}, b.err
}

func (b broken) Sessions(context.Context, ambry.SessionsQuery) (ambry.Sessions, error) {
	return ambry.Sessions{}, b.err
}

func (w *world) read(path string) []byte {
	w.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	return data
}

func (w *world) write(path string, data []byte) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		w.t.Fatal(err)
	}
}
