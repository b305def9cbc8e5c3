package keep_test

import (
	"context"
	"errors"
	"log/slog"
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
		d := keep.Daily{
			Latest:  func() (time.Time, error) { return latest, nil },
			Changed: func() time.Time { return changed },
			Make: func(context.Context) (ambry.BackupMade, error) {
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
			if made != n {
				t.Errorf("%s: %d copies, want %d", when, made, n)
			}
		}
		changed = time.Now()
		time.Sleep(time.Hour)
		want(1, "in the first hour")
		time.Sleep(72 * time.Hour)
		want(1, "while nothing changes")
		changed = time.Now()
		time.Sleep(2 * time.Hour)
		want(2, "after a change")
		changed = time.Now()
		time.Sleep(10 * time.Hour)
		want(2, "on the same day")
		fail = true
		time.Sleep(24 * time.Hour)
		want(2, "without room")
		fail = false
		time.Sleep(2 * time.Hour)
		want(3, "when there is room again")
		changed, latest = time.Now(), time.Now().Add(1000*time.Hour)
		time.Sleep(2 * time.Hour)
		want(4, "after the clock was wrong")
		stop()
		<-done
	})
}
