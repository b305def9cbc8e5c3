//go:build faults && linux

package faults

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ambry.dev/ambry"
)

// The clock of the day of a whole machine cannot be moved for one process: time
// namespaces leave it alone, and Go does not ask the C library. So the program is
// built with another time.Now, which adds what stands in a file that it maps;
// all of the program is as it is otherwise. Timers go on as they do: it is the
// clock that is wrong, as when a person sets it. For a day that goes by quickly,
// what waits ten minutes or longer waits that much less, too.
const otherClock = `package time

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

var other = func() *[2]int64 {
	path, _ := syscall.Getenv("LC_AMBRY_CLOCK") // LC_ is passed on to the runtime
	fd, err := syscall.Open(path, syscall.O_RDONLY, 0)
	if err != nil {
		panic("no clock: " + path)
	}
	page, err := syscall.Mmap(fd, 0, 4096, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic("no clock: " + path)
	}
	return (*[2]int64)(unsafe.Pointer(&page[0]))
}()

func otherWait(d int64) int64 {
	if other != nil && d >= int64(10*Minute) {
		d /= max(atomic.LoadInt64(&other[1]), 1)
	}
	return d
}

func otherNow() (sec int64, nsec int32, mono int64) {
	sec, nsec, mono = runtimeNow()
	if other != nil {
		ahead := atomic.LoadInt64(&other[0])
		ns := int64(nsec) + ahead%1e9
		sec += ahead/1e9 + ns/1e9
		if ns %= 1e9; ns < 0 {
			sec, ns = sec-1, ns+1e9
		}
		nsec = int32(ns)
	}
	return sec, nsec, mono
}
`

// movable builds the program with that clock, once.
var movable = sync.OnceValues(func() (string, error) {
	dir := filepath.Dir(ambryPath)
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	// A toolchain that go itself has fetched stands where nothing may be replaced.
	linked := filepath.Join(dir, "goroot")
	if err := os.Symlink(strings.TrimSpace(string(root)), linked); err != nil {
		return "", err
	}
	std := filepath.Join(linked, "src", "time")
	files := map[string]string{"other.go": otherClock}
	for _, change := range [][3]string{
		{"time.go", "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n", "func Now() Time {\n\tsec, nsec, mono := otherNow()\n"},
		{"sleep.go", "\tt := runtimeNano() + int64(d)\n", "\tt := runtimeNano() + otherWait(int64(d))\n"},
	} {
		source, err := os.ReadFile(filepath.Join(std, change[0]))
		if err != nil {
			return "", err
		}
		files[change[0]] = strings.Replace(string(source), change[1], change[2], 1)
		if files[change[0]] == string(source) {
			return "", fmt.Errorf("%s of this Go is another one; it has no %q", change[0], change[1])
		}
	}
	replace := map[string]string{}
	for name, source := range files {
		path := filepath.Join(dir, name+".txt")
		if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
			return "", err
		}
		replace[filepath.Join(std, name)] = path
	}
	overlay, _ := json.Marshal(map[string]any{"Replace": replace})
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o644); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "movable")
	build := exec.Command(filepath.Join(linked, "bin", "go"), "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", path, "ambry.dev/ambry/cmd/ambry")
	build.Env = append(os.Environ(), "GOROOT="+linked, "GOTOOLCHAIN=local")
	out, err := build.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
})

// clock is the clock of a program that was built so.
type clock struct{ page []byte }

