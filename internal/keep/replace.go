package keep

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"ambry.dev/ambry/internal/home"
)

// Replace puts a copy of a memory, which somebody has looked through, in the
// place of the one that is there. What was there goes to the directory "damaged"
// under a name of its own, which is returned, "" if nothing was there. Nobody may
// have the memory open: the caller holds its lock. Killed at any point, the
// memory is the old one or, once [EndReplace] was called, the new one, and
// nothing of the old one is lost.
func Replace(h home.Home, from string, now time.Time) (aside string, err error) {
	return ReplaceBy(h, now, func(to string) error {
		if err := copyFile(from, to); err != nil {
			return fmt.Errorf("copy the backup: %w", err)
		}
		return nil
	})
}

// ReplaceBy is Replace by a file that write makes, whole and on the disk.
func ReplaceBy(h home.Home, now time.Time, write func(to string) error) (aside string, err error) {
	if _, err := EndReplace(h); err != nil {
		return "", err
	}
	part := partOfMemory(h)
	err = write(part)
	if err == nil {
		err = os.Chtimes(part, now, now) // what was there is named after it
	}
	if err != nil {
		if gone := os.Remove(part); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
		return "", err
	}
	// From here on it is decided.
	if err := os.Rename(part, decided(h)); err != nil {
		return "", fmt.Errorf("keep the copy of the backup: %w", err)
	}
	if err := home.SyncDir(h.Dir()); err != nil {
		return "", err
	}
	return EndReplace(h)
}

func partOfMemory(h home.Home) string { return h.MemoryDB() + ".part" }

// decided is a whole copy that is to be the memory.
func decided(h home.Home) string { return h.MemoryDB() + ".restored" }

// EndReplace ends a [Replace] that was broken off; if none was, it does nothing.
// Call it before the memory is opened, with its lock. Each step can be done again.
func EndReplace(h home.Home) (aside string, err error) {
	if err := os.Remove(partOfMemory(h)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("remove half a copy: %w", err)
	}
	info, err := os.Stat(decided(h))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look for a backup that is to be the memory: %w", err)
	}
	dir := filepath.Join(h.Dir(), "damaged")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make room for what is there: %w", err)
	}
	to := filepath.Join(dir, "memory-"+info.ModTime().UTC().Format("20060102T150405.000")+".db")
	if aside, err = putAside(h.MemoryDB(), to); err != nil {
		return "", err
	}
	// A log must not stay beside a database that it does not belong to.
	for _, suffix := range []string{"-wal", "-shm"} {
		err := os.Rename(h.MemoryDB()+suffix, to+suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("move the log aside: %w", err)
		}
	}
	if err := home.SyncDir(dir); err != nil {
		return "", err
	}
	if err := os.Rename(decided(h), h.MemoryDB()); err != nil {
		return "", fmt.Errorf("put the backup in place: %w", err)
	}
	return aside, home.SyncDir(h.Dir())
}

// putAside gives a file a second name, so that it is never without one.
func putAside(file, to string) (string, error) {
	err := os.Link(file, to)
	switch {
	case err == nil:
		return to, nil
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case errors.Is(err, fs.ErrExist):
		if one, err := os.Stat(file); err == nil {
			if other, err := os.Stat(to); err == nil && os.SameFile(one, other) {
				return to, nil // before it was broken off
			}
		}
	}
	if err := copyFile(file, to); err != nil { // a file system without links
		return "", fmt.Errorf("keep what is there: %w", err)
	}
	return to, nil
}

// copyFile makes a copy that is on the disk when it returns.
func copyFile(from, to string) error {
	err := home.CopyFile(from, to)
	switch {
	case err == nil:
		return writing(home.SyncDir(filepath.Dir(to)))
	case errors.Is(err, syscall.ENOSPC):
		return writing(err)
	}
	return err
}
