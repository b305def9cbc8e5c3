package opencode_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/agent/opencode"
)

// with returns a home with an environment.
func with(h agent.Home, env map[string]string) agent.Home {
	h.Getenv = func(name string) string { return env[name] }
	return h
}

// found returns the sources of a home, below it.
func found(t *testing.T, h agent.Home) (all []string) {
	t.Helper()
	for _, src := range sources(t, h) {
		rel, err := filepath.Rel(h.Dir, src.Path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, filepath.ToSlash(rel))
	}
	return all
}

func TestWhereDatabasesAre(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		".local/share/opencode/opencode.db", ".local/share/opencode/opencode-dev.db", ".local/share/opencode/opencode.db-wal",
		".local/share/opencode/mine.db", ".local/share/opencode/auth.json", "xdg/opencode/opencode.db", "elsewhere/mine.db",
	} {
		put(t, filepath.Join(dir, filepath.FromSlash(name)), "")
	}
	usual := []string{".local/share/opencode/opencode-dev.db", ".local/share/opencode/opencode.db"}
	for name, c := range map[string]struct {
		env  map[string]string
		want []string
		os   string
	}{
		"usual":            {nil, usual, "linux"},
		"on Windows":       {nil, usual, "windows"},
		"on macOS":         {nil, usual, "darwin"},
		"XDG":              {map[string]string{"XDG_DATA_HOME": filepath.Join(dir, "xdg")}, []string{"xdg/opencode/opencode.db"}, "linux"},
		"XDG not absolute": {map[string]string{"XDG_DATA_HOME": "xdg"}, usual, "linux"},
		"named":            {map[string]string{"OPENCODE_DB": "mine.db"}, append([]string{".local/share/opencode/mine.db"}, usual...), "linux"},
		"elsewhere":        {map[string]string{"OPENCODE_DB": filepath.Join(dir, "elsewhere", "mine.db")}, append(usual[:2:2], "elsewhere/mine.db"), "linux"},
		"as always":        {map[string]string{"OPENCODE_DB": "opencode.db"}, usual, "linux"},
		"in memory":        {map[string]string{"OPENCODE_DB": ":memory:"}, usual, "linux"},
		"not there":        {map[string]string{"OPENCODE_DB": "gone.db"}, usual, "linux"},
	} {
		t.Run(name, func(t *testing.T) {
			h := with(agent.Home{Dir: dir, OS: c.os}, c.env)
			same(t, "databases", found(t, h), c.want)
			roots := opencode.Agent().History.Roots(h)
			for _, rel := range c.want {
				path := filepath.Join(dir, filepath.FromSlash(rel))
				if src, ok := opencode.Agent().History.Locate(h, path+"-wal"); !ok || src.Path != path {
					t.Errorf("the log of %s is of %q", rel, src.Path)
				}
				if !slices.ContainsFunc(roots, func(root string) bool { return filepath.Dir(path) == root }) {
					t.Errorf("%s is in none of %q", rel, roots)
				}
			}
		})
	}
	h := agent.Home{Dir: dir}
	for _, rel := range []string{".local/share/opencode/mine.db", ".local/share/opencode/auth.json", ".local/share/opencode/opencode-gone.db", "elsewhere/mine.db", ".local/share/opencode"} {
		if src, ok := opencode.Agent().History.Locate(h, filepath.Join(dir, filepath.FromSlash(rel))); ok {
			t.Errorf("%s is of %q", rel, src.Path)
		}
	}
}

