package learn

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
)

// childEnv makes the test binary learn from the memory at a path until it is
// killed; it prints a line after each batch.
const childEnv = "AMBRY_TEST_LEARN_FROM"

func TestMain(m *testing.M) {
	path := os.Getenv(childEnv)
	if path == "" {
		os.Exit(m.Run())
	}
	s, err := store.Open(context.Background(), store.Config{Path: path})
	if err == nil {
		err = New(s, nil).catchUp(context.Background(), func(ctx context.Context, _ time.Duration) error {
			fmt.Println("a batch")
			return ctx.Err()
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// manyTurns say things that are said again, that replace each other, and that are
// done later: what the order and the number of readings could spoil.
func manyTurns(n int) []ambry.Conversation {
	said := []string{
		"From now on, use npm.", "Always write table-driven tests.", "TODO: write the migration guide for release %d.", "go on",
		"From now on, use pnpm.", "The API runs on port 4310.", "never push directly to main", "what now?",
	}
	exit := 0
	out := make([]ambry.Conversation, n)
	for i := range out {
		at := time.Date(2026, 3, 1, 12, i, 0, 0, time.UTC)
		asked, answered := said[i%len(said)], "ok"
		switch i % len(said) {
		case 2:
			asked = fmt.Sprintf(asked, i)
		case 3:
			answered = fmt.Sprintf("I've written the migration guide for release %d.", i-1)
		}
		out[i] = ambry.Conversation{
			Session: ambry.Session{Agent: "codex", ID: fmt.Sprint("s", i), Project: "/work/shop", StartedAt: at},
			Turns: []ambry.Turn{{ID: fmt.Sprint("t", i), At: at, Messages: []ambry.Message{
				{ID: "q", Role: ambry.User, Text: asked},
				{ID: "a", Role: ambry.Assistant, Text: answered, Calls: []ambry.ToolCall{{Name: "shell", Input: `{"command":"go test ./..."}`, Done: true, ExitCode: &exit, Output: "ok"}}},
			}}},
		}
	}
	return out
}

func TestAKilledLearnerHasLearnedTheSameInTheEnd(t *testing.T) {
	turns := manyTurns(240)
	fill := func(path string) *store.Store {
		s, err := store.Open(t.Context(), store.Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Import(t.Context(), turns); err != nil {
			t.Fatal(err)
		}
		return s
	}
	undisturbed := fill(filepath.Join(t.TempDir(), "memory.db"))
	want := everythingLearned(t, undisturbed)
	if len(want) < 30 {
		t.Fatalf("only %d things to learn: %q", len(want), want)
	}
	path := filepath.Join(t.TempDir(), "memory.db")
	if err := fill(path).Close(); err != nil {
		t.Fatal(err)
	}
	killed := 0
	for n := range 3 {
		if killLearner(t, path, n+1) {
			killed++
		}
	}
	if killed == 0 {
		t.Fatal("no learner was killed at work")
	}
	s, err := store.Open(t.Context(), store.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if got := everythingLearned(t, s); !slices.Equal(got, want) {
		t.Errorf("after %d kills learned %q, want %q", killed, got, want)
	}
}

// killLearner starts a learner, kills it once it has done n batches, and reports
// whether it was still alive.
func killLearner(t *testing.T, path string, n int) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := 0
	for scanner := bufio.NewScanner(out); scanner.Scan(); {
		if lines++; lines == n {
			_ = cmd.Process.Kill() // it may have ended just now
		}
	}
	return cmd.Wait() != nil
}

// everythingLearned learns what is left and tells all that is known, with its
// evidence; it closes the store.
func everythingLearned(t *testing.T, s *store.Store) []string {
	t.Helper()
	if err := New(s, nil).Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, rule := range ambry.Rules {
		for page := 1; ; page++ {
			items, err := s.Reports().Items(t.Context(), ambry.ItemsQuery{Rule: rule, Page: page})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range items.Items {
				d, err := s.Get(t.Context(), m.ID)
				if err != nil {
					t.Fatal(err)
				}
				l := d.Learned
				out = append(out, fmt.Sprintf("%s %s %s: %s (%d, %.3f, %v to %v)", m.ID, m.Status, rule, m.Title, l.EvidenceCount, l.Confidence, l.ValidFrom, l.ValidTo))
			}
			if !items.HasNext {
				break
			}
		}
	}
	slices.Sort(out)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}
