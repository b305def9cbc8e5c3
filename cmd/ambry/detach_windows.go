package main

import (
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
