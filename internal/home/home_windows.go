package home

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// Umask does nothing: on Windows a new file has the access list of its
// directory, and the profile of a person is theirs alone.
func Umask() {}

func private(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory; move it away or set %s", dir, Variable)
	}
	return nil
}

// replaceTries and replacePause bound the wait for readers to let go of a file
// that is to be replaced: about two seconds.
const (
	replaceTries = 100
	replacePause = 20 * time.Millisecond
)

// replace renames temp to path. Windows refuses that while somebody, such as a
// virus scanner, has path open.
func replace(temp, path string) error {
	for try := 1; ; try++ {
		err := os.Rename(temp, path)
		busy := errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
		if !busy || try == replaceTries {
			return err
		}
		time.Sleep(replacePause)
	}
}

// SyncDir does nothing: Windows writes the names of a directory by itself.
func SyncDir(string) error { return nil }

// Alive reports whether there is a process with this id.
func Alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = p.Release()
	return pid > 0
}
