//go:build unix && !linux

package e2e

import "syscall"

func dead(pid int) bool { return syscall.Kill(pid, 0) != nil }
