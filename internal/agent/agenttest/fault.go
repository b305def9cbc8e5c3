package agenttest

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"ambry.dev/ambry/internal/agent"
)

// everything reads all sources and returns what those told that could be read,
// by path, and how many could not.
func (s suite) everything(t *testing.T) (all map[string]told, failed int) {
	t.Helper()
	all = map[string]told{}
	for src, err := range s.History.Sources(t.Context(), s.home) {
		if err != nil {
			failed++
			continue
		}
		var h told
		for item, err := range s.History.Read(t.Context(), src, agent.Mark{}) {
			if err != nil {
				failed++
				break
			}
			h.add(t, item)
		}
		all[src.Path] = h
	}
	return all, failed
}

// unreadable puts a file that cannot be read beside the others.
func (s suite) unreadable(t *testing.T) {
	s = s.copied(t)
	sources := s.all(t)
	bad := s.sibling(t, sources[0].Path)
	switch {
	case runtime.GOOS == "linux": // no permissions stop root, but this fails for everybody
		if err := os.Symlink("/proc/self/mem", bad); err != nil {
			t.Fatal(err)
		}
	case runtime.GOOS == "windows":
		t.Skip("a file that cannot be read is made with permissions, which are others on Windows")
	default:
		if err := os.WriteFile(bad, []byte("{}\n"), 0); err != nil {
			t.Fatal(err)
		}
	}
	got, failed := s.everything(t)
	if failed == 0 {
		t.Error("a file that cannot be read is no error")
	}
	for _, src := range sources {
		same(t, s.rel(src.Path), got[src.Path], s.whole(t, src))
	}
}

// sibling returns a path beside another that the agent takes for a source.
func (s suite) sibling(t *testing.T, path string) string {
	t.Helper()
	ext := filepath.Ext(path)
	stem := path[:len(path)-len(ext)]
	for _, c := range "0123456789abcdef" {
		other := stem[:len(stem)-1] + string(c) + ext
		if exists(other) {
			continue
		}
		if err := os.WriteFile(other, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		_, ok := s.History.Locate(s.home, other)
		if err := os.Remove(other); err != nil {
			t.Fatal(err)
		}
		if ok {
			return other
		}
	}
	t.Skip("no other name is one of a source")
	return ""
}

// vanished takes a file away after it was found.
func (s suite) vanished(t *testing.T) {
	s = s.copied(t)
	sources := s.all(t)
	for i, src := range sources {
		if i == 0 {
			if err := os.Remove(src.Path); err != nil {
				t.Fatal(err)
			}
			failed := false
			for _, err := range s.History.Read(t.Context(), src, agent.Mark{}) {
				failed = failed || err != nil
			}
			if !failed {
				t.Errorf("%s is gone, and no error says so", src.Path)
			}
			continue
		}
		s.whole(t, src)
	}
	if got := len(sources) - 1; got > 0 && len(s.all(t)) != got {
		t.Errorf("%d sources, want %d", len(s.all(t)), got)
	}
}

// loop makes a directory contain the one it is in.
func (s suite) loop(t *testing.T) {
	s = s.copied(t)
	want := len(s.all(t))
	made := false
	for _, root := range s.History.Roots(s.home) {
		if exists(root) && os.Symlink(root, filepath.Join(root, "loop")) == nil {
			made = true
		}
	}
	if !made {
		t.Skip("no links to directories can be made here")
	}
	if got := len(s.all(t)); got != want {
		t.Errorf("%d sources with the loop, %d without", got, want)
	}
}
