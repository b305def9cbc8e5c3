//go:build linux || darwin

package home

import "golang.org/x/sys/unix"

// Free returns how many bytes are left for this person on the disk that dir is on.
func Free(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return uint64(s.Bavail) * uint64(s.Bsize), nil
}
