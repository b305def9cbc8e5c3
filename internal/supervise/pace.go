package supervise

import (
	"time"

	"golang.org/x/time/rate"
)

// pace says when the next child may start. Starts are paid from a bucket that
// holds two and gains one per Timing.Pace: after a quiet time a child that ends
// is back at once, and its successor too, but in a crash loop there are at most
// ten starts in any five minutes. No wait is longer than Pace and Jitter
// together, so a child whose trouble is over is back within 35 seconds. (A
// back-off that doubles up to 30 seconds cannot promise both.)
type pace struct {
	starts  *rate.Limiter
	backoff time.Duration
	jitter  time.Duration
	random  func() float64 // in [0,1)
}

const startsInHand = 2

func newPace(t Timing, random func() float64) *pace {
	return &pace{rate.NewLimiter(rate.Every(t.Pace), startsInHand), t.Backoff, t.Jitter, random}
}

// next returns how long to wait from now on until start number n. The first
// start has number 0 and need not wait.
func (p *pace) next(now time.Time, n int) time.Duration {
	wait := p.starts.ReserveN(now, 1).DelayFrom(now)
	if n == 0 {
		return wait
	}
	return max(wait, p.backoff) + time.Duration(p.random()*float64(p.jitter))
}
