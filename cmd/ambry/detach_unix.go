//go:build unix

package main

import "syscall"

// detached makes a child the leader of a session of its own: closing the
// terminal or pressing Ctrl-C ends us, not the child.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
