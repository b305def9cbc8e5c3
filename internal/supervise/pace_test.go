package supervise

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestCrashLoopKeepsItsPace(t *testing.T) {
	for name, life := range map[string]func() time.Duration{
		"dies at once":        func() time.Duration { return 0 },
		"dies soon":           func() time.Duration { return time.Duration(rand.IntN(5000)) * time.Millisecond },
		"hangs in its start":  func() time.Duration { return 15 * time.Second },
		"dies now and then":   func() time.Duration { return time.Duration(rand.IntN(120)) * time.Second },
		"dies every half min": func() time.Duration { return 33 * time.Second },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPace(Timing{}.withDefaults(), rand.Float64)
			now := time.Now()
			var starts []time.Time
			for n := range 2000 {
				wait := p.next(now, n)
				if n > 0 && wait < 500*time.Millisecond || wait > 34*time.Second {
					t.Fatalf("start %d waits %v", n, wait)
				}
				now = now.Add(wait)
				starts = append(starts, now)
				now = now.Add(life())
			}
			for i := 10; i < len(starts); i++ {
				if d := starts[i].Sub(starts[i-10]); d < 5*time.Minute {
					t.Fatalf("eleven starts in %v", d)
				}
			}
		})
	}
}

func TestQuietChildIsBackAtOnceTwice(t *testing.T) {
	p := newPace(Timing{}.withDefaults(), func() float64 { return 0 })
	now := time.Now()
	if wait := p.next(now, 0); wait != 0 {
		t.Errorf("the first start waits %v", wait)
	}
	now = now.Add(time.Hour)
	for n := 1; n <= 2; n++ {
		if wait := p.next(now, n); wait != 500*time.Millisecond {
			t.Errorf("restart %d waits %v, want 0.5 s", n, wait)
		}
	}
}