// startMovable starts the service with a clock of its own and an environment. What
// waits ten minutes or longer waits less by the factor quick.
func startMovable(t *testing.T, home string, quick int, env ...string) (*service, *clock) {
	t.Helper()
	path, err := movable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "clock")
	if err := os.WriteFile(name, binary.NativeEndian.AppendUint64(make([]byte, 8), uint64(quick)), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(4096); err != nil {
		t.Fatal(err)
	}
	page, err := syscall.Mmap(int(f.Fd()), 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(page) })
	// The wrapper is the service that start knows.
	wrapper := filepath.Join(filepath.Dir(name), "ambry")
	script := "#!/bin/sh\n"
	for _, e := range append(env, "LC_AMBRY_CLOCK="+name) {
		script += "export " + e + "\n"
	}
	if err := os.WriteFile(wrapper, []byte(script+"exec "+path+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return start(t, wrapper, home), &clock{page}
}

// ahead is how far the clock goes ahead of the real one. It is one word, which
// the others read at once.
func (c *clock) ahead(d time.Duration) { binary.NativeEndian.PutUint64(c.page, uint64(d)) }

// person is the home directory of who runs a service.
func (s *service) person() string { return strings.TrimPrefix(s.cmd.Env[0], "HOME=") }

// history is a session of an agent that goes on.
type history struct {
	path string
	n    int
}

// say adds a turn, of a time of its own, and returns a word that only it has.
func (h *history) say(t *testing.T, at time.Time) string {
	t.Helper()
	h.n++
	word := fmt.Sprintf("gauge%dx", h.n)
	text := ""
	for i, who := range []string{"user", "assistant"} {
		line, _ := json.Marshal(map[string]any{
			"type": who, "sessionId": "5e551011-0000-4000-8000-00000000c10c", "uuid": fmt.Sprintf("5e551011-0000-4000-8000-%06d%06d", h.n, i),
			"cwd": "/srv/canal", "timestamp": at.UTC().Format("2006-01-02T15:04:05.000Z"),
			"message": map[string]any{"role": who, "content": fmt.Sprintf("what does %s show? (%d)", word, i)},
		})
		text += string(line) + "\n"
	}
	if err := os.MkdirAll(filepath.Dir(h.path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	return word
}

// scanned has a service read what is new in the histories.
func scanned(t *testing.T, s *service) {
	t.Helper()
	started, err := s.Scan(t.Context(), ambry.ScanRequest{Mode: ambry.Incremental})
	if err != nil {
		t.Fatalf("scan: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := s.WaitScan(ctx, started.JobID, func(ambry.ScanProgress) {}); err != nil {
		t.Fatalf("scan: %v", err)
	}
}

// TestClock sets the clock of the service and its runtime while they run: an hour
// back, ten years on, to 1970, over changes to and from summer time, over a leap
// second, to times that do not fit into 32 bits. Each time what is
// said then is read once, notes are taken, all is found, and nothing spins.
func TestClock(t *testing.T) {
	home := filepath.Join(t.TempDir(), "ambry")
	s, c := startMovable(t, home, 1, "TZ=Europe/Berlin")
	allowed := ambry.PermissionScan
	if _, err := s.PatchOnboarding(t.Context(), ambry.OnboardingPatch{ScanPermission: &allowed}); err != nil {
		t.Fatal(err)
	}
	h := &history{path: filepath.Join(s.person(), ".claude", "projects", "-srv-canal", "5e551011-0000-4000-8000-00000000c10c.jsonl")}
	words, l := []string{}, &ledger{notes: map[string]string{}}
	to := func(at string) time.Duration {
		then, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		return time.Until(then)
	}
	for _, jump := range []struct {
		what  string
		ahead time.Duration
	}{
		{"as it is", 0},
		{"an hour back", -time.Hour},
		{"ten years on", 10 * 365 * 24 * time.Hour},
		{"back again", 0},
		{"1970", to("1970-01-01T00:00:00Z")},
		{"before 1970", to("1969-07-20T20:17:40Z")},
		{"a second before summer time", to("2027-03-28T00:59:59Z")},
		{"a second before winter time", to("2027-10-31T00:59:59Z")},
		{"the hour that comes twice", to("2027-10-31T01:30:00Z")},
		{"a leap second", to("2016-12-31T23:59:59Z")},
		{"29 February", to("2028-02-29T23:59:58Z")},
		{"no 32 bits", to("2038-01-19T03:14:06Z")},
		{"no 33 bits since 1885", to("2157-03-16T00:00:00Z")},
		{"2262, the end of nanoseconds", to("2262-04-11T00:00:00Z")},
		{"as it was", 0},
	} {
		c.ahead(jump.ahead)
		words = append(words, h.say(t, time.Now().Add(jump.ahead)))
		scanned(t, s)
		content := "what the keeper noted, " + jump.what + ": " + strings.Repeat("the lock holds. ", 5)
		m, err := s.Add(t.Context(), ambry.Note{Content: content}, jump.what)
		if err != nil {
			t.Fatalf("%s: add: %v", jump.what, err)
		}
		l.notes[m.ID] = content
		if again, err := s.Add(t.Context(), ambry.Note{Content: content}, jump.what); err != nil || again.ID != m.ID {
			t.Errorf("%s: the same key made %v, %v", jump.what, again.ID, err)
		}
		if n := missing(t, s, l.notes); n > 0 {
			t.Errorf("%s: %d of %d notes are lost", jump.what, n, len(l.notes))
		}
		for _, w := range words {
			a, err := s.Search(t.Context(), ambry.Query{Query: w})
			if err != nil || len(a.Hits) != 1 {
				t.Errorf("%s: %s is found %d times, %v", jump.what, w, len(a.Hits), err)
			}
		}
		b, err := s.Bootstrap(t.Context())
		if err != nil || b.Health.Memory != ambry.HealthOK {
			t.Errorf("%s: bootstrap: %+v, %v", jump.what, b.Health, err)
		}
		var page any
		for _, name := range []string{"items", "analysis"} {
			if err := s.Panel(t.Context(), name, &page); err != nil {
				t.Errorf("%s: the panel's %s: %v", jump.what, name, err)
			}
		}
		if _, err := s.Overview(t.Context()); err != nil {
			t.Errorf("%s: overview: %v", jump.what, err)
		}
	}
	before := usageOf(s.cmd.Process.Pid).cpu + usageOf(s.runtime()).cpu
	began := time.Now()
	time.Sleep(3 * time.Second) // what is measured
	if spent := usageOf(s.cmd.Process.Pid).cpu + usageOf(s.runtime()).cpu - before; spent > time.Since(began)/5 {
		t.Errorf("it does nothing with %v of CPU in %v", spent, time.Since(began))
	}
	o, err := s.Overview(t.Context())
	if err != nil || o.Counts.Turns != int64(len(words)) {
		t.Errorf("there are %d turns of %d, %v", o.Counts.Turns, len(words), err)
	}
	s.stop()
	sound(t, home)
}

// TestSimulatedDay is a day in two minutes, or thirty hours in half an hour: the
// clock and all long waits go faster, 20 notes and 5 searches come each second, what an agent says is read
// every few minutes of that clock, settings change, and the runtime is killed
// twice. In the end everything is there once, and there are backups: one of each day
// at least, since files have the times of the clock that was not moved.
func TestSimulatedDay(t *testing.T) {
	lasts, fast := time.Duration(times(120, 1800))*time.Second, 720
	if times(0, 1) == 1 {
		fast = 60
	}
	home := filepath.Join(t.TempDir(), "ambry")
	s, c := startMovable(t, home, fast)
	allowed := ambry.PermissionScan
	if _, err := s.PatchOnboarding(t.Context(), ambry.OnboardingPatch{ScanPermission: &allowed}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), lasts)
	defer stop()
	began := time.Now()
	var work sync.WaitGroup
	often := func(every time.Duration, do func(n int)) {
		work.Go(func() {
			tick := time.NewTicker(every)
			defer tick.Stop()
			for n := 0; ; n++ {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
					do(n)
				}
			}
		})
	}
	often(10*time.Millisecond, func(int) { c.ahead(time.Since(began) * time.Duration(fast-1)) })
	l := &ledger{notes: map[string]string{}}
	often(50*time.Millisecond, func(n int) {
		content := fmt.Sprintf("at tick %d the keeper of lock %d wrote this down", n, n%50)
		m, err := s.Add(ctx, ambry.Note{Content: content}, fmt.Sprintf("tick-%d", n))
		if err != nil { // the runtime may be away
			return
		}
		l.mu.Lock()
		l.notes[m.ID] = content
		l.mu.Unlock()
	})
	searches := &load{service: s}
	often(200*time.Millisecond, func(n int) {
		at := time.Now()
		a, err := s.Search(ctx, ambry.Query{Query: fmt.Sprintf("keeper of lock %d", n%50)})
		switch kind := ambry.KindOf(err); {
		case ctx.Err() != nil:
		case err == nil:
			searches.asked.Add(1)
			searches.mu.Lock()
			searches.took = append(searches.took, time.Since(at))
			searches.mu.Unlock()
			if n > 500 && len(a.Hits) == 0 {
				searches.wrong.Add(1)
			}
		case kind != ambry.MemoryUnavailable && kind != ambry.UpstreamFailed && kind != ambry.MemoryTimeout:
			searches.wrong.Add(1)
			searches.last.Store(err.Error())
		}
	})
	often(time.Second, func(n int) {
		theme := []string{"light", "dark"}[n%2]
		_, _ = s.PatchSettings(ctx, ambry.AppSettingsPatch{Theme: &theme})
	})
	h := &history{path: filepath.Join(s.person(), ".claude", "projects", "-srv-canal", "5e551011-0000-4000-8000-00000000c10c.jsonl")}
	var words []string
	often(5*time.Second, func(int) {
		words = append(words, h.say(t, began.Add(time.Since(began)*time.Duration(fast))))
		_, _ = s.Scan(ctx, ambry.ScanRequest{Mode: ambry.Incremental}) // one may be running
	})
	often(lasts/3, func(int) { s.killRuntime() })
	time.Sleep(lasts / 10)
	early, first := usageOf(s.cmd.Process.Pid), searches.latencies()
	<-ctx.Done()
	work.Wait()
	last := searches.latencies()

	until(t, "the memory answers", func() bool {
		_, err := s.MemoryHealth(t.Context())
		return err == nil
	})
	scanned(t, s)
	for _, w := range words {
		a, err := s.Search(t.Context(), ambry.Query{Query: w})
		if err != nil || len(a.Hits) != 1 {
			t.Errorf("%s is found %d times, %v", w, len(a.Hits), err)
		}
	}
	if n := missing(t, s, l.notes); n > 0 {
		t.Errorf("%d of %d notes are lost", n, len(l.notes))
	}
	if n := searches.wrong.Load(); n > 0 {
		t.Errorf("%d searches were wrong, the last: %v", n, searches.last.Load())
	}
	late := usageOf(s.cmd.Process.Pid)
	steady(t, "service", early, late)
	if wal, err := os.Stat(filepath.Join(home, "memory.db-wal")); err == nil && wal.Size() > 64<<20 {
		t.Errorf("the log has %d bytes", wal.Size())
	}
	backups, _ := filepath.Glob(filepath.Join(home, "backups", "memory-2*.db"))
	days := int(lasts * time.Duration(fast) / (24 * time.Hour))
	t.Logf("%d days: %d notes, %d searches (median and p99 %v, then %v), %d turns, %d backups; service: %+v, then %+v",
		days, len(l.notes), searches.asked.Load(), first, last, len(words), len(backups), early, late)
	if len(backups) < min(days, 7) || len(backups) > 7 {
		t.Errorf("there are %d backups after %d days", len(backups), days)
	}
	s.stop()
	sound(t, home)
}
