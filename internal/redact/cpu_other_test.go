//go:build !unix

package redact_test

import "time"

var started = time.Now()

// cpuTime is the time since the start, for want of a better one.
func cpuTime() time.Duration { return time.Since(started) }
