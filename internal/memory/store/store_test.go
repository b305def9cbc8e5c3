package store_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
)

var day = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// open opens a store in a directory of its own, closed when the test ends.
func open(t testing.TB) *store.Store {
	t.Helper()
	s, _ := openAt(t, filepath.Join(t.TempDir(), "memory.db"))
	return s
}

func openAt(t testing.TB, path string) (*store.Store, func()) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	shut := func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(shut)
	return s, shut
}

// talk makes a session of turns, each of one question and one answer.
func talk(session string, questions ...string) ambry.Conversation {
	c := ambry.Conversation{Session: ambry.Session{ID: session, Agent: "codex", Cwd: "/home/ana/work/infra", StartedAt: day}}
	for i, q := range questions {
		at := day.Add(time.Duration(i) * time.Minute)
		c.Turns = append(c.Turns, ambry.Turn{
			ID: fmt.Sprintf("%s-turn-%d", session, i), At: at,
			Source: ambry.Source{Path: "/home/ana/.codex/" + session + ".jsonl", Line: 10*i + 1, Offset: int64(1000 * i), End: int64(1000*i + 900)},
			Messages: []ambry.Message{
				{ID: "q", Role: ambry.User, Text: q, At: at, Line: 10*i + 1, Offset: int64(1000 * i)},
				{
					ID: "a", Role: ambry.Assistant, Text: "Answer to: " + q, At: at.Add(time.Second), Line: 10*i + 5, Offset: int64(1000*i + 500),
					Tokens: ambry.Tokens{Input: 10, Output: 5},
					Calls:  []ambry.ToolCall{{ID: "c", Name: "shell", Input: "go test ./...", Output: "ok", Done: true}},
				},
			},
		})
	}
	return c
}

func mustImport(t testing.TB, s *store.Store, cs ...ambry.Conversation) ambry.Imported {
	t.Helper()
	n, err := s.Import(context.Background(), cs)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestImportAgainChangesNothing(t *testing.T) {
	s := open(t)
	c := talk("one", "why is the parser slow?", "fix the flaky test")
	first := mustImport(t, s, c)
	if first.Added != 2 || first.Messages != 4 || first.Turns != 2 {
		t.Errorf("first import: %+v", first)
	}
	again := mustImport(t, s, c)
	if again.Added != 0 || again.Updated != 0 || again.Unchanged != 2 {
		t.Errorf("second import: %+v", again)
	}
	o, err := s.Reports().Overview(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if o.Counts.Memories != 2 || o.Counts.Turns != 2 || o.Counts.Messages != 4 || o.Counts.ToolCalls != 2 || o.Counts.Sessions != 1 || o.Tokens.Input != 20 {
		t.Errorf("overview: %+v", o)
	}
}
