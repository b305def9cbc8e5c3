package hook

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"ambry.dev/ambry/internal/home"
)

// BreakerFile is the name of the file that is there while, and a while after, the
// service does not answer.
const BreakerFile = "breaker.json"

// How the breaker trips: after so many failures in a row the service is left
// alone, each time for longer. A service that was restarted is asked again.
const (
	tripsAfter = 3
	firstRest  = 30 * time.Second
	longRest   = 10 * time.Minute
)

// breaker remembers, across calls, that the service is there and does not
// answer: then an agent must not wait for it again and again. Calls at the same
// time may miss each other's failures; that costs one wait more.
type breaker struct {
	dir string
	now time.Time

	Instance string    `json:"instance"` // of the service that failed
	Failures int       `json:"failures"`
	Until    time.Time `json:"until,omitzero"`
}

func (b *breaker) path() string { return filepath.Join(b.dir, BreakerFile) }

// closed reports whether the service may be asked.
func (b *breaker) closed(instance string) bool {
	data, err := os.ReadFile(b.path())
	if err != nil || json.Unmarshal(data, b) != nil || b.Instance != instance || b.Until.After(b.now.Add(longRest)) {
		b.Failures, b.Until = 0, time.Time{}
	}
	return !b.now.Before(b.Until)
}

// failed counts a failure.
func (b *breaker) failed(instance string) {
	b.Instance = instance
	b.Failures++
	if over := b.Failures - tripsAfter; over >= 0 {
		b.Until = b.now.Add(min(firstRest<<min(over, 10), longRest))
	}
	if data, err := json.Marshal(b); err == nil {
		_ = home.WriteFile(b.path(), data, 0o600) // then it is not remembered
	}
}

// worked forgets what failed before.
func (b *breaker) worked() {
	if b.Failures > 0 {
		os.Remove(b.path())
	}
}
