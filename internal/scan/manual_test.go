package scan_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ambry.dev/ambry"
)

func (w *world) add(path, format string) (ambry.AgentSource, error) {
	return w.Add(w.t.Context(), ambry.NewSource{DisplayName: "old laptop", DataPath: path, Format: format})
}

func (w *world) listed(id string) (ambry.AgentSource, bool) {
	for _, s := range w.List(w.t.Context()) {
		if s.SourceID == id {
			return s, true
		}
	}
	return ambry.AgentSource{}, false
}

func TestAnAddedSourceIsReadLikeAnyOther(t *testing.T) {
	w := newWorld(t)
	w.write(".one/here.jsonl", 1, 2)
	w.write("old/one/there.jsonl", 1, 3)
	w.write("old/one/here.jsonl", 1, 0)
	src, err := w.add(filepath.Join(w.home, "old", "one"), "one")
	if err != nil {
		t.Fatal(err)
	}
	if src.Builtin || !src.Available || src.Format != "one" || src.DisplayName != "old laptop" || !strings.HasPrefix(src.SourceID, "manual_") || !src.Capabilities.History {
		t.Errorf("got %+v", src)
	}
	stop := w.run()
	w.scan(ambry.ScanRequest{SourceID: src.SourceID})
	w.holds(turns("old/one/there.jsonl", 1, 3)...)
	w.scan(ambry.ScanRequest{})
	w.holds(append(turns("old/one/there.jsonl", 1, 3), turns(".one/here.jsonl", 1, 2)...)...)
	if got, ok := w.listed(src.SourceID); !ok || got.MessageCount != 3 || got.Builtin {
		t.Errorf("listed as %+v, %v", got, ok)
	}

	// It is there after another start, and new turns in it are read.
	stop()
	w.Scanner = w.scanner()
	stop = w.run()
	w.write("old/one/there.jsonl", 4, 4)
	w.scan(ambry.ScanRequest{})
	w.holds(append(turns("old/one/there.jsonl", 1, 4), turns(".one/here.jsonl", 1, 2)...)...)

	if err := w.Remove(t.Context(), src.SourceID); err != nil {
		t.Fatal(err)
	}
	if _, ok := w.listed(src.SourceID); ok {
		t.Error("it is still listed")
	}
	if err := w.Remove(t.Context(), src.SourceID); ambry.KindOf(err) != ambry.NotFound {
		t.Errorf("removed twice: %v", err)
	}
	if err := w.Remove(t.Context(), "one"); ambry.KindOf(err) != ambry.Conflict {
		t.Errorf("a built-in one: %v", err)
	}
	w.write("old/one/there.jsonl", 5, 5)
	w.scan(ambry.ScanRequest{})
	w.holds(append(turns("old/one/there.jsonl", 1, 4), turns(".one/here.jsonl", 1, 2)...)...)
	stop()
}

func TestAddedSourcesAreWatched(t *testing.T) {
	w := newWorld(t)
	w.permit(ambry.PermissionScan, true)
	w.run()
	w.write("old/one/a.jsonl", 1, 1)
	if _, err := w.add(filepath.Join(w.home, "old", "one"), "one"); err != nil {
		t.Fatal(err)
	}
	w.eventually("what is there is read", func() bool { return len(w.memory.all()) == 1 })
	w.write("old/one/a.jsonl", 2, 2)
	w.eventually("what is new is read", func() bool { return len(w.memory.all()) == 2 })
}

