package engine_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/engine"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/redact"
)

// planted is a key that no service gave out.
var planted = "sk-" + "ant-" + "api03-" + strings.Repeat("Zq9x", 20) + "AA"

// openDir returns an engine over the store of a directory, and what closes it.
func openDir(t *testing.T, dir string) (*engine.Engine, func()) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Path: filepath.Join(dir, "memory.db")})
	if err != nil {
		t.Fatal(err)
	}
	return engine.New(engine.Config{Store: s, Version: "test"}), func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// wantNoSecret looks for the planted key in the bytes of every file of dir.
func wantNoSecret(t *testing.T, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		// Half of it, since a text may be cut.
		if bytes.Contains(data, []byte(planted[:len(planted)/2])) {
			t.Errorf("%s holds the planted key", filepath.Base(path))
		}
		return err
	})
	if err != nil || files == 0 {
		t.Fatalf("%d files, %v", files, err)
	}
}

// TestPatchTakesSecretsOut guards against a key that is typed into the title,
// the summary or a tag of a memory.
func TestPatchTakesSecretsOut(t *testing.T) {
	dir := t.TempDir()
	e, shut := openDir(t, dir)
	m, err := e.Add(t.Context(), redact.CleanNote(ambry.Note{Content: "the staging host is called amber"}), "")
	if err != nil {
		t.Fatal(err)
	}
	title, summary, tags := "key "+planted, "the key is "+planted, []string{"host", planted}
	got, err := e.Patch(t.Context(), m.ID, ambry.Patch{Title: &title, Summary: &summary, Tags: &tags}, "key")
	if err != nil {
		t.Fatal(err)
	}
	if got.Title == m.Title || !strings.Contains(got.Title, "[REDACTED:") || len(got.Tags) != 2 {
		t.Errorf("got %+v", got)
	}
	if title != "key "+planted || tags[1] != planted {
		t.Error("the caller's patch was changed")
	}
	wantNoSecret(t, dir) // in the log of the database
	shut()
	wantNoSecret(t, dir) // in its main file
}
