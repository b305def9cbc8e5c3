package app

import (
	"log/slog"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

// TestTheLimitOfMemoryFollowsWhatIsHeld has much change at once, which must be heard
// at once and must not make the looks at everything else rarer.
func TestTheLimitOfMemoryFollowsWhatIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, changed := time.Now(), make(chan struct{})
		var at []time.Duration
		limit := func() int64 {
			at = append(at, time.Since(began))
			return debug.SetMemoryLimit(-1) // as it is
		}
		stop := limitMemory(t.Context(), Options{}, slog.New(slog.DiscardHandler), limit, changed)
		time.Sleep(limitFirst / 2)
		for range 10 {
			changed <- struct{}{}
		}
		synctest.Wait()
		if n := len(at); n != 11 || at[n-1] != limitFirst/2 {
			t.Errorf("after ten changes it looked at %v", at)
		}
		time.Sleep(limitFirst)
		synctest.Wait()
		if n := len(at); n != 12 {
			t.Errorf("a second later it looked at %v", at)
		}
		stop()
	})
}
