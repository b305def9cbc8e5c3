package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

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
		found, err := s.Candidates(t.Context(), Match{All: [][]string{{w}}}, 10)
		if err != nil {
			t.Errorf("%s: %v", w, err)
		}
		if len(found.Best) != 1 {
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
	for how, spoil := range map[string]func([]byte) []byte{
		"other bytes": func(all []byte) []byte { return slices.Repeat([]byte{0xff}, len(all)) },
		"cut":         func([]byte) []byte { return nil }, // it cannot be read, as on a bad disk
	} {
		t.Run(how, func(t *testing.T) { goesBad(t, spoil) })
	}
}

func goesBad(t *testing.T, spoil func([]byte) []byte) {
	path, file, words := library(t)
	s, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	all, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, spoil(all), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Candidates(t.Context(), Match{All: [][]string{{words[0]}}}, 10); ambry.KindOf(err) != ambry.MemoryUnavailable {
		t.Fatalf("a search: %v", err)
	}
	for t.Context().Err() == nil {
		if _, err := s.Candidates(t.Context(), Match{All: [][]string{{words[0]}}}, 10); err == nil {
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

// TestATimeThatCannotBeWrittenIsUnknown is round 459 of TestDamage, and also what a
// note at the end of the year 9999 west of Greenwich was: no answer at all, as long
// as it is among what is answered.
func TestATimeThatCannotBeWrittenIsUnknown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(time.RFC3339, "9999-12-31T23:59:59-12:00")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Add(t.Context(), ambry.Note{Content: "the lock opens late", CreatedAt: at}, ""); err != nil {
		t.Fatal(err)
	}
	writable := func() {
		t.Helper()
		var items ambry.Items
		if items, err = s.Reports().Items(t.Context(), ambry.ItemsQuery{}); err != nil || len(items.Items) != 1 {
			t.Fatalf("%v, %v", items, err)
		}
		if _, err := json.Marshal(items); err != nil {
			t.Error(err)
		}
	}
	writable()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	valueIn(t, path, `UPDATE memory SET created_at = 1 << 60, updated_at = -1 << 60 RETURNING id`)
	if s, err = Open(t.Context(), Config{Path: path}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	writable()
}

// TestALetterThatTheDiskChangedIsNotShown is rounds 4, 118 and 119 of TestDamage.
func TestALetterThatTheDiskChangedIsNotShown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Add(t.Context(), ambry.Note{Content: "the lock opens at nine"}, "")
	if err != nil {
		t.Fatal(err)
	}
	title := "the lock"
	if _, err := s.Patch(t.Context(), m.ID, ambry.Patch{Title: &title}, ""); err != nil {
		t.Fatal(err)
	}
	if d, err := s.Get(t.Context(), m.ID); err != nil || d.Body != "the lock opens at nine" {
		t.Fatalf("%v, %v", d, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	id := valueIn(t, path, `UPDATE memory SET body = replace(body, 'nine', 'nune') RETURNING id`)
	if s, err = Open(t.Context(), Config{Path: path}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	row, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	for how, try := range map[string]func() error{
		"get":    func() error { _, err := s.Get(t.Context(), m.ID); return err },
		"search": func() error { _, err := s.Texts(t.Context(), []int64{row}, 1, 1<<20); return err },
		"export": func() error { return s.Dump(t.Context(), io.Discard) },
	} {
		if err := try(); !sqlite.Damaged(err) {
			t.Errorf("%s: %v", how, err)
		}
	}
	// It can still be found by its title, and so can all others.
	if err := s.Rebuild(t.Context()); err != nil {
		t.Error(err)
	}
	if found, err := s.Candidates(t.Context(), Match{All: [][]string{{"lock"}}}, 10); err != nil || len(found.Best) != 1 {
		t.Errorf("%v, %v", found, err)
	}
}

// TestAnIndexOfSQLiteThatLacksARowIsDamage is round 804 of TestDamage: zeros among
// the public ids made memories such that nobody had ever heard of.
func TestAnIndexOfSQLiteThatLacksARowIsDamage(t *testing.T) {
	path, _, _ := library(t)
	s, err := Open(t.Context(), Config{Path: path, BackupDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	page, err := strconv.ParseInt(valueIn(t, path, `SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_memory_1'`), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	id := valueIn(t, path, `SELECT max(public) FROM memory`)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data[(page-1)*4096:page*4096], []byte(id))
	if at < 0 {
		t.Fatalf("%s is not on page %d", id, page)
	}
	clear(data[int(page-1)*4096+at:][:len(id)])
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(t.Context(), Config{Path: path}); !sqlite.Damaged(err) {
		t.Errorf("open: %v", err)
	}
	if err == nil {
		s.Close()
	}
}

// TestADamagedMemoryIsNotBackedUp has a file change that is open, as one is that is
// too large to be looked through when it is opened.
func TestADamagedMemoryIsNotBackedUp(t *testing.T) {
	path, _, _ := library(t)
	backups := t.TempDir()
	s, err := Open(t.Context(), Config{Path: path, BackupDir: backups})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.alone(t.Context(), func(w *writer) error { return w.exec("PRAGMA wal_checkpoint(TRUNCATE)") })
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	clear(data[len(data)/4096/2*4096:][:4096])
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Backup(t.Context()); !sqlite.Damaged(err) {
		t.Errorf("back up: %v", err)
	}
	if made, err := sqlite.Backups(backups); err != nil || len(made) != 0 {
		t.Errorf("the backups are %v, %v", made, err)
	}
}
