//go:build unix

package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Umask makes every file that this process creates from now on its person's
// alone.
func Umask() { syscall.Umask(0o077) }

// private reports what makes dir a place where another person could change our
// files.
func private(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory; move it away or set %s", dir, Variable)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user (uid %d, ours is %d); run it as that user or set %s",
			dir, stat.Uid, os.Geteuid(), Variable)
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("other users can write in %s (mode %#o); run: chmod 700 '%s'", dir, mode, dir)
	}
	return nil
}

func replace(temp, path string) error { return os.Rename(temp, path) }

// SyncDir puts the names in dir on the disk: what was created, renamed or
// removed there stays so after a power loss.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	// Some file systems cannot sync a directory, and say so with EINVAL or ENOTSUP.
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return &fs.PathError{Op: "sync", Path: dir, Err: err}
	}
	return nil
}

// Alive reports whether there is a process with this id.
func Alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return pid > 0 && (err == nil || errors.Is(err, syscall.EPERM))
}
