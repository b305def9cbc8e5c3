package keep_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/keep"
)

func TestACopyIsMadeOnceADayIfSomethingChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var latest, changed time.Time
		made, fail := 0, false
		var mu sync.Mutex // guards the four
		set := func(f func()) {
			mu.Lock()
			defer mu.Unlock()
			f()
		}
		d := keep.Daily{
			Latest: func() (at time.Time, err error) {
				set(func() { at = latest })
				return at, nil
			},
			Changed: func() (at time.Time) {
				set(func() { at = changed })
				return at
			},
			Make: func(context.Context) (ambry.BackupMade, error) {
				mu.Lock()
				defer mu.Unlock()
				if fail {
					return ambry.BackupMade{}, errors.New("no room")
				}
				made, latest = made+1, time.Now()
				return ambry.BackupMade{}, nil
			},
			Now: time.Now, Log: slog.New(slog.DiscardHandler),
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { d.Run(ctx); close(done) }()
		want := func(n int, when string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if made != n {
				t.Errorf("%s: %d copies, want %d", when, made, n)
			}
		}
		set(func() { changed = time.Now() })
		time.Sleep(time.Hour)
		want(1, "in the first hour")
		time.Sleep(72 * time.Hour)
		want(1, "while nothing changes")
		set(func() { changed = time.Now() })
		time.Sleep(2 * time.Hour)
		want(2, "after a change")
		set(func() { changed = time.Now() })
		time.Sleep(10 * time.Hour)
		want(2, "on the same day")
		set(func() { fail = true })
		time.Sleep(24 * time.Hour)
		want(2, "without room")
		set(func() { fail = false })
		time.Sleep(2 * time.Hour)
		want(3, "when there is room again")
		set(func() { changed, latest = time.Now(), time.Now().Add(1000*time.Hour) })
		time.Sleep(2 * time.Hour)
		want(4, "after the clock was wrong")
		stop()
		<-done
	})
}
