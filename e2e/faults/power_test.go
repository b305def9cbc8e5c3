//go:build faults && linux

package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestPowerCut takes the power away while notes are written: the disk is a file on
// another disk, which is frozen at a random moment, and what is in that file then is all
// that is left. Everything that was acknowledged before must be there. A program that does
// not wait for the disk must lose some, or the test sees nothing.
func TestPowerCut(t *testing.T) {
	needDisks(t)
	lost, written := cuts(t, ambryPath, times(20, 200))
	t.Logf("%d notes were acknowledged, %d lost", written, lost)
	if lost > 0 {
		t.Errorf("%d of %d acknowledged notes are lost", lost, written)
	}
	if lost, written = cuts(t, carelessPath, 3); lost == 0 {
		t.Errorf("of %d notes that were not waited for none is lost: this test sees nothing", written)
	}
}

func cuts(t *testing.T, binary string, rounds int) (lost, written int) {
	t.Helper()
	for i := range rounds {
		t.Run(fmt.Sprintf("cut %d", i), func(t *testing.T) { // what it mounts is gone in the end
			l, w := cut(t, binary, i)
			lost, written = lost+l, written+w
		})
	}
	return lost, written
}

// cut is one power cut.
func cut(t *testing.T, binary string, round int) (lost, written int) {
	t.Helper()
	dir := t.TempDir()
	outer := mount(t, newDisk(t, filepath.Join(dir, "outer"), 192), filepath.Join(dir, "around"))
	disk, left := newDisk(t, filepath.Join(outer, "disk"), 128), filepath.Join(dir, "left")
	mounted := mount(t, disk, filepath.Join(dir, "mounted"))
	s := start(t, binary, filepath.Join(mounted, "ambry"))

	l := &ledger{notes: map[string]string{}}
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() { _ = l.write(ctx, s, fmt.Sprintf("round %d writer %d", round, w)) })
	}
	random := rand.New(rand.NewPCG(7, uint64(round)))
	time.Sleep(200*time.Millisecond + time.Duration(random.IntN(1500))*time.Millisecond) // the moment is what is varied
	notes := l.seen()
	thaw := freeze(t, outer)
	command(t, "cp", "--sparse=always", disk, left)
	thaw()
	stop()
	s.kill()
	writers.Wait()
	command(t, "umount", "-l", mounted)

	home := filepath.Join(mount(t, left, filepath.Join(dir, "after")), "ambry")
	again := start(t, ambryPath, home)
	lost = missing(t, again, notes)
	again.stop()
	sound(t, home)
	return lost, len(notes)
}

// newDisk makes a file that is a disk of some MiB, and returns its path.
func newDisk(t *testing.T, path string, mib int64) string {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(mib << 20); err != nil {
		t.Fatal(err)
	}
	command(t, "mkfs.ext4", "-q", path)
	return path
}

// freeze has nothing written to what is mounted there any more, not even by the kernel:
// who wants to waits. While a file is copied of which the kernel still writes parts, the
// copy is of no moment that ever was.
func freeze(t *testing.T, mounted string) (thaw func()) {
	t.Helper()
	command(t, "fsfreeze", "--freeze", mounted)
	thaw = sync.OnceFunc(func() { command(t, "fsfreeze", "--unfreeze", mounted) })
	t.Cleanup(thaw)
	return thaw
}

// mount mounts a disk that is a file.
func mount(t *testing.T, disk, at string) string {
	t.Helper()
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	command(t, "mount", "-o", "loop", disk, at)
	t.Cleanup(func() { _ = syscall.Unmount(at, syscall.MNT_DETACH) })
	return at
}
