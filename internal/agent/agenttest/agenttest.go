// Package agenttest holds what every agent must show of its history: ids that
// stay, reading on after any item, growing and broken files. It is for tests
// only.
package agenttest

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
	gocmp "github.com/google/go-cmp/cmp"
)

// Run checks an agent on the history below home, which is laid out as on Linux.
// What is read from it is compared with the files of ../golden; the test flag
// -update writes them.
func Run(t *testing.T, a agent.Agent, home string) {
	t.Helper()
	RunGolden(t, a, home, filepath.Join(home, "..", "golden"))
}

// RunGolden is [Run] with the golden files of another directory, for a home
// that the test has made.
func RunGolden(t *testing.T, a agent.Agent, home, golden string) {
	t.Helper()
	s := newSuite(t, a, home)
	t.Run("golden", func(t *testing.T) { s.golden(t, golden) })
	s.run(t)
}

// RunMade is [Run] for a history that the test has made, without golden files.
func RunMade(t *testing.T, a agent.Agent, home string) {
	t.Helper()
	newSuite(t, a, home).run(t)
}

func newSuite(t *testing.T, a agent.Agent, home string) suite {
	t.Helper()
	if a.ID == "" || a.Name == "" || a.History == nil {
		t.Fatalf("an agent needs an id, a name and a history: %+v", a)
	}
	dir, err := filepath.Abs(home)
	if err != nil {
		t.Fatal(err)
	}
	return suite{a, agent.Home{Dir: dir, OS: "linux"}}
}

func (s suite) run(t *testing.T) {
	t.Helper()
	for _, check := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"sources", s.sources},
		{"form", s.form},
		{"the same twice", s.twice},
		{"another time zone", s.zone},
		{"stopped after every item", s.stopped},
		{"stopped again and again", s.steps},
		{"cancelled", s.cancelled},
		{"grown once", s.grownOnce},
		{"grown in many steps", s.grownInSteps},
		{"torn last line", s.torn},
		{"rewritten", s.rewritten},
		{"cut short", s.cutShort},
		{"unreadable", s.unreadable},
		{"vanished", s.vanished},
		{"directories in a loop", s.loop},
	} {
		t.Run(check.name, check.run)
	}
}

// suite is an agent with a home of its.
type suite struct {
	agent.Agent
	home agent.Home
}

// all returns the sources; that there is none, or one cannot be read, fails.
func (s suite) all(t *testing.T) []agent.Source {
	t.Helper()
	var sources []agent.Source
	for src, err := range s.History.Sources(t.Context(), s.home) {
		if err != nil {
			t.Fatalf("%s: %v", src.Path, err)
		}
		sources = append(sources, src)
	}
	if len(sources) == 0 {
		t.Fatalf("no history below %s", s.home.Dir)
	}
	return sources
}

// source returns the source at path as it is now.
func (s suite) source(t *testing.T, path string) agent.Source {
	t.Helper()
	src, ok := s.History.Locate(s.home, path)
	if !ok {
		t.Fatalf("%s is no source", path)
	}
	return src
}

// rel is a path below home, with slashes.
func (s suite) rel(path string) string {
	rel, err := filepath.Rel(s.home.Dir, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(rel)
}

// copied returns the suite with a copy of the home, which a test may spoil.
func (s suite) copied(t *testing.T) suite {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(s.home.Dir)); err != nil {
		t.Fatal(err)
	}
	s.home.Dir = dir
	return s
}

// lines returns the sources that are files of lines, with what is in them.
func (s suite) lines(t *testing.T) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	for _, src := range s.all(t) {
		if filepath.Ext(src.Path) != ".jsonl" {
			continue
		}
		data, err := os.ReadFile(src.Path)
		if err != nil {
			t.Fatal(err)
		}
		found[src.Path] = data
	}
	if len(found) == 0 {
		t.Skip("no history of this agent is in lines of JSON")
	}
	return found
}

// key is what makes a part of a turn one.
type key struct {
	turn string
	part int
}

// told is all that a source has told, as a memory would hold it.
type told struct {
	Session  ambry.Session // the last one
	Sessions map[string]ambry.Session
	Turns    map[key]ambry.Turn
	Of       map[key]string // the session of each turn
	Mark     agent.Mark
	Skipped  int
	Notes    []string
}

