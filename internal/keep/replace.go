package keep

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ambry.dev/ambry/internal/home"
)

// Replace puts a copy of a memory, which somebody has looked through, in the
// place of the one that is there. What was there goes to the directory "damaged"
// under a name of its own, which is returned, "" if nothing was there. Nobody may
// have the memory open: the caller holds its lock. Killed at any point, the
// memory is the old one or the new one, and nothing of the old one is lost.
func Replace(h home.Home, from string, now time.Time) (aside string, err error) {
	part := h.MemoryDB() + ".part"
	if err := copyFile(from, part); err != nil {
		return "", errors.Join(fmt.Errorf("copy the backup: %w", err), os.Remove(part))
	}
	dir := filepath.Join(h.Dir(), "damaged")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make room for what is there: %w", err)
	}
	name := "memory-" + now.UTC().Format("20060102T150405.000")
	if aside, err = putAside(h.MemoryDB(), filepath.Join(dir, name+".db")); err != nil {
		return "", err
	}
	// A log must not stay beside a database that it does not belong to.
	for _, suffix := range []string{"-wal", "-shm"} {
		err := os.Rename(h.MemoryDB()+suffix, filepath.Join(dir, name+".db"+suffix))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("move the log aside: %w", err)
		}
	}
	if err := home.SyncDir(dir); err != nil {
		return "", err
	}
	if err := os.Rename(part, h.MemoryDB()); err != nil {
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
	}
	if err := copyFile(file, to); err != nil { // a file system without links
		return "", fmt.Errorf("keep what is there: %w", err)
	}
	return to, nil
}

// copyFile makes a copy that is on the disk when it returns.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return closeFile(out, err)
}
