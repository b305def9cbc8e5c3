package main

import "os"

// alive reports whether there is a process with this id.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = p.Release()
	return pid > 0
}

// outliveReader does nothing: writing to somebody who has gone is an error here.
func outliveReader() {}
