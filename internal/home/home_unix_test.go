//go:build unix

package home_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ambry.dev/ambry/internal/home"
)

func TestOpenRefusesWhereOthersCanWrite(t *testing.T) {
	for _, mode := range []os.FileMode{0o770, 0o702, 0o777, 0o720} {
		dir := t.TempDir()
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		_, err := home.Open(dir)
		if err == nil || !strings.Contains(err.Error(), "chmod 700 '"+dir+"'") {
			t.Errorf("mode %o: got %v, want an error with the chmod to run", mode, err)
		}
	}
	for _, mode := range []os.FileMode{0o700, 0o750, 0o755} {
		dir := t.TempDir()
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := home.Open(dir); err != nil {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
}

func TestOpenRefusesAnotherPersonsDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory to another user")
	}
	dir := t.TempDir()
	if err := os.Chown(dir, 12345, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := home.Open(dir); err == nil || !strings.Contains(err.Error(), "another user") {
		t.Errorf("got %v, want a refusal", err)
	}
}

// The mask belongs to the whole process, so a child sets it.
func TestUmask(t *testing.T) {
	dir := t.TempDir()
	child := start(t, "umask", dir)
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("a file of mode 0666 got mode %o, want 0600", got)
	}
}
