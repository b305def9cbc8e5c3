//go:build linux || darwin

package main

import "golang.org/x/sys/unix"

// freeBytes is the space that is left for this person where dir is.
func freeBytes(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return uint64(s.Bavail) * uint64(s.Bsize), nil
}
