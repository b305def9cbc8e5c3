package skill

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Who empties a file and writes it only later, on a busy machine, does not lose
// what is written then.
func TestAFileThatIsBeingWrittenIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	writer, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
	change := func() error {
		was, err := read(path, path)
		if err != nil {
			t.Fatal(err)
		}
		return file{snapshot: was, after: []byte("ours")}.write(false)
	}
	if err := change(); !errors.Is(err, errChanged) {
		t.Errorf("got %v", err)
	}
	if _, err := writer.WriteString("theirs"); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "theirs" {
		t.Errorf("got %q, %v", got, err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := change(); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "ours" {
		t.Errorf("got %q, %v", got, err)
	}
}
