package store_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
)

// TestStartedTurnsAreForgottenByAge lets a month pass after turns that never
// ended.
func TestStartedTurnsAreForgottenByAge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	var passed atomic.Int64
	s, err := store.Open(t.Context(), store.Config{Path: path, Now: func() time.Time { return day.Add(time.Duration(passed.Load())) }})
	if err != nil {
		t.Fatal(err)
	}
	start := func(id string) {
		t.Helper()
		if _, err := s.StartTurn(t.Context(), ambry.TurnStart{SessionID: "live", Source: "codex", TurnID: id, Query: "a question"}); err != nil {
			t.Fatal(err)
		}
	}
	start("old")
	if _, err := s.CompleteTurn(t.Context(), toldTurn("done"), ""); err != nil {
		t.Fatal(err)
	}
	passed.Store(int64(31 * 24 * time.Hour))
	start("new")
	s.Record(func() store.Call { return store.Call{ID: "x", Tool: ambry.ToolTurnStart, At: day} })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	got := fmt.Sprint(query(t, db, `SELECT external, state FROM live_turn ORDER BY id`))
	if want := "[external=done state=told  external=new state=started ]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	verify(t, path)
}

// TestForgettingKeepsNoRequest forgets a turn that an agent told of, and looks
// for its text in every table that tells of turns.
func TestForgettingKeepsNoRequest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s, shut := openAt(t, path)
	if _, err := s.StartTurn(t.Context(), ambry.TurnStart{SessionID: "live", Source: "codex", TurnID: "t", Query: "asked t"}); err != nil {
		t.Fatal(err)
	}
	done, err := s.CompleteTurn(t.Context(), toldTurn("t"), "key")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Forget(t.Context(), done.MemoryID, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CompleteTurn(t.Context(), toldTurn("t"), "key"); ambry.KindOf(err) != ambry.Gone {
		t.Errorf("the key of what was forgotten: got %v", err)
	}
	shut()
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if left := query(t, db, `SELECT 1 FROM live_turn WHERE query <> '' OR state <> 'forgotten' UNION ALL SELECT 2 FROM turn UNION ALL SELECT 3 FROM memory`); len(left) != 0 {
		t.Errorf("left is %v", left)
	}
	verify(t, path)
}
