//go:build !windows

package main

import (
	"errors"
	"os/signal"
	"syscall"
)

// alive reports whether there is a process with this id.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return pid > 0 && (err == nil || errors.Is(err, syscall.EPERM))
}

// outliveReader makes writing to somebody who has gone an error, not our end.
func outliveReader() { signal.Ignore(syscall.SIGPIPE) }
