package skill_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/edit"
)

// homes are homes as people have them, one file or several of one agent in each.
// They are named for the agent and for what is odd about them.
func homes(t *testing.T) map[string]string {
	t.Helper()
	dirs, err := filepath.Glob("testdata/homes/*")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, dir := range dirs {
		id, _, ok := strings.Cut(filepath.Base(dir), "--")
		if !ok {
			t.Fatalf("%s is not called AGENT--WHAT", dir)
		}
		found[dir] = id
	}
	if len(found) < 40 {
		t.Fatalf("%d homes, want 40 at least", len(found))
	}
	return found
}

// homeWorld is a world of a copy of a home. Every other file has another mode.
func homeWorld(t *testing.T, dir string) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir()}
	if err := os.CopyFS(w.dir, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	n := 0
	err := filepath.WalkDir(w.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		return os.Chmod(path, []os.FileMode{0o600, 0o644, 0o640}[n%3])
	})
	if err != nil {
		t.Fatal(err)
	}
	w.open()
	return w
}

func TestInstallAndRemoveLeaveTheBytes(t *testing.T) {
	for dir, id := range homes(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			w := homeWorld(t, dir)
			before := w.files()
			for _, part := range parts {
				if r := w.install(id, part); len(r.Changes) == 0 {
					t.Errorf("installing %s changes nothing", part)
				}
			}
			once := w.files()
			w.check(once)
			for range 2 {
				for _, part := range parts {
					if r := w.install(id, part); len(r.Changes) > 0 {
						t.Errorf("installing %s again changes %+v", part, r.Changes)
					}
				}
			}
			if diff := cmp.Diff(once, w.files()); diff != "" {
				t.Errorf("three times is not once:\n%s", diff)
			}
			if got := w.status(id); got != ambry.PluginInstalled {
				t.Errorf("the status is %s", got)
			}
			w.modesStay(before, once)
			for _, part := range parts {
				w.remove(id, part)
			}
			if diff := cmp.Diff(before, w.files()); diff != "" {
				t.Errorf("after removal:\n%s", diff)
			}
		})
	}
}

// In whichever order the parts come and go, and with another start in between.
func TestPartsComeAndGoInAnyOrder(t *testing.T) {
	for dir, id := range homes(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			w := homeWorld(t, dir)
			before := w.files()
			w.install(id, ambry.Plugin)
			w.install(id, ambry.SkillText)
			w.open()
			w.remove(id, ambry.Plugin)
			w.remove(id, ambry.SkillText)
			w.remove(id, ambry.SkillText) // nothing is there any more
			w.remove(id, ambry.Plugin)
			if diff := cmp.Diff(before, w.files()); diff != "" {
				t.Errorf("after removal:\n%s", diff)
			}
		})
	}
}

// Without a record of what was done, what is ours is known by what it is.
func TestWithoutARecordOursStillGoes(t *testing.T) {
	for dir, id := range homes(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			w := homeWorld(t, dir)
			for _, part := range parts {
				w.install(id, part)
				if err := w.db.DeleteInstall(t.Context(), id, part); err != nil {
					t.Fatal(err)
				}
			}
			for _, part := range parts {
				w.remove(id, part)
			}
			after := w.files()
			w.check(after)
			for path, text := range after {
				for _, ours := range []string{agent.Signature, "/opt/ambry/bin/ambry", "ambry:begin"} {
					if strings.Contains(text, ours) {
						t.Errorf("%s still has %s:\n%s", path, ours, text)
					}
				}
			}
		})
	}
}

// check fails the test if a file cannot be parsed.
func (w *world) check(files map[string]string) {
	w.t.Helper()
	for path := range files {
		format, ok := map[string]edit.Format{".json": edit.JSON, ".jsonc": edit.JSON, ".toml": edit.TOML, ".yaml": edit.YAML}[filepath.Ext(path)]
		if filepath.Base(path) == "openclaw.json" {
			format = edit.JSON5
		}
		if !ok {
			continue
		}
		if err := edit.Check(format, []byte(w.get(path))); err != nil {
			w.t.Errorf("%s: %v", path, err)
		}
	}
}

// modesStay fails the test if a file has not the mode that it had.
func (w *world) modesStay(before, after map[string]string) {
	w.t.Helper()
	for path, text := range before {
		mode, _, _ := strings.Cut(text, "\n")
		if now, _, _ := strings.Cut(after[path], "\n"); now != mode {
			w.t.Errorf("%s had mode %s, now %s", path, mode, now)
		}
	}
}
