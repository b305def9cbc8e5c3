package learn_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/learn"
	"ambry.dev/ambry/internal/memory/store"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func open(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "memory.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// turn is what a person asks and an agent answers, n minutes after noon.
func turn(n int, asked, answered string, calls ...ambry.ToolCall) ambry.Conversation {
	return ambry.Conversation{
		Session: ambry.Session{Agent: "codex", ID: fmt.Sprint("s", n), Project: "/work/shop", StartedAt: noon},
		Turns: []ambry.Turn{{ID: fmt.Sprint("t", n), At: noon.Add(time.Duration(n) * time.Minute), Source: ambry.Source{Path: "/log/" + fmt.Sprint(n), Line: n + 1}, Messages: []ambry.Message{
			{ID: "q", Role: ambry.User, Text: asked}, {ID: "a", Role: ambry.Assistant, Text: answered, Calls: calls},
		}}},
	}
}

func ran(command string) ambry.ToolCall {
	return ambry.ToolCall{Name: "shell", Input: fmt.Sprintf(`{"command":%q}`, command), Done: true, ExitCode: new(0), Output: "ok  \tshop\t0.1s"}
}

func teach(t *testing.T, s *store.Store, cs ...ambry.Conversation) {
	t.Helper()
	if _, err := s.Import(t.Context(), cs); err != nil {
		t.Fatal(err)
	}
	drain(t, s)
}

func drain(t *testing.T, s *store.Store) {
	t.Helper()
	if err := learn.New(s, nil).Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// known are the memories that were learned, "status rule: title", in order.
func known(t *testing.T, s *store.Store) []string {
	t.Helper()
	var out []string
	for _, m := range learned(t, s) {
		out = append(out, fmt.Sprintf("%s %s: %s", m.Status, m.Rule, m.Title))
	}
	slices.Sort(out)
	return out
}

func learned(t *testing.T, s *store.Store) []ambry.Memory {
	t.Helper()
	var out []ambry.Memory
	for _, rule := range ambry.Rules {
		items, err := s.Reports().Items(t.Context(), ambry.ItemsQuery{Rule: rule})
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(items.Items)) != items.Total {
			t.Errorf("%s: listed %d, counted %d", rule, len(items.Items), items.Total)
		}
		out = append(out, items.Items...)
	}
	return out
}

func want(t *testing.T, s *store.Store, lines ...string) {
	t.Helper()
	slices.Sort(lines)
	if got := known(t, s); !slices.Equal(got, lines) {
		t.Errorf("known:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
}

func only(t *testing.T, s *store.Store) ambry.Detail {
	t.Helper()
	all := learned(t, s)
	if len(all) != 1 {
		t.Fatalf("learned %d things, want 1: %+v", len(all), all)
	}
	d, err := s.Get(t.Context(), all[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestLearningTwiceLearnsNothingTwice(t *testing.T) {
	s := open(t)
	c := turn(1, "From now on, always use pnpm.", "ok")
	teach(t, s, c)
	first := only(t, s)
	teach(t, s, c)
	c.Turns[0].Messages[1].Text = "ok, noted"
	teach(t, s, c)
	if again := only(t, s); again.ID != first.ID || again.Version != first.Version {
		t.Errorf("was %+v, is %+v", first.Memory, again.Memory)
	}
}

func TestWhatIsSaidAgainIsMoreSure(t *testing.T) {
	s := open(t)
	teach(t, s, turn(1, "Always write table-driven tests.", "ok"))
	once := only(t, s).Learned
	teach(t, s, turn(2, "always write table-driven tests!", "ok"))
	twice := only(t, s).Learned
	if twice.Confidence <= once.Confidence || twice.EvidenceCount != 2 || len(twice.Evidence) != 2 {
		t.Errorf("once %+v, twice %+v", once, twice)
	}
}

func TestTheNewerOfTwoStands(t *testing.T) {
	older, newer := turn(1, "Let's go with npm here, always.", "ok"), turn(2, "We decided to use pnpm for this.", "ok")
	older.Turns[0].Messages[0].Text = "Please always use npm."
	newer.Turns[0].Messages[0].Text = "From now on, use pnpm."
	for name, order := range map[string][]ambry.Conversation{"in order": {older, newer}, "the newer one first": {newer, older}} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			teach(t, s, order[0])
			teach(t, s, order[1])
			want(t, s, "activated preference: From now on, use pnpm.", "archived preference: Please always use npm.")
			for _, m := range learned(t, s) {
				d, err := s.Get(t.Context(), m.ID)
				if err != nil {
					t.Fatal(err)
				}
				old := m.Status == ambry.Archived
				if old != (d.Learned.SupersededBy != "") || old == d.Learned.ValidTo.IsZero() {
					t.Errorf("%s: %+v", m.Title, d.Learned)
				}
			}
		})
	}
}

func TestWhatIsUsedInsteadEndsWhatWasUsed(t *testing.T) {
	s := open(t)
	teach(t, s, turn(1, "Always use the frobnicate helper instead of raw loops.", "ok"))
	teach(t, s, turn(2, "No, use the grommet package instead of the frobnicate helper.", "ok"))
	want(t, s, "activated correction: No, use the grommet package instead of the frobnicate helper.",
		"archived preference: Always use the frobnicate helper instead of raw loops.")
}

func TestACommandIsKnownOnceItWorkedTwice(t *testing.T) {
	s := open(t)
	teach(t, s, turn(1, "run the tests", "they pass", ran("go test ./...")))
	want(t, s)
	teach(t, s, turn(2, "again please", "they pass", ran("cd /work/shop && go test ./... 2>&1 | tail -5")))
	want(t, s, "activated command: `go test ./...` runs the tests")
	for n := 3; n < 6; n++ {
		teach(t, s, turn(n, "with the race detector", "they pass", ran("go test -race ./...")))
	}
	want(t, s, "activated command: `go test -race ./...` runs the tests", "archived command: `go test ./...` runs the tests")
}

func TestForgettingTheTurnRevokesWhatItTaught(t *testing.T) {
	s := open(t)
	teach(t, s, turn(1, "The API lives in services/api.", "ok"), turn(2, "The api lives in services/api, remember.", "ok"))
	all := learned(t, s)
	if len(all) != 1 {
		t.Fatalf("learned %+v", all)
	}
	for _, e := range only(t, s).Learned.Evidence {
		if _, err := s.Forget(t.Context(), e.MemoryID, ""); err != nil {
			t.Fatal(err)
		}
	}
	want(t, s)
	if _, err := s.Get(t.Context(), all[0].ID); ambry.KindOf(err) != ambry.NotFound {
		t.Errorf("got %v, want not found", err)
	}
}

func TestATurnThatChangesTeachesAnew(t *testing.T) {
	s := open(t)
	c := turn(1, "The dev server runs on port 5174.", "ok")
	teach(t, s, c)
	want(t, s, "activated fact: The dev server runs on port 5174.")
	c.Turns[0].Messages[0].Text = "What runs on port 5174?"
	teach(t, s, c)
	want(t, s)
}

func TestWhatWasForgottenDoesNotComeBack(t *testing.T) {
	s := open(t)
	c := turn(1, "Never push directly to main.", "ok")
	teach(t, s, c)
	if _, err := s.Forget(t.Context(), only(t, s).ID, ""); err != nil {
		t.Fatal(err)
	}
	want(t, s)
	c.Turns[0].Messages[1].Text = "understood"
	teach(t, s, c, turn(2, "never push directly to main", "ok"))
	want(t, s)
}

func TestWhatAPersonSetStays(t *testing.T) {
	s := open(t)
	teach(t, s, turn(1, "Please always use npm.", "ok"))
	title, status := "npm it is", ambry.Activated
	if _, err := s.Patch(t.Context(), only(t, s).ID, ambry.Patch{Title: &title, Status: &status}, ""); err != nil {
		t.Fatal(err)
	}
	teach(t, s, turn(0, "Please always use npm.", "ok"), turn(2, "From now on, use pnpm.", "ok"))
	want(t, s, "activated preference: npm it is", "activated preference: From now on, use pnpm.")
}

func TestATaskIsOpenUntilItIsDone(t *testing.T) {
	asked, done := turn(1, "Ship it. TODO: write the migration guide.", "ok"), turn(2, "go on", "I've written the migration guide and linked it.")
	for name, order := range map[string][]ambry.Conversation{"in order": {asked, done}, "the end first": {done, asked}} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			teach(t, s, order[0])
			teach(t, s, order[1])
			want(t, s, "archived task: TODO: write the migration guide.")
			if l := only(t, s).Learned; l.ValidTo.IsZero() || l.SupersededBy != "" {
				t.Errorf("got %+v", l)
			}
		})
	}
	s := open(t)
	teach(t, s, asked, done) // both read at once, as with a history that is imported
	want(t, s, "archived task: TODO: write the migration guide.")
	s = open(t)
	teach(t, s, asked, turn(2, "go on", "I've written the release notes."))
	want(t, s, "activated task: TODO: write the migration guide.")
}

