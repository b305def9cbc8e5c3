package home_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ambry.dev/ambry/internal/home"
)

func TestAcquireIgnoresWhatTheFileSays(t *testing.T) {
	for name, left := range map[string]string{
		"nothing":        "",
		"a dead pid":     "4194303\n",
		"a foreign pid":  fmt.Sprintln(os.Getppid()),
		"our own pid":    fmt.Sprintln(os.Getpid()),
		"garbage":        "\x00\xff not a pid",
		"a runtime file": `{"pid":1,"baseUrl":"http://127.0.0.1:1"}`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ambry.lock")
			if err := os.WriteFile(path, []byte(left), 0o600); err != nil {
				t.Fatal(err)
			}
			release(t, acquire(t, path))
		})
	}
}

func TestOneHolderAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ambry.lock")
	var holders, held atomic.Int32
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			l, err := home.Acquire(path)
			if errors.Is(err, home.ErrLocked) {
				return
			}
			if err != nil {
				t.Error(err)
				return
			}
			if n := holders.Add(1); n != 1 {
				t.Errorf("%d hold the lock", n)
			}
			held.Add(1)
			holders.Add(-1)
			release(t, l)
		})
	}
	wg.Wait()
	if held.Load() == 0 {
		t.Error("nobody got the lock")
	}
}

func TestLockEndsWithItsProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ambry.lock")
	holder := command(t, "holder", path)
	if _, err := holder.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the holder says %q, %v", line, err)
	}
	if _, err := home.Acquire(path); !errors.Is(err, home.ErrLocked) {
		t.Fatalf("got %v, want ErrLocked", err)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := home.AcquireWithin(short, path); !errors.Is(err, home.ErrLocked) {
		t.Fatalf("got %v, want ErrLocked", err)
	}

	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	long, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l, err := home.AcquireWithin(long, path)
	if err != nil {
		t.Fatal(err)
	}
	release(t, l)
	_ = holder.Wait()
}

func TestReleaseTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ambry.lock")
	l := acquire(t, path)
	release(t, l)
	second := acquire(t, path)
	release(t, l)
	if _, err := home.Acquire(path); !errors.Is(err, home.ErrLocked) {
		t.Errorf("releasing twice took the lock from its next holder: %v", err)
	}
	release(t, second)
}

func acquire(t *testing.T, path string) *home.Lock {
	t.Helper()
	l, err := home.Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func release(t *testing.T, l *home.Lock) {
	t.Helper()
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}
