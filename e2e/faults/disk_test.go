//go:build faults && linux

package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ambry.dev/ambry"
)

// tmpfs mounts a small disk in memory.
func tmpfs(t *testing.T, mib int) string {
	t.Helper()
	needDisks(t)
	dir := filepath.Join(t.TempDir(), "disk")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	command(t, "mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm", mib), "tmpfs", dir)
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// fill writes a file until the disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size >= 1; size /= 2 {
		for {
			if _, err := f.Write(make([]byte, size)); err != nil {
				break
			}
		}
	}
}

// TestFullDisk fills the disk at different moments. What cannot be written is
// refused with a code, reading goes on, and when there is room again writing does.
// The disks are so large that the log of the database does not fill one by itself, not
// even beside a database that all of it was copied to: then there would be nothing to
// remove, and no room for a service to start in.
func TestFullDisk(t *testing.T) {
	for i := range times(6, 200) {
		mib := []int{40, 48, 64}[i%3]
		disk := tmpfs(t, mib)
		s := start(t, ambryPath, filepath.Join(disk, "ambry"))
		l := &ledger{notes: map[string]string{}}
		ctx, stop := context.WithTimeout(t.Context(), time.Duration(50+i*37%400)*time.Millisecond)
		_ = l.write(ctx, s, "before")
		stop()
		filler := filepath.Join(disk, "filler")
		fill(t, filler)
		kinds := refusals(t, s, l)
		if kinds[ambry.StorageFull]+kinds[ambry.MemoryUnavailable] == 0 {
			t.Errorf("round %d: a full disk refuses nothing: %v", i, kinds)
		}
		for kind, n := range kinds {
			if kind != ambry.StorageFull && kind != ambry.MemoryUnavailable {
				t.Errorf("round %d: a full disk answers %s %d times", i, kind, n)
			}
		}
		if n := missing(t, s, l.seen()); n > 0 {
			t.Errorf("round %d: %d notes cannot be read on a full disk", i, n)
		}
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		until(t, "it writes again", func() bool {
			_, err := s.Add(t.Context(), ambry.Note{Content: "there is room again"}, "")
			return err == nil
		})
		s.stop()
		again := start(t, ambryPath, s.home)
		if n := missing(t, again, l.seen()); n > 0 {
			t.Errorf("round %d: %d acknowledged notes are lost", i, n)
		}
		again.stop()
		sound(t, s.home)
		command(t, "umount", "-l", disk)
	}
}

// refusals writes large notes until forty are refused, and counts with what: the log
// of the database has room of its own, which is used first.
func refusals(t *testing.T, s *service, l *ledger) map[ambry.Kind]int {
	t.Helper()
	kinds := map[ambry.Kind]int{}
	random := rand.New(rand.NewPCG(7, 1)) // what is said twice would be packed small, and find room
	for i, refused := 0, 0; refused < 40 && i < 1000; i++ {
		var large strings.Builder
		for large.Len() < 64<<10 {
			fmt.Fprintf(&large, "%016x ", random.Uint64())
		}
		content := fmt.Sprintf("large note number %d: %s", i, large.String())
		m, err := s.Add(t.Context(), ambry.Note{Content: content}, "")
		if err != nil {
			kinds[ambry.KindOf(err)]++
			refused++
			continue
		}
		l.mu.Lock()
		l.notes[m.ID] = content
		l.mu.Unlock()
	}
	return kinds
}

// TestFullDiskCostsNothing leaves a disk full for a while: a service that cannot
// write does not try all the time. (A disk cannot be made read-only while files
// on it are open for writing, so that is not tried.)
func TestFullDiskCostsNothing(t *testing.T) {
	disk := tmpfs(t, 64)
	s := start(t, ambryPath, filepath.Join(disk, "ambry"))
	l := &ledger{notes: map[string]string{}}
	ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	_ = l.write(ctx, s, "before")
	stop()
	fill(t, filepath.Join(disk, "filler"))
	if kinds := refusals(t, s, l); kinds[ambry.StorageFull]+kinds[ambry.MemoryUnavailable] == 0 {
		t.Errorf("a full disk refuses nothing: %v", kinds)
	}
	const watched, mostWindows, most = 5 * time.Second, 10, 5 * time.Second / 20
	cpu := func() time.Duration { return usageOf(s.runtime()).cpu + usageOf(s.cmd.Process.Pid).cpu }
	var used []time.Duration
	for quiet := 0; quiet < 3; { // at first it learns from what had room
		if len(used) == mostWindows {
			t.Fatalf("it used %v, each in %v, while nothing could be written", used, watched)
		}
		before := cpu()
		time.Sleep(watched)
		used = append(used, cpu()-before)
		if quiet++; used[len(used)-1] > most {
			quiet = 0
		}
	}
	if n := missing(t, s, l.seen()); n > 0 {
		t.Errorf("%d notes cannot be read", n)
	}
}

