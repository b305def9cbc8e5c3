package store

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ambry.dev/ambry"
)

// TestOpenRefuses tries files that are not ours to write; not a byte of them may
// change.
func TestOpenRefuses(t *testing.T) {
	good := filepath.Join(t.TempDir(), "good.db")
	s, err := Open(t.Context(), Config{Path: good})
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if _, err := s.Add(t.Context(), ambry.Note{Content: strings.Repeat("text ", 200)}, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	changed := func(at int, to ...byte) []byte {
		b := append([]byte(nil), whole...)
		copy(b[at:], to)
		return b
	}
	for _, c := range []struct {
		name, says string
		bytes      []byte
	}{
		{"a newer version", "newer version", changed(60, 0, 0, 0, 99)},
		{"another program", "another program", changed(68, 1, 2, 3, 4)},
		{"another program that marks nothing", "another program", changed(60, make([]byte, 12)...)},
		{"text", "damaged", []byte(strings.Repeat("not a database ", 100))},
		{"a few bytes", "damaged", []byte("SQLite")},
		{"half a header", "damaged", whole[:60]},
		{"half a file", "damaged", whole[:len(whole)/2]},
		{"zeroed pages", "damaged", changed(4096, make([]byte, 60000)...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "memory.db")
			if err := os.WriteFile(path, c.bytes, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(context.Background(), Config{Path: path})
			if err == nil {
				s.Close()
				t.Fatal("it was opened")
			}
			if ambry.KindOf(err) != ambry.MemoryUnavailable || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %s: %v; want %q in it", ambry.KindOf(err), err, c.says)
			}
			if strings.Contains(err.Error(), path) {
				t.Errorf("the error tells the path: %v", err)
			}
			after, err := os.ReadFile(path)
			if err != nil || string(after) != string(c.bytes) {
				t.Errorf("the file was changed: %v", err)
			}
		})
	}
}

func TestOpenMakesAPrivateFile(t *testing.T) {
	if os.PathSeparator != '/' {
		t.Skip("permissions of files are not those of Unix here")
	}
	path := filepath.Join(t.TempDir(), "a b%41?#é.db")
	s, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Add(t.Context(), ambry.Note{Content: "text"}, ""); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, want 0600", filepath.Base(name), info.Mode())
		}
	}
}