func TestTheLastListOfASessionStands(t *testing.T) {
	list := func(n int, input string) ambry.Conversation {
		c := turn(n, "go on", "ok", ambry.ToolCall{Name: "TodoWrite", Input: input, Done: true})
		c.Session.ID = "s"
		return c
	}
	s := open(t)
	teach(t, s, list(1, `{"todos":[{"content":"Parse","status":"pending"}]}`))
	want(t, s, "activated task: Not finished: Parse")
	teach(t, s, list(2, `{"todos":[{"content":"Parse","status":"completed"},{"content":"Print","status":"in_progress"},{"content":"Test","status":"pending"}]}`))
	want(t, s, "activated task: Not finished: Print (and 1 more)", "archived task: Not finished: Parse")
	teach(t, s, list(3, `{"todos":[{"content":"Print","status":"completed"},{"content":"Test","status":"completed"}]}`))
	want(t, s, "archived task: Not finished: Print (and 1 more)", "archived task: Not finished: Parse")
}

func TestOnlyAPersonHasPreferences(t *testing.T) {
	s := open(t)
	c := turn(1, "Always answer with one word.", "ok")
	c.Session.Relation, c.Session.ParentID = ambry.Subagent, "p"
	d := turn(2, "Never push directly to main.", "ok")
	d.Session.Background = true
	teach(t, s, c, d)
	want(t, s)
}

