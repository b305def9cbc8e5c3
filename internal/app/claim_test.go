package app

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/home"
)

// TestStartRightAfterAKill starts a service beside a lock that is still held for a
// while, as that of a killed service is, whose runtime.json is there and which
// answers no more.
func TestStartRightAfterAKill(t *testing.T) {
	dir := t.TempDir()
	h, err := home.Open(filepath.Join(dir, ".ambry"))
	if err != nil {
		t.Fatal(err)
	}
	killed := serveIn(t, dir, memoryAt(t, "127.0.0.1").URL)
	left, err := os.ReadFile(h.RuntimeFile())
	if err != nil {
		t.Fatal(err)
	}
	killed.stop()
	if err := os.WriteFile(filepath.Join(h.Dir(), ambry.RuntimeFileName), left, 0o600); err != nil {
		t.Fatal(err)
	}
	lock, err := home.Acquire(h.Lock())
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(otherAnswers/4, func() {
		if err := lock.Release(); err != nil {
			t.Error(err)
		}
	})
	next := serveIn(t, dir, memoryAt(t, "127.0.0.1").URL)
	if next.file.PID == 0 || next.file.BaseURL == killed.file.BaseURL {
		t.Errorf("got %+v", next.file)
	}
}
