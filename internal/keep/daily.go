package keep

import (
	"context"
	"log/slog"
	"time"

	"ambry.dev/ambry"
)

// When copies of the memory are made unasked.
const (
	dailyEvery = 24 * time.Hour
	dailyFirst = 10 * time.Minute // after the start, which is busy enough
	dailyLook  = time.Hour
)

// Daily has the memory copied once a day, if something changed. Its fields are
// set before Run.
type Daily struct {
	Latest  func() (time.Time, error) // when the newest copy was made, the zero time if there is none
	Changed func() time.Time          // when the memory last changed
	Make    func(ctx context.Context) (ambry.BackupMade, error)
	Now     func() time.Time
	Log     *slog.Logger
}

// Run makes copies until ctx ends. One that fails is tried again later.
func (d Daily) Run(ctx context.Context) {
	timer := time.NewTimer(dailyFirst)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		latest, err := d.Latest()
		if err == nil && Due(latest, d.Changed(), d.Now()) {
			_, err = d.Make(ctx)
		}
		if err != nil && ctx.Err() == nil {
			d.Log.Warn("back up the memory", "err", err)
		}
		timer.Reset(dailyLook)
	}
}

// Due reports whether a copy is due. A newest copy from the future, after the
// clock went wrong, is none.
func Due(latest, changed, now time.Time) bool {
	if latest.After(now) {
		return true
	}
	return now.Sub(latest) >= dailyEvery && changed.After(latest)
}
