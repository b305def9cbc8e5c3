//go:build unix && !linux

package supervise

import "syscall"

// dieWithParent does nothing where the kernel offers nothing: there a child
// notices the end of its input.
func dieWithParent(*syscall.SysProcAttr) {}
