package supervise_test

import (
	"syscall"
	"testing"
)

// Only the kernel can end a child that hangs when its parent is gone.
func TestHungChildDiesWithItsKilledParent(t *testing.T) {
	gone(t, orphan(t, "deaf", func(pid int) { signal(t, pid, syscall.SIGSTOP) }))
}