// TestWhereTheTreeIs looks for the session of each file of the sample, in a copy
// with a database beside it or without.
func TestWhereTheTreeIs(t *testing.T) {
	h := agent.Home{Dir: t.TempDir()}
	if err := os.CopyFS(h.Dir, os.DirFS("testdata/home")); err != nil {
		t.Fatal(err)
	}
	of := map[string]string{}
	err := filepath.WalkDir(h.Dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(database(h, ""), path)
		if src, ok := opencode.Agent().History.Locate(h, path); ok {
			of[filepath.ToSlash(rel)] = strings.TrimSuffix(filepath.Base(src.Path), ".json")
		} else {
			of[filepath.ToSlash(rel)] = ""
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const one, two, old, early = "ses_58a1b2c3dffe000000000tree1", "ses_58a1b2c3cffe000000000tree2", "ses_7c00000000ffe000000000old5", "ses_7f00000000ffe00000000early"
	for rel, want := range map[string]string{
		"storage/session/global/" + two + ".json":                                                 two,
		"storage/message/" + one + "/msg_a75e4d200001treetree002.json":                            one,
		"storage/part/msg_a75e4d200001treetree002/prt_a75e4d200003aaaa.json":                      one,
		"storage/part/msg_a75eae000001treetree002/prt_a75eae000004aaaa.json":                      "", // torn: it does not tell yet
		"storage/session/info/" + old + ".json":                                                   old,
		"storage/session/part/" + old + "/msg_837f1e000001old5old50001/prt_837f1e000002aaaa.json": old,
		"project/home-ana-early/storage/session/message/" + early + "/msg_7f0002early002.json":    early,
		"storage/session_diff/" + one + ".json":                                                   "",
		"storage/project/4b0ea68d7af9a6031a7ffda7ad66e0cb83315750.json":                           "",
	} {
		if got, ok := of[rel]; !ok || got != want {
			t.Errorf("%s is of %q, want %q", rel, got, want)
		}
	}
	s := &store{t: t, home: h, path: database(h, "opencode.db"), db: writer(t, database(h, "opencode.db"))}
	s.exec(schema)
	s.ask(one, "m1", "taken over")
	if src, ok := opencode.Agent().History.Locate(h, database(h, "storage/message/"+one+"/msg_a75e4d200001treetree002.json")); ok {
		t.Errorf("located %s, which the database has", src.Path)
	}
	if slices.ContainsFunc(found(t, h), func(rel string) bool { return strings.Contains(rel, one) }) {
		t.Error("a session that the database has is found in the tree")
	}
}

func TestWhatIsWatched(t *testing.T) {
	h := agent.Home{Dir: t.TempDir()}
	picky, ok := opencode.Agent().History.(agent.Watcher)
	if !ok {
		t.Fatal("all of it is watched")
	}
	watched := func(h agent.Home) (all []string) {
		for _, rel := range []string{
			"", "log", "snapshot/p", "storage", "storage/session", "storage/session/p", "storage/message", "storage/message/s",
			"storage/message/s/x", "storage/part", "storage/part/m", "storage/session_diff", "db",
		} {
			if picky.Watch(h, database(h, filepath.FromSlash(rel))) {
				all = append(all, rel)
			}
		}
		return all
	}
	same(t, "without a database", watched(h), []string{"", "storage", "storage/session", "storage/session/p", "storage/message", "storage/message/s"})
	put(t, database(h, "opencode.db"), "")
	same(t, "with one", watched(h), []string{""})
	same(t, "with one elsewhere", watched(with(h, map[string]string{"OPENCODE_DB": "db/x.db"})), []string{"", "db"})
	outside := with(h, map[string]string{"OPENCODE_DB": filepath.Join(h.Dir, "x.db")})
	if !picky.Watch(outside, h.Dir) || picky.Watch(outside, filepath.Join(h.Dir, "src")) {
		t.Error("beside a database in the home directory all or nothing is watched")
	}
}

// TestFilesInAnyState removes each file of the sample in turn, or tears it:
// nothing else may be lost.
func TestFilesInAnyState(t *testing.T) {
	h := agent.Home{Dir: t.TempDir()}
	if err := os.CopyFS(h.Dir, os.DirFS("testdata/home")); err != nil {
		t.Fatal(err)
	}
	whole := all(t, h)
	turns := map[string]int{} // by session
	for _, session := range whole.of {
		turns[session.ID]++
	}
	err := filepath.WalkDir(h.Dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for what, spoil := range map[string]func() error{
			"gone": func() error { return os.Remove(path) },
			"torn": func() error { return os.Truncate(path, 9) },
		} {
			if err := spoil(); err != nil {
				return err
			}
			got := newMemory(t)
			for _, src := range sources(t, h) {
				for item, err := range opencode.Agent().History.Read(t.Context(), src, agent.Mark{}) {
					if err == nil {
						got.add(item)
					}
				}
			}
			put(t, path, string(data))
			most := 1
			if session, ok := strings.CutSuffix(filepath.Base(path), ".json"); ok && turns[session] > 0 {
				most = turns[session]
			}
			if lost := len(whole.turns) - len(got.turns); lost > most {
				t.Errorf("%s is %s, and %d turns are not told", path, what, lost)
			}
		}
		return nil
	})
	if err != nil || len(whole.turns) < 5 {
		t.Errorf("%d turns, %v", len(whole.turns), err)
	}
}
