package store

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ambry.dev/ambry/internal/memory/sqlite"
)

// TestNothingThatCanBeMadeAnewIsInTheWay is a cut of TestPowerCut after which the
// directory of the index could not be read: the memory did not open, though the index can
// be made anew from its rows.
func TestNothingThatCanBeMadeAnewIsInTheWay(t *testing.T) {
	for how, spoil := range map[string]func(dir, file string) error{
		"no directory": func(dir, _ string) error { return os.RemoveAll(dir) },
		"a file in place of the directory": func(dir, _ string) error {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
			return os.WriteFile(dir, nil, 0o600)
		},
		"a directory in place of a file": func(_, file string) error {
			if err := os.Remove(file); err != nil {
				return err
			}
			return os.MkdirAll(filepath.Join(file, "more"), 0o700)
		},
		"a file that cannot be removed": func(dir, _ string) error {
			return os.MkdirAll(filepath.Join(dir, "00000099.idx", "more"), 0o700)
		},
	} {
		t.Run(how, func(t *testing.T) {
			path, file, words := library(t)
			if err := spoil(indexDir(path), file); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second finds nothing to mend
				s, err := Open(t.Context(), Config{Path: path})
				if err != nil {
					t.Fatal(err)
				}
				if missing := lost(t, s, words); len(missing) > 0 {
					t.Errorf("nothing is found of %v", missing)
				}
				if err := s.VerifyIndex(t.Context()); err != nil {
					t.Error(err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if left, err := filepath.Glob(indexDir(path) + asideMark + "*"); err != nil || len(left) > 0 {
				t.Errorf("%v are left, %v", left, err)
			}
		})
	}
}

// TestWhatWasPutAsideBeforeIsNotInTheWay: a disk that does not let go of it is damaged
// twice.
func TestWhatWasPutAsideBeforeIsNotInTheWay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "memory.index")
	for n, want := range []string{dir + asideMark + "1", dir + asideMark + "2"} {
		if err := os.MkdirAll(filepath.Join(dir, "more"), 0o700); err != nil {
			t.Fatal(err)
		}
		if to, err := putAside(dir); err != nil || to != want {
			t.Errorf("%d: put aside as %q, %v", n, to, err)
		}
	}
}

// TestHalfABackupIsNotInTheWay has what a killed process left be removed, and the memory
// open when that cannot be done.
func TestHalfABackupIsNotInTheWay(t *testing.T) {
	path, _, words := library(t)
	backups := t.TempDir()
	part, stuck := filepath.Join(backups, "memory-1.db.part"), filepath.Join(backups, "memory-2.db.part")
	if err := os.WriteFile(part, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(stuck, "more"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := sqlite.SweepParts(backups); err == nil {
		t.Fatal("a directory with something in it was removed: this test sees nothing")
	}
	if _, err := os.Stat(part); !os.IsNotExist(err) {
		t.Errorf("half a backup is there: %v", err)
	}
	s, err := Open(t.Context(), Config{Path: path, BackupDir: backups})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if missing := lost(t, s, words); len(missing) > 0 {
		t.Errorf("nothing is found of %v", missing)
	}
}

// TestAnIndexThatIsWholeIsNotMadeAnewAtOnce: a disk that gives nothing for a moment is no
// damage, and to make the index of a large memory anew takes minutes. Whoever says a second
// time that it is damaged is believed.
func TestAnIndexThatIsWholeIsNotMadeAnewAtOnce(t *testing.T) {
	path, _, words := library(t)
	s, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	before := s.index.Segments()
	var m mending
	m.index(t.Context(), s)
	if now := s.index.Segments(); !slices.Equal(now, before) {
		t.Errorf("the files were %v and are %v", before, now)
	}
	m.index(t.Context(), s)
	if now := s.index.Segments(); slices.Equal(now, before) {
		t.Errorf("the files are still %v", now)
	}
	if missing := lost(t, s, words); len(missing) > 0 {
		t.Errorf("nothing is found of %v", missing)
	}
}
