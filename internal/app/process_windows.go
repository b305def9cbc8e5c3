package app

import "os"

// endProcess ends a process. Windows has no way to ask one without a window;
// what it had acknowledged is on the disk.
func endProcess(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}