func TestEvidenceLeadsToTheLine(t *testing.T) {
	s := open(t)
	teach(t, s, turn(7, "Never push directly to main.", "ok"))
	d := only(t, s)
	if d.Source.Path != "/log/7" || d.Source.Line != 8 || d.TurnID != "t7" || d.Turn != nil || d.Layer != ambry.L2 || d.Project != "/work/shop" || !slices.Equal(d.Tags, []string{"preference"}) {
		t.Errorf("got %+v", d)
	}
	p, err := s.Source(t.Context(), d.ID)
	if err != nil {
		t.Fatal(err)
	}
	if p.Turn == nil || p.Turn.ID != "t7" || p.Turn.Messages[0].Text != "Never push directly to main." || p.Session.ID != "s7" || len(p.Evidence) != 1 {
		t.Errorf("got %+v", p)
	}
	if e := p.Evidence[0]; !e.Current || e.Digest == "" || e.MemoryID == "" || e.Source.Line != 8 {
		t.Errorf("got %+v", e)
	}
}

// TestTheOrderDoesNotMatter learns from the same turns in many orders and pieces.
func TestTheOrderDoesNotMatter(t *testing.T) {
	var all []ambry.Conversation
	for i, text := range []string{
		"Please always use npm.", "From now on, use pnpm.", "Never use yarn.", "Always use yarn.", "The dev server runs on port 5174.", "The dev server runs on port 5175.",
		"Let's go with Postgres.", "We decided to use SQLite.", "TODO: write the migration guide.", "go on", "Answer in German.", "Please answer in English.",
	} {
		c := turn(i, text, "I've written the migration guide.", ran([]string{"go test ./...", "go test -race ./..."}[i%2]))
		all = append(all, c)
	}
	var first []string
	for seed := range uint64(6) {
		s := open(t)
		r := rand.New(rand.NewPCG(seed, 3))
		order := slices.Clone(all)
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for len(order) > 0 {
			n := 1 + r.IntN(len(order))
			teach(t, s, order[:n]...)
			order = order[n:]
		}
		got := known(t, s)
		if first == nil {
			first = got
			if len(got) < 10 {
				t.Errorf("learned only %q", got)
			}
		}
		if !slices.Equal(got, first) {
			t.Errorf("seed %d:\n%s\nwant:\n%s", seed, strings.Join(got, "\n"), strings.Join(first, "\n"))
		}
	}
}

func TestNothingIsLostWhenItStopsHalfWay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s, err := store.Open(t.Context(), store.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Import(t.Context(), []ambry.Conversation{turn(1, "Never push directly to main.", "ok")}); err != nil {
		t.Fatal(err)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	learn.New(s, nil).Run(stopped)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = store.Open(t.Context(), store.Config{Path: path}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	want(t, s)
	drain(t, s)
	want(t, s, "activated preference: Never push directly to main.")
}

// TestItLearnsByItself imports while Run is running, and waits for what it says.
func TestItLearnsByItself(t *testing.T) {
	s := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); learn.New(s, nil).Run(ctx) }()
	if _, err := s.Import(t.Context(), []ambry.Conversation{turn(1, "Never push directly to main.", "ok")}); err != nil {
		t.Fatal(err)
	}
	for len(known(t, s)) == 0 {
		if t.Context().Err() != nil {
			t.Fatal("it learned nothing")
		}
	}
	cancel()
	<-done
}
