//go:build faults && linux

package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ambry.dev/ambry"
)

// TestSoak has a service do everything at once for a long time: adds, searches,
// pages of the panel, settings that change, a runtime that is killed now and
// then. In the end it takes no more of anything than at the beginning, and finds
// as fast. AMBRY_SOAK says how long that is, such as 10m; see also make load.
func TestSoak(t *testing.T) {
	lasts := time.Duration(times(60, 3600)) * time.Second
	if d, err := time.ParseDuration(os.Getenv("AMBRY_SOAK")); err == nil {
		lasts = d
	}
	fresh := goroutinesOfBoth(t, start(t, ambryPath, filepath.Join(t.TempDir(), "ambry")))
	s := start(t, ambryPath, filepath.Join(t.TempDir(), "ambry"))
	ctx, stop := context.WithTimeout(t.Context(), lasts)
	defer stop()
	load := &load{service: s}
	var workers sync.WaitGroup
	for w := range loadWorkers {
		workers.Go(func() { load.run(ctx, w) })
	}
	workers.Go(func() { // in the first half: then the runtime has to last, too
		half := time.After(lasts / 2)
		for tick := time.NewTicker(lasts / 6); ; {
			select {
			case <-half:
				tick.Stop()
				return
			case <-tick.C:
				s.killRuntime()
			}
		}
	})
	time.Sleep(lasts / 10)
	early := usageOf(s.cmd.Process.Pid)
	first := load.latencies()
	time.Sleep(lasts / 2)
	runtime := 0
	until(t, "the runtime is there again", func() bool { runtime = s.runtime(); return runtime != 0 })
	earlyRuntime := usageOf(runtime)
	asked, cpu := load.asked.Load(), [3]time.Duration{ownCPU(), usageOf(s.cmd.Process.Pid).cpu, earlyRuntime.cpu}
	<-ctx.Done()
	workers.Wait()
	last := load.latencies()
	if n := time.Duration(load.asked.Load() - asked); n > 0 {
		t.Logf("CPU of a request in the end: %v asking, %v service, %v runtime", ((ownCPU() - cpu[0]) / n).Round(time.Microsecond),
			((usageOf(s.cmd.Process.Pid).cpu - cpu[1]) / n).Round(time.Microsecond), ((usageOf(runtime).cpu - cpu[2]) / n).Round(time.Microsecond))
	}
	time.Sleep(6 * time.Second) // connections that were kept are closed
	late, lateRuntime := usageOf(s.cmd.Process.Pid), usageOf(runtime)
	if s.runtime() != runtime {
		t.Errorf("the runtime ended by itself: it was %d and is %d", runtime, s.runtime())
	}
	t.Logf("%d requests in %v, %d refused while the runtime was away", load.asked.Load(), lasts, load.refused.Load())
	t.Logf("service: %+v, then %+v; runtime: %+v, then %+v", early, late, earlyRuntime, lateRuntime)
	t.Logf("search p50, p99: %v, then %v", first, last)
	steady(t, "service", early, late)
	steady(t, "runtime", earlyRuntime, lateRuntime)
	if rate := float64(load.asked.Load()) / lasts.Seconds(); rate < 100 {
		t.Errorf("only %.0f requests a second: that is no load", rate)
	}
	if wal, err := os.Stat(filepath.Join(s.home, "memory.db-wal")); err == nil && wal.Size() > 64<<20 {
		t.Errorf("the log has %d bytes", wal.Size())
	}
	if n := load.wrong.Load(); n > 0 {
		t.Errorf("%d answers were wrong, the last: %v", n, load.last.Load())
	}
	left := goroutinesOfBoth(t, s)
	for i, who := range []string{"service", "runtime"} {
		if left[i] > fresh[i]+30 {
			t.Errorf("of the %d goroutines of the %s some never ended; it begins with %d", left[i], who, fresh[i])
		}
	}
	s.kill()
	sound(t, s.home)
	t.Logf("IN ALL: %v at %.0f requests a second, %d wrong, %d refused. Growth of the service: %s, %+d goroutines; of the runtime since it was killed last: %s, %+d goroutines",
		lasts, float64(load.asked.Load())/lasts.Seconds(), load.wrong.Load(), load.refused.Load(),
		growth(early, late), left[0]-fresh[0], growth(earlyRuntime, lateRuntime), left[1]-fresh[1])
}

