//go:build unix

package e2e

import (
	"errors"
	"os"
	"syscall"
)

func endProcess(pid int) error { return sendSignal(pid, syscall.SIGTERM) }

func killProcess(pid int) error { return sendSignal(pid, syscall.SIGKILL) }

// sendSignal signals a process; one that is gone is well.
func sendSignal(pid int, sig os.Signal) error {
	err := syscall.Kill(pid, sig.(syscall.Signal))
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

var signals = map[string]os.Signal{
	"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL,
}