// add takes an item. Its mark goes through JSON, as it does when it is stored.
func (h *told) add(t *testing.T, item agent.Item) {
	t.Helper()
	data, err := json.Marshal(item.Next)
	if err != nil {
		t.Fatal(err)
	}
	h.Mark = agent.Mark{}
	if err := json.Unmarshal(data, &h.Mark); err != nil {
		t.Fatal(err)
	}
	if h.Turns == nil {
		h.Sessions, h.Turns, h.Of = map[string]ambry.Session{}, map[key]ambry.Turn{}, map[key]string{}
	}
	h.meet(item.Conversation.Session)
	for _, turn := range item.Conversation.Turns {
		k := key{turn.ID, turn.Part}
		h.Turns[k], h.Of[k] = turn, item.Conversation.Session.ID
	}
	h.Skipped += item.Skipped
	h.Notes = append(h.Notes, item.Notes...)
}

// meet takes what an item says of its session; the last item of a database is
// of none.
func (h *told) meet(s ambry.Session) {
	if s.ID == "" {
		return
	}
	if s.Title == "" { // marks hold none: no title means no change
		s.Title = h.Sessions[s.ID].Title
	}
	h.Session, h.Sessions[s.ID] = s, s
}

// conversations returns the sessions that have turns, and the last one. A file
// may say only after a while which session it is.
func (h *told) conversations() []ambry.Conversation {
	all := map[string]*ambry.Conversation{}
	if h.Session.ID != "" {
		all[h.Session.ID] = &ambry.Conversation{Session: h.Session}
	}
	for _, turn := range h.sorted() {
		id := h.Of[key{turn.ID, turn.Part}]
		if all[id] == nil {
			all[id] = &ambry.Conversation{Session: h.Sessions[id]}
		}
		all[id].Turns = append(all[id].Turns, turn)
	}
	var list []ambry.Conversation
	for _, id := range slices.Sorted(maps.Keys(all)) {
		list = append(list, *all[id])
	}
	return list
}

// read reads on in a source to its end.
func (h *told) read(t *testing.T, history agent.History, src agent.Source) {
	t.Helper()
	for item, err := range history.Read(t.Context(), src, h.Mark) {
		if err != nil {
			t.Fatalf("%s: %v", src.Path, err)
		}
		h.add(t, item)
	}
	if !h.Mark.Done {
		t.Fatalf("%s: the last mark does not say that it is the last", src.Path)
	}
}

// sorted returns the turns in the order of the source.
func (h *told) sorted() []ambry.Turn {
	turns := make([]ambry.Turn, 0, len(h.Turns))
	for _, turn := range h.Turns {
		turns = append(turns, turn)
	}
	slices.SortFunc(turns, func(a, b ambry.Turn) int {
		return cmp.Or(cmp.Compare(a.Source.Offset, b.Source.Offset), cmp.Compare(a.Source.Row, b.Source.Row), cmp.Compare(a.ID, b.ID), a.Part-b.Part)
	})
	return turns
}

// whole reads a source from its beginning.
func (s suite) whole(t *testing.T, src agent.Source) told {
	t.Helper()
	var h told
	h.read(t, s.History, src)
	return h
}

// same fails unless two readings told the same.
func same(t *testing.T, what string, got, want told) {
	t.Helper()
	if diff := gocmp.Diff(want.conversations(), got.conversations()); diff != "" {
		t.Errorf("%s: what it tells differs (-want +got):\n%s", what, diff)
	}
}

func (s suite) sources(t *testing.T) {
	roots := s.History.Roots(s.home)
	if len(roots) == 0 {
		t.Fatal("no roots")
	}
	first, again := s.all(t), s.all(t)
	if diff := gocmp.Diff(first, again); diff != "" {
		t.Errorf("other sources the second time:\n%s", diff)
	}
	seen := map[string]bool{}
	for _, src := range first {
		if seen[src.Path] {
			t.Errorf("%s comes twice", src.Path)
		}
		seen[src.Path] = true
		if !slices.ContainsFunc(roots, func(root string) bool { return below(root, src.Path) }) {
			t.Errorf("%s is below none of the roots", src.Path)
		}
		if diff := gocmp.Diff(src, s.source(t, src.Path)); diff != "" {
			t.Errorf("located, a source differs:\n%s", diff)
		}
	}
	empty := agent.Home{Dir: t.TempDir(), OS: "linux"}
	for src, err := range s.History.Sources(t.Context(), empty) {
		t.Errorf("an empty home has a source %s, %v", src.Path, err)
	}
}

func below(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(rel)
}

func (s suite) cancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	src := s.all(t)[0]
	cancel()
	for range s.History.Sources(ctx, s.home) {
		t.Error("a source although nobody waits for it")
	}
	for item, err := range s.History.Read(ctx, src, agent.Mark{}) {
		if err == nil && item.Next.Done {
			t.Error("read to the end although nobody waits for it")
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