func TestWhatCannotBeASource(t *testing.T) {
	w := newWorld(t)
	w.write("old/one/a.jsonl", 1, 1)
	w.write(".ambry/x.jsonl", 1, 1)
	w.write(".one/a.jsonl", 1, 1)
	inside := filepath.Join(w.home, "old", "one")
	links := os.Symlink(os.TempDir(), filepath.Join(w.home, "out")) == nil
	for name, path := range map[string]string{
		"nothing": "", "a space": " ", "a dot": ".", "relative": "old/one", "a tilde": "~/old", "not plain": inside + "/../one", "doubled": filepath.Join(w.home, "old") + "//one",
		"a device": "/dev/zero", "the kernel": "/proc/self/environ", "devices": "/sys", "the root": "/", "a system file": "/etc/shadow",
		"a URL": "file:///etc", "a share": `\\evil.example\share`, "another share": "//evil.example/share", "a NUL": inside + "\x00", "a line break": inside + "\n",
		"the home itself": w.home, "above": filepath.Dir(w.home), "not there": filepath.Join(w.home, "no"), "a file": filepath.Join(inside, "a.jsonl"),
		"our own": filepath.Join(w.home, ".ambry"), "far too long": "/" + strings.Repeat("a/", 5000), "a link outwards": filepath.Join(w.home, "out"),
	} {
		if name == "a link outwards" && !links {
			continue
		}
		if got, err := w.add(path, "one"); ambry.KindOf(err) != ambry.InvalidArgument || got.SourceID != "" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, format := range []string{"", "mute", "three", "../one"} {
		if _, err := w.add(inside, format); ambry.KindOf(err) != ambry.InvalidArgument {
			t.Errorf("format %q: %v", format, err)
		}
	}
	if _, err := w.Add(t.Context(), ambry.NewSource{DisplayName: "a\nb", DataPath: inside, Format: "one"}); ambry.KindOf(err) != ambry.InvalidArgument {
		t.Errorf("a name of two lines: %v", err)
	}
	if _, err := w.add(filepath.Join(w.home, ".one"), "one"); ambry.KindOf(err) != ambry.Conflict {
		t.Errorf("what is read already: %v", err)
	}
	if _, err := w.add(inside, "one"); err != nil {
		t.Fatal(err)
	}
	if links {
		if err := os.Symlink(inside, filepath.Join(w.home, "alias")); err != nil {
			t.Fatal(err)
		}
		inside = filepath.Join(w.home, "alias")
	}
	if _, err := w.add(inside, "one"); ambry.KindOf(err) != ambry.Conflict {
		t.Errorf("twice: %v", err)
	}
}

func TestAnAddedSourceEndsAtItsDirectory(t *testing.T) {
	w := newWorld(t)
	w.write("elsewhere/secret.jsonl", 1, 1)
	w.write("old/one/a.jsonl", 1, 1)
	dir := filepath.Join(w.home, "old", "one")
	for name, to := range map[string]string{
		"dir": filepath.Join(w.home, "elsewhere"), "file.jsonl": filepath.Join(w.home, "elsewhere", "secret.jsonl"), "loop": dir, "up": filepath.Dir(dir), "zero.jsonl": "/dev/zero",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip("no links here: ", err)
		}
	}
	src, err := w.add(dir, "one")
	if err != nil {
		t.Fatal(err)
	}
	w.run()
	if got := w.scan(ambry.ScanRequest{SourceID: src.SourceID}); !got.Succeeded || got.Results[0].ErrorCount != 0 {
		t.Errorf("got %+v", got)
	}
	w.holds(turns("old/one/a.jsonl", 1, 1)...)
}

// FuzzAddedPath: whatever is added is a directory below the home, without links.
func FuzzAddedPath(f *testing.F) {
	for _, seed := range []string{"one", "../one", "one/../../etc", "out", "loop/loop/one", "one/", "a\x00b", "./one", "one//", "/etc", "~", strings.Repeat("x/", 3000)} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	home := f.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "one"), 0o700); err != nil {
		f.Fatal(err)
	}
	_ = os.Symlink("/", filepath.Join(home, "out"))
	_ = os.Symlink(home, filepath.Join(home, "loop"))
	real, err := filepath.EvalSymlinks(home)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, path string, below bool) {
		w := newWorld(t)
		w.Home.Dir = home
		if below {
			path = home + string(filepath.Separator) + path
		}
		src, err := w.add(path, "one")
		if err != nil {
			if k := ambry.KindOf(err); k != ambry.InvalidArgument {
				t.Fatalf("%q: %v", path, err)
			}
			return
		}
		rel, err := filepath.Rel(real, src.DataPath)
		if info, serr := os.Lstat(src.DataPath); err != nil || rel == "." || !filepath.IsLocal(rel) || serr != nil || !info.IsDir() {
			t.Fatalf("%q became %q", path, src.DataPath)
		}
	})
}
