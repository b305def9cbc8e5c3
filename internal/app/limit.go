package app

import (
	"context"
	"log/slog"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// How much memory our processes take before they look for garbage. By itself the
// collector waits until there is as much garbage as there is in use, and what a
// scan needed for a while is kept for long.
const (
	serviceMemory = 32 << 20
	runtimeMemory = 76 << 20
	besideVectors = 48 << 20    // of the runtime, when its vectors take much
	limitFirst    = time.Second // after the start, when vectors are loaded; then less and less often
	limitEvery    = time.Minute
)

// limitMemory sets the limit that it is told, now, in the end every minute and
// whenever it may have changed, and returns what stops that. A person who has set
// GOMEMLIMIT knows better.
func limitMemory(ctx context.Context, o Options, log *slog.Logger, limit func() int64, changed <-chan struct{}) (stop func()) {
	if o.Getenv != nil && o.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	return start(ctx, "limit memory", log, func(ctx context.Context) error {
		for pause := limitFirst; ctx.Err() == nil; {
			debug.SetMemoryLimit(limit())
			select {
			case <-ctx.Done():
			case <-changed:
			case <-time.After(pause):
				pause = min(2*pause, limitEvery)
			}
		}
		return nil
	})
}

// memoryLimit of the service leaves room for as much garbage as there is in use
// when that is more than usual, as with thousands of listeners.
func (s *service) memoryLimit() int64 { return max(serviceMemory, 2*inUse()) }

// memoryLimit of the runtime keeps garbage small beside the vectors and the texts
// that are held, but lets it grow with them: what a question needs for a while does
// so, too. Whatever is in use, there is room for half as much garbage: with a limit
// below that the collector does nothing but look for it. The built-in model's table
// is given back here.
func (r *memoryHost) memoryLimit() int64 {
	if r.rest != nil {
		r.rest()
	}
	var n int64
	if r.meaning != nil {
		n = r.meaning.Bytes()
	}
	held := r.store.Held()
	used := inUse()
	return max(max(runtimeMemory, besideVectors+n+n/2)+held+held/2, used+used/2)
}

// inUse is what the collector found in use when it last looked, and the stacks.
func inUse() int64 {
	used := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(used)
	return int64(used[0].Value.Uint64() + used[1].Value.Uint64())
}
