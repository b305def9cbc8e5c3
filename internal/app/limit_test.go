package app

import (
	"log/slog"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ambry.dev/ambry/internal/memory/store"
)

// TestTheLimitOfMemoryFollowsWhatIsHeld has much change at once, which must be heard
// at once and must not make the looks at everything else rarer.
func TestTheLimitOfMemoryFollowsWhatIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, changed := time.Now(), make(chan struct{})
		var mu sync.Mutex // guards at
		var at []time.Duration
		limit := func() int64 {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, time.Since(began))
			return debug.SetMemoryLimit(-1) // as it is
		}
		stop := limitMemory(t.Context(), Options{}, slog.New(slog.DiscardHandler), limit, changed)
		time.Sleep(limitFirst / 2)
		for range 10 {
			changed <- struct{}{}
		}
		synctest.Wait()
		mu.Lock()
		if n := len(at); n != 11 || at[n-1] != limitFirst/2 {
			t.Errorf("after ten changes it looked at %v", at)
		}
		mu.Unlock()
		time.Sleep(limitFirst)
		synctest.Wait()
		stop()
		if n := len(at); n != 12 {
			t.Errorf("a second later it looked at %v", at)
		}
	})
}

// TestTheLimitOfMemoryIsAboveWhatIsInUse was missing when what was in use of a million
// memories came up to the limit: the collector took more than half a core.
func TestTheLimitOfMemoryIsAboveWhatIsInUse(t *testing.T) {
	s, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "memory.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := &memoryHost{store: s}
	before := r.memoryLimit()
	used := make([]byte, 2*runtimeMemory)
	runtime.GC()
	if got, want := r.memoryLimit(), int64(len(used))*3/2; before >= want || got < want {
		t.Errorf("the limit was %d, and with %d bytes in use it is %d", before, len(used), got)
	}
	runtime.KeepAlive(used)
}
