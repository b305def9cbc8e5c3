//go:build unix

package redact_test

import (
	"syscall"
	"time"
)

// cpuTime is the time that this process has had of a processor. Other programs
// make a search seem slow, but do not add to it.
func cpuTime() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		panic(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
