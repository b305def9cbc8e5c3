//go:build unix

package main

import (
	"os"
	"syscall"
)

// detached makes a child the leader of a session of its own: closing the
// terminal or pressing Ctrl-C ends us, not the child.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// endSignal asks a service to end.
var endSignal os.Signal = syscall.SIGTERM
