package store

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/sqlite"
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
	id := valueIn(t, path, `SELECT public FROM memory`)
	valueIn(t, path, `DELETE FROM turn RETURNING id`)
	if s, err = Open(t.Context(), Config{Path: path}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Get(t.Context(), id); !sqlite.Damaged(err) {
		t.Errorf("get: %v", err)
	}
	if _, err := s.Source(t.Context(), id); ambry.KindOf(err) != ambry.MemoryUnavailable {
		t.Errorf("source: %v", err)
	}
}

// library is a store of sessions with a word each, and its only file of the index
// once it is closed.
func library(t *testing.T) (path, file string, words []string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "memory.db")
	s, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 40 {
		words = append(words, fmt.Sprintf("g%dx", n))
		c := ambry.Conversation{Session: ambry.Session{ID: fmt.Sprint("s", n), Agent: "codex"}, Turns: []ambry.Turn{{
			ID: fmt.Sprint("t", n), Messages: []ambry.Message{{ID: "m", Role: ambry.User, Text: "the gauge " + words[n] + " shows five metres"}},
		}}}
		if _, err := s.Import(t.Context(), []ambry.Conversation{c}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(indexDir(path), "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the files are %v, %v", files, err)
	}
	return path, files[0], words
}

// lost returns the words that are not found.
func lost(t *testing.T, s *Store, words []string) (out []string) {
	t.Helper()
	for _, w := range words {
		found, _, err := s.Candidates(t.Context(), Match{All: [][]string{{w}}}, 10)
		if err != nil {
			t.Errorf("%s: %v", w, err)
		}
		if len(found) != 1 {
			out = append(out, w)
		}
	}
	return out
}

// TestADamagedIndexHidesNothing is round 13 of TestDamage: a word that cannot be
// read in the dictionary was a word that nobody had said.
func TestADamagedIndexHidesNothing(t *testing.T) {
	path, _, words := library(t)
	random := rand.New(rand.NewPCG(1, 1))
	for range 25 {
		now, err := filepath.Glob(filepath.Join(indexDir(path), "*"))
		if err != nil || len(now) != 1 {
			t.Fatalf("the files are %v, %v", now, err)
		}
		data, err := os.ReadFile(now[0])
		if err != nil {
			t.Fatal(err)
		}
		at := random.IntN(len(data))
		data[at] ^= byte(1 + random.IntN(255))
		if err := os.WriteFile(now[0], data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		if missing := lost(t, s, words); len(missing) > 0 {
			t.Errorf("byte %d of %d is changed, and nothing is found of %v", at, len(data), missing)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAnIndexThatGoesBadIsMadeAnew has the file change under an open memory.
func TestAnIndexThatGoesBadIsMadeAnew(t *testing.T) {
	path, file, words := library(t)
	s, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, slices.Repeat([]byte{0xff}, int(info.Size())), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Candidates(t.Context(), Match{All: [][]string{{words[0]}}}, 10); ambry.KindOf(err) != ambry.MemoryUnavailable {
		t.Errorf("a search: %v", err)
	}
	for t.Context().Err() == nil {
		if _, _, err := s.Candidates(t.Context(), Match{All: [][]string{{words[0]}}}, 10); err == nil {
			break
		}
	}
	if missing := lost(t, s, words); len(missing) > 0 {
		t.Errorf("nothing is found of %v", missing)
	}
	if err := s.VerifyIndex(t.Context()); err != nil {
		t.Error(err)
	}
}
