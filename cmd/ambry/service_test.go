package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ambry.dev/ambry/client"
)

func TestWaitForStart(t *testing.T) {
	// launches are services that exit with these errors, and then one that goes on.
	launches := func(ends ...error) func() (<-chan error, error) {
		return func() (<-chan error, error) {
			c := make(chan error, 1)
			if len(ends) > 0 {
				c <- ends[0]
				ends = ends[1:]
			}
			return c, nil
		}
	}
	why := func() error { return errors.New("the reason") }
	t.Run("it answers", func(t *testing.T) {
		c, err := waitForStart(t.Context(), fakeService(t, nil).home, launches(), why)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	})
	t.Run("others have the home until the third is launched", func(t *testing.T) {
		s := fakeService(t, nil)
		path := filepath.Join(s.home, "runtime.json")
		if err := os.Rename(path, path+".late"); err != nil {
			t.Fatal(err)
		}
		launch, launched := launches(nil, nil), 0
		c, err := waitForStart(t.Context(), s.home, func() (<-chan error, error) {
			if launched++; launched == 3 {
				_ = os.Rename(path+".late", path)
			}
			return launch()
		}, why)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	})
	t.Run("it cannot be launched", func(t *testing.T) {
		failed := errors.New("no such program")
		_, err := waitForStart(t.Context(), t.TempDir(), func() (<-chan error, error) { return nil, failed }, why)
		if !errors.Is(err, failed) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("it failed", func(t *testing.T) {
		_, err := waitForStart(t.Context(), t.TempDir(), launches(errors.New("exit status 1")), why)
		if err == nil || err.Error() != "the reason" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("it is slow", func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, errSlowStart)
		defer cancel()
		_, err := waitForStart(ctx, t.TempDir(), launches(), why)
		if !errors.Is(err, errSlowStart) || len(describe(err).Hints) == 0 {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the person stops", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := waitForStart(ctx, t.TempDir(), launches(), why); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestRefusalRepeatsWhatTheServiceSaid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "serve.log")
	if err := os.WriteFile(path, []byte("ambry: an earlier start\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, begin, err := openStartLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := refusal(f, begin).Error(); !strings.Contains(got, "as soon as it was started") {
		t.Errorf("got %q", got)
	}
	if _, err := f.WriteString("ambry: config.yaml:3: unknown key\nconfig.yaml:4: no\nhint: mend it\n"); err != nil {
		t.Fatal(err)
	}
	got := describe(refusal(f, begin))
	if got.Message != "the service does not start: config.yaml:3: unknown key\nconfig.yaml:4: no" || len(got.Hints) != 1 || got.Hints[0] != "mend it" {
		t.Errorf("got %+v", got)
	}
}

func TestRefusalIsNotACrashReport(t *testing.T) {
	f, begin, err := openStartLog(filepath.Join(t.TempDir(), "serve.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("panic: a table of ours is wrong\n" + strings.Repeat("goroutine 1\n", 50)); err != nil {
		t.Fatal(err)
	}
	got := describe(refusal(f, begin))
	if !strings.HasSuffix(got.Message, "panic: a table of ours is wrong") || len(got.Hints) != 1 || !strings.Contains(got.Hints[0], "serve.log") {
		t.Errorf("got %+v", got)
	}
}

func TestTheStartLogStaysSmall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "serve.log")
	if err := os.WriteFile(path, make([]byte, maxStartLog+1), 0o600); err != nil {
		t.Fatal(err)
	}
	f, begin, err := openStartLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != 0 || begin != 0 {
		t.Errorf("got %d bytes, begin %d, %v", info.Size(), begin, err)
	}
}

func TestErrorsHaveHints(t *testing.T) {
	if got := describe(client.ErrNotRunning); len(got.Hints) != 1 || !strings.Contains(got.Hints[0], "ambry serve") {
		t.Errorf("got %+v", got)
	}
}
