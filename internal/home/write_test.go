package home_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"ambry.dev/ambry/internal/home"
)

// Windows syncs what was opened for writing alone: backups failed there.
func TestAFileThatAnotherWroteIsSynced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := home.SyncFile(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: got %v, want that said", err)
	}
	if err := os.WriteFile(path, []byte("whole"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := home.SyncFile(path); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); got != "whole" {
		t.Errorf("got %q, want what the other wrote", got)
	}
}

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runtime.json")
	for _, want := range []string{"first", "", "a longer second one"} {
		if err := home.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := read(t, path); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := home.WriteFile(path, nil, 0o640); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o640 {
		t.Errorf("got mode %o, want 640", got)
	}
	alone(t, path)
}

func TestWriteFileKeepsALink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "dotfiles"), filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(target, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Skipf("this system has no links for us: %v", err)
	}
	if err := home.WriteFile(link, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := read(t, target); got != "new" {
		t.Errorf("the target says %q, want new", got)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link became %v, %v", info.Mode(), err)
	}
}

func TestWriteFileFailsWithoutATrace(t *testing.T) {
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(taken, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := home.WriteFile(taken, []byte("x"), 0o600); err == nil {
		t.Error("replaced a directory by a file")
	}
	alone(t, taken)
	if err := home.WriteFile(filepath.Join(dir, "absent", "file"), nil, 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want an error about the directory", err)
	}
}

func TestReadersNeverSeeAPart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := home.WriteFile(path, content(0), 0o600); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					whole(t, path)
				}
			}
		})
	}
	writes := 1000
	if testing.Short() {
		writes = 100
	}
	for i := range writes {
		if err := home.WriteFile(path, content(i), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	readers.Wait()
}

func TestKilledWriterLeavesAWholeFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := home.WriteFile(path, content(0), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		writer := start(t, "writer", path)
		await(t, func() bool { return len(names(t, dir)) > 1 })
		time.Sleep(time.Duration(i) * 700 * time.Microsecond) // another place in the write each time
		if err := writer.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = writer.Wait()
		whole(t, path)
		if err := home.RemoveTemps(dir); err != nil {
			t.Fatal(err)
		}
		alone(t, path)
	}
}

func TestRemoveTempsTakesOnlyItsOwn(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"config.yaml", "notes.tmp", ".config.yaml.1.ambry-tmp"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "dir.ambry-tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := home.RemoveTemps(dir); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(names(t, dir), " "), "config.yaml dir.ambry-tmp notes.tmp"; got != want {
		t.Errorf("left %q, want %q", got, want)
	}
}

func whole(t *testing.T, path string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return
	}
	if len(got) != 64<<10 || !bytes.Equal(got, bytes.Repeat(got[:1], len(got))) {
		t.Errorf("read a part: %d bytes", len(got))
	}
}

// alone checks that nothing stands beside the file.
func alone(t *testing.T, path string) {
	t.Helper()
	if got := names(t, filepath.Dir(path)); len(got) != 1 {
		t.Errorf("the directory holds %q, want %s alone", got, filepath.Base(path))
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func read(t *testing.T, path string) string {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

func await(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited a minute in vain")
		}
	}
}