// failing has the kernel answer EIO to calls of the runtime until it is ended.
func failing(t *testing.T, s *service, calls string) (end func()) {
	t.Helper()
	inject := exec.Command("strace", "-f", "-qq", "-o", os.DevNull, "-e", "trace="+calls, "-e", "inject="+calls+":error=EIO",
		"-p", strconv.Itoa(s.runtime()))
	if err := inject.Start(); err != nil {
		t.Fatal(err)
	}
	return func() {
		_ = inject.Process.Signal(os.Interrupt)
		_ = inject.Wait()
	}
}

// TestDiskGivesNothing has the kernel answer EIO to whatever the runtime reads for a
// while. It says so, and once the disk is well again all is there and found: neither the
// memory nor its text index are taken for damaged.
func TestDiskGivesNothing(t *testing.T) {
	needStrace(t)
	s := start(t, ambryPath, filepath.Join(t.TempDir(), "ambry"))
	const many = 200 // so many are in a file of the index
	notes := gauges(t, s, many)
	s.stop()
	s = start(t, ambryPath, s.home)
	files := func() []string {
		names, err := filepath.Glob(filepath.Join(s.home, "memory.index", "*"))
		if err != nil || len(names) == 0 {
			t.Fatalf("the files of the index are %v, %v", names, err)
		}
		return names
	}
	before, refused := files(), 0
	end := failing(t, s, "pread64")
	for n := range 100 {
		_, err := s.Search(t.Context(), ambry.Query{Query: fmt.Sprintf("g%dx", n)})
		if kind := ambry.KindOf(err); kind == ambry.MemoryUnavailable {
			refused++
		} else if err != nil {
			t.Errorf("a search while nothing can be read: %v", err)
		}
	}
	if _, err := s.Bootstrap(t.Context()); err != nil {
		t.Errorf("the service does not answer while the disk fails: %v", err)
	}
	end()
	if refused == 0 {
		t.Error("no search was refused: this test sees nothing")
	}
	if n := missing(t, s, notes); n > 0 {
		t.Errorf("%d notes are lost", n)
	}
	found(t, s, many)
	if now := files(); !slices.Equal(now, before) {
		t.Errorf("the files of the index were %v and are %v", before, now)
	}
	t.Logf("%d of 100 searches were refused", refused)
	s.stop()
	sound(t, s.home)
}

// TestDiskErrors has the kernel answer EIO to every fsync of the runtime for a
// while. Nothing may be acknowledged meanwhile that is not there afterwards.
func TestDiskErrors(t *testing.T) {
	needStrace(t)
	for i := range times(3, 30) {
		home := filepath.Join(t.TempDir(), "ambry")
		s := start(t, ambryPath, home)
		l := &ledger{notes: map[string]string{}}
		ctx, stop := context.WithCancel(t.Context())
		var writers sync.WaitGroup
		for w := range 2 {
			writers.Go(func() { _ = l.write(ctx, s, fmt.Sprintf("round %d writer %d", i, w)) })
		}
		time.Sleep(200 * time.Millisecond)
		end := failing(t, s, "fsync,fdatasync")
		time.Sleep(1500 * time.Millisecond)
		if _, err := s.Bootstrap(t.Context()); err != nil {
			t.Errorf("round %d: the service does not answer while the disk fails: %v", i, err)
		}
		end()
		until(t, "it writes again", func() bool {
			_, err := s.Add(t.Context(), ambry.Note{Content: "the disk is well again"}, "")
			return err == nil
		})
		stop()
		writers.Wait()
		s.kill()
		again := start(t, ambryPath, home)
		if n := missing(t, again, l.seen()); n > 0 {
			t.Errorf("round %d: %d of %d acknowledged notes are lost", i, n, len(l.seen()))
		}
		again.stop()
		sound(t, home)
	}
}

// TestReadOnlyDisk starts on a disk that nothing can be written to. It is told
// why, nothing changes, and once the disk takes writes all is there.
func TestReadOnlyDisk(t *testing.T) {
	disk := tmpfs(t, 32)
	s := start(t, ambryPath, filepath.Join(disk, "ambry"))
	l := &ledger{notes: map[string]string{}}
	ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	_ = l.write(ctx, s, "before")
	stop()
	s.stop()
	command(t, "mount", "-o", "remount,ro", disk)
	again, ok := tryLaunch(t, s.home)
	if ok {
		again.kill()
		t.Error("it starts where it cannot write")
	}
	if said := again.said.String(); !strings.Contains(said, "read-only") {
		t.Errorf("the reason is %q", said)
	}
	command(t, "mount", "-o", "remount,rw", disk)
	well := start(t, ambryPath, s.home)
	if n := missing(t, well, l.seen()); n > 0 || len(l.seen()) == 0 {
		t.Errorf("%d of %d acknowledged notes are lost", n, len(l.seen()))
	}
	well.stop()
	sound(t, s.home)
}
