//go:build unix

package supervise_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/supervise"
)

// suspicious is a config whose children are well until one is said to hang: that
// one is asked, and has little time to answer.
func suspicious() (cfg supervise.Config[answer], hangs *atomic.Int64) {
	cfg, hangs = config("good", hello{Token: "t"}), &atomic.Int64{}
	cfg.Timing.ProbeTimeout = 100 * time.Millisecond
	cfg.Probe = func(ctx context.Context, a answer) error {
		if int64(a.PID) != hangs.Load() {
			return nil
		}
		return greet(ctx, a.Addr, "t")
	}
	return cfg, hangs
}

func TestHungChildIsReplaced(t *testing.T) {
	cfg, hangs := suspicious()
	r := run(t, cfg)
	first := r.ok()
	signal(t, first.PID, syscall.SIGSTOP)
	hangs.Store(int64(first.PID))
	s := r.until(ambry.HealthUnavailable)
	if _, ok := r.Current(); ok {
		t.Error("a child that hangs is still offered")
	}
	t.Log(s.Reason)
	if second := r.ok(); second.PID == first.PID {
		t.Error("it is still the same child")
	}
	reaped(t, first.PID)
}

func TestHungChildThatWakesUpIsKept(t *testing.T) {
	cfg, hangs := suspicious()
	ask, asked, awake := cfg.Probe, 0, make(chan struct{})
	cfg.Probe = func(ctx context.Context, a answer) error {
		if hangs.Load() != 0 {
			asked++
		}
		if asked > 2 { // it is unavailable, and may wake up
			<-awake
			ctx = context.WithoutCancel(ctx)
		}
		return ask(ctx, a)
	}
	r := run(t, cfg)
	first := r.ok()
	signal(t, first.PID, syscall.SIGSTOP)
	hangs.Store(int64(first.PID))
	r.until(ambry.HealthUnavailable)
	signal(t, first.PID, syscall.SIGCONT)
	close(awake)
	if second := r.ok(); second.PID != first.PID {
		t.Error("it was replaced")
	}
}

func TestEndedChildIsReaped(t *testing.T) {
	r := run(t, config("good", hello{Token: "t"}))
	first := r.ok()
	signal(t, first.PID, syscall.SIGKILL)
	second := r.ok()
	reaped(t, first.PID)
	r.stop()
	reaped(t, second.PID)
}

func TestOrphanNoticesTheEndOfItsInput(t *testing.T) {
	cmd := exec.Command(os.Args[0], "role:plain parent")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	signal(t, cmd.Process.Pid, syscall.SIGKILL)
	// The child has the other end of the pipe: it closes when both are gone.
	if _, err := out.Read(make([]byte, 1)); err == nil {
		t.Errorf("after %q came more", line)
	}
	_ = cmd.Wait()
}

// orphan starts a parent with a child, kills the parent, and returns the
// address and process of the child.
func orphan(t *testing.T, role string, before func(pid int)) (addr string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "role:parent", role)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(out, &addr, &pid); err != nil {
		t.Fatal(err)
	}
	before(pid)
	signal(t, cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Wait()
	return addr
}

func TestChildDiesWithItsKilledParent(t *testing.T) {
	gone(t, orphan(t, "good", func(int) {}))
}

func signal(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatal(err)
	}
}

// reaped checks that no process and no zombie has the number.
func reaped(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is still there: %v", pid, err)
	}
}
