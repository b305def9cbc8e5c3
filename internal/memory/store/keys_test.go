package store_test

import (
	"database/sql"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
)

// TestKeysAreForgottenByAge lets days pass: the table of keys stays small, and a
// key that is used again all the same makes no second memory.
func TestKeysAreForgottenByAge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	var passed atomic.Int64
	s, err := store.Open(t.Context(), store.Config{Path: path, Now: func() time.Time {
		return day.Add(time.Duration(passed.Load()))
	}})
	if err != nil {
		t.Fatal(err)
	}
	note := func(key, content string) (ambry.Memory, error) {
		return s.Add(t.Context(), ambry.Note{Content: content}, key)
	}
	kept, err := note("kept", "a note that stays")
	if err != nil {
		t.Fatal(err)
	}
	lost, err := note("lost", "a note that goes")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Forget(t.Context(), lost.ID, ""); err != nil {
		t.Fatal(err)
	}
	passed.Store(int64(4 * 24 * time.Hour))
	if _, err := note("new", "a note of later"); err != nil {
		t.Fatal(err)
	}
	again, err := note("kept", "a note that stays")
	if err != nil || again.ID != kept.ID || !again.CreatedAt.Equal(kept.CreatedAt) {
		t.Errorf("an old key: got %+v and error %v, want %s", again, err, kept.ID)
	}
	if _, err := note("lost", "a note that goes"); ambry.KindOf(err) != ambry.Gone {
		t.Errorf("an old key of what was forgotten: got %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if keys := query(t, db, `SELECT key FROM idempotency ORDER BY key`); len(keys) != 2 {
		t.Errorf("got keys %v, want those used within the last days", keys)
	}
	verify(t, path)
}
