package store

import (
	"path/filepath"
	"testing"

	"ambry.dev/ambry"
)

// TestAZeroedSectorIsNoSilence is round 305 of TestDamage: a page of turns lost its
// rows, which SQLite does not notice, and the memories of them were shown as if
// nothing had been said.
func TestAZeroedSectorIsNoSilence(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	c := ambry.Conversation{Session: ambry.Session{ID: "s", Agent: "codex"}, Turns: []ambry.Turn{{
		ID: "t", Messages: []ambry.Message{{ID: "m", Role: ambry.User, Text: "the tide gauge shows five metres"}},
	}}}
	if _, err := s.Import(t.Context(), []ambry.Conversation{c}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	id := value(t, path, `SELECT public FROM memory`)
	value(t, path, `DELETE FROM turn RETURNING id`)
	if s, err = Open(t.Context(), Config{Path: path}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Get(t.Context(), id); !Damaged(err) {
		t.Errorf("get: %v", err)
	}
	if _, err := s.Source(t.Context(), id); ambry.KindOf(err) != ambry.MemoryUnavailable {
		t.Errorf("source: %v", err)
	}
}
