package e2e

import (
	"os"

	"golang.org/x/sys/windows"
)

func endProcess(pid int) error { return killProcess(pid) }

func killProcess(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return nil // gone
	}
	return p.Kill()
}

func sendSignal(pid int, _ os.Signal) error { return killProcess(pid) }

func dead(pid int) bool {
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return true
	}
	defer windows.CloseHandle(h)
	state, err := windows.WaitForSingleObject(h, 0)
	return err == nil && state == windows.WAIT_OBJECT_0
}

var signals = map[string]os.Signal{"KILL": os.Kill}
