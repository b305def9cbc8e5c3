package skill_test

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/agent/all"
	"ambry.dev/ambry/internal/home"
	"ambry.dev/ambry/internal/skill"
	"ambry.dev/ambry/internal/state"
)

// world is a person's home with agents in it, and ours below it.
type world struct {
	*skill.Skills
	t   *testing.T
	dir string
	bus bus
	db  *state.DB
}

type bus struct{ said []ambry.Payload }

func (b *bus) Publish(p ambry.Payload) ambry.Event {
	b.said = append(b.said, p)
	return ambry.Event{}
}

// newWorld makes a home of files, by their paths below it.
func newWorld(t *testing.T, files map[string]string) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir()}
	for path, text := range files {
		w.put(path, text)
	}
	w.open()
	return w
}

// open starts the service's part, as after a start.
func (w *world) open() {
	w.t.Helper()
	h, err := home.Open(filepath.Join(w.dir, ".ambry"))
	if err != nil {
		w.t.Fatal(err)
	}
	db, err := state.Open(w.t.Context(), h)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { db.Close() })
	w.db = db
	w.Skills = newSkills(w.t, w.dir, db, &w.bus)
	if err := w.Recover(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// newSkills makes Skills of a home as the service does.
func newSkills(t testing.TB, dir string, db *state.DB, b skill.Bus) *skill.Skills {
	var clock atomic.Int64
	return &skill.Skills{
		Agents:   all.Agents(),
		Teaching: skill.Teach(agent.Home{Dir: dir, OS: "linux"}, "/opt/ambry/bin/ambry"),
		Installs: db, Backups: filepath.Join(dir, ".ambry", "backups", "agents"),
		Permitted: func() bool { return true },
		Bus:       b, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Now: func() time.Time { return time.Unix(1_780_000_000, clock.Add(1)) },
	}
}

func (w *world) put(path, text string) {
	w.t.Helper()
	path = filepath.Join(w.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) get(path string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, path))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

// files returns all files but ours, with their modes, and the directories.
func (w *world) files() map[string]string {
	w.t.Helper()
	return tree(w.t, w.dir)
}

func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		if err != nil || rel == ".ambry" {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			found[rel] = "link to " + target
		case d.IsDir():
			found[rel+"/"] = info.Mode().String()
		default:
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			found[rel] = info.Mode().String() + "\n" + string(data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (w *world) install(id string, part ambry.SkillPart) ambry.SkillResult {
	w.t.Helper()
	r, err := w.Install(w.t.Context(), id, part, false)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) remove(id string, part ambry.SkillPart) ambry.SkillResult {
	w.t.Helper()
	r, err := w.Remove(w.t.Context(), id, part, false)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// status returns how an agent is shown.
func (w *world) status(id string) ambry.SourceStatus {
	w.t.Helper()
	list := w.Show(w.t.Context(), []ambry.AgentSource{{SourceID: id, Status: ambry.NotConnected}})
	return list[0].Status
}

// refused fails the test unless err is of a kind and says what.
func refused(t *testing.T, err error, kind ambry.Kind, what string) {
	t.Helper()
	if ambry.KindOf(err) != kind || !strings.Contains(err.Error(), what) {
		t.Errorf("got %v (%s), want %s that says %q", err, ambry.KindOf(err), kind, what)
	}
}

var parts = []ambry.SkillPart{ambry.SkillText, ambry.Plugin}
