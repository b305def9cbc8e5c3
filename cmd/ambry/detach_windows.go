package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// detached makes a child that has no console and no Ctrl-C in common with us.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		HideWindow:    true,
		CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP,
	}
}

// endSignal ends a service: there is no way to ask one that has no window. What it
// acknowledged is on the disk.
var endSignal os.Signal = os.Kill