// growth says how much more of everything a process has.
func growth(early, late usage) string {
	return fmt.Sprintf("%+d files, %+d threads, %+.1f MB", late.files-early.files, late.threads-early.threads, float64(late.rss-early.rss)/1e6)
}

// ownCPU is what this process, which asks, has used.
func ownCPU() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// goroutinesOfBoth ends a service and its runtime, and returns how many goroutines
// each had.
func goroutinesOfBoth(t *testing.T, s *service) [2]int {
	t.Helper()
	runtime := s.runtime()
	ofRuntime := goroutines(t, s, runtime)
	return [2]int{goroutines(t, s, s.cmd.Process.Pid), ofRuntime}
}

// goroutines ends a process with SIGQUIT, at which Go tells of all that it does.
func goroutines(t *testing.T, s *service, pid int) int {
	t.Helper()
	before := len(s.said.String())
	_ = syscall.Kill(pid, syscall.SIGQUIT)
	if pid == s.cmd.Process.Pid {
		_ = s.cmd.Wait() // it did not end well
	}
	until(t, "the process has ended", func() bool { return syscall.Kill(pid, 0) != nil })
	n := strings.Count(s.said.String()[before:], "\ngoroutine ")
	if n == 0 {
		t.Error("it says nothing of its goroutines")
	}
	return n
}

// steady checks that a process has no more of anything than before. Go gives a
// stuck goroutine of ours that waits for the system a thread, and one that waits
// for a peer a connection.
func steady(t *testing.T, who string, early, late usage) {
	t.Helper()
	if late.files > early.files+10 || late.threads > early.threads+10 {
		t.Errorf("the %s holds on to things: %+v, then %+v", who, early, late)
	}
	if late.rss > early.rss*3/2+16<<20 {
		t.Errorf("the %s grows: %+v, then %+v", who, early, late)
	}
}

// load is mixed traffic, 500 requests a second of workers if the machine has room
// for that. Who is late asks the next at once.
type load struct {
	*service
	asked, refused, wrong atomic.Int64
	last                  atomic.Value

	mu   sync.Mutex // guards took
	took []time.Duration
}

const loadRate, loadWorkers = 500, 16

func (l *load) run(ctx context.Context, worker int) {
	random := rand.New(rand.NewPCG(uint64(worker), 3))
	next := time.NewTimer(0)
	for i, due := 0, time.Now(); ; i++ {
		due = due.Add(loadWorkers * time.Second / loadRate)
		next.Reset(time.Until(due))
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		l.asked.Add(1)
		err := l.one(ctx, random, fmt.Sprintf("%d-%d", worker, i))
		switch kind := ambry.KindOf(err); {
		case err == nil || ctx.Err() != nil:
		case kind == ambry.MemoryUnavailable || kind == ambry.UpstreamFailed || kind == ambry.MemoryTimeout:
			l.refused.Add(1)
		default:
			l.wrong.Add(1)
			l.last.Store(err.Error())
		}
	}
}

func (l *load) one(ctx context.Context, random *rand.Rand, name string) (err error) {
	words := []string{"lock", "canal", "ferry", "tide", "gauge", "harbour", "pilot", "buoy"}
	word := func() string { return words[random.IntN(len(words))] }
	switch n := random.IntN(100); {
	case n < 5:
		_, err = l.Add(ctx, ambry.Note{Content: fmt.Sprintf("%s: the %s of the %s at the %s", name, word(), word(), word())}, name)
	case n < 40:
		began := time.Now()
		_, err = l.Search(ctx, ambry.Query{Query: word() + " " + word()})
		if err == nil {
			l.mu.Lock()
			l.took = append(l.took, time.Since(began))
			l.mu.Unlock()
		}
	case n < 50:
		_, err = l.Overview(ctx)
	case n < 60:
		err = l.Panel(ctx, "items", nil)
	case n < 62:
		theme := []string{"light", "dark"}[random.IntN(2)]
		_, err = l.PatchSettings(ctx, ambry.AppSettingsPatch{Theme: &theme})
	default:
		_, err = l.Bootstrap(ctx)
	}
	return err
}

// latencies returns the median and the 99th percentile of the searches since the
// last call.
func (l *load) latencies() [2]time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.took) == 0 {
		return [2]time.Duration{}
	}
	slices.Sort(l.took)
	out := [2]time.Duration{l.took[len(l.took)/2], l.took[len(l.took)*99/100]}
	l.took = nil
	return out
}
