package skill

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"ambry.dev/ambry/internal/home"
)

// syncDir puts the name of a file on the disk.
func syncDir(file string) error { return home.SyncDir(filepath.Dir(file)) }

// replace renames temp to real as [exchange] would, and puts what was there at
// temp, so that the caller can see what it took away.
func replace(temp, real string) error {
	old, err := os.ReadFile(real)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, real); err != nil {
		return err
	}
	return os.WriteFile(temp, old, 0o600)
}

// link gives a file a name that no other file has, and takes its own away.
func link(temp, real string) error {
	err := os.Link(temp, real)
	if err == nil {
		return os.Remove(temp)
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := os.Lstat(real); !errors.Is(err, fs.ErrNotExist) { // no links on this file system
		return fs.ErrExist
	}
	return os.Rename(temp, real)
}
