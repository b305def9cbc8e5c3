package supervise

import (
	"runtime"
	"syscall"
)

// dieWithParent has the kernel kill the child when we are gone, even one that
// hangs and does not see its input end.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// holdThread keeps the caller on its thread until release. To the kernel the
// thread that started a child is its parent, and threads come and go.
func holdThread() (release func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}
