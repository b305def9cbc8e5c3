//go:build unix

package app

import "syscall"

// endProcess asks a process to end in order.
func endProcess(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) }
