package keep

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// An export has its name once it is whole. Until then it is a hidden file, or
// folder, beside it.
const partSuffix = ".ambry-part"

func partOf(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+partSuffix)
}

// partLife is how long what looks like half an export is left alone in
// directories that are not ours: another service may be writing it.
const partLife = time.Hour

// sweepParts removes what exports that were broken off have left in a directory,
// if nothing was written to it for a while.
func (k *Keeper) sweepParts(dir string, life time.Duration) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for half an export: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") || !strings.HasSuffix(e.Name(), partSuffix) {
			continue
		}
		if info, err := e.Info(); err != nil || k.Now().Sub(info.ModTime()) < life {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("remove half an export: %w", err)
		}
	}
	return nil
}

// Tidy removes half an export of a service that was killed.
func (k *Keeper) Tidy() error {
	end, err := k.begin()
	if err != nil {
		return nil //nolint:nilerr // what is going on does so itself, if it has to do with it
	}
	defer end()
	return k.sweepParts(k.Home.Exports(), 0)
}

// begun makes room for what is to become path.
func (k *Keeper) begun(path string) (part string, err error) {
	life := partLife
	if filepath.Dir(path) == k.Home.Exports() {
		life = 0 // one export at a time
	}
	if err := k.sweepParts(filepath.Dir(path), life); err != nil {
		return "", err
	}
	part = partOf(path)
	return part, os.RemoveAll(part) // of the same name, and so ours
}

// ended gives what is whole its name, unless something has that already.
func ended(part, path string) error {
	switch err := os.Link(part, path); {
	case err == nil:
		return os.Remove(part)
	case errors.Is(err, fs.ErrExist):
		return err
	}
	// A folder, or a file system without links.
	if _, err := os.Lstat(path); err == nil {
		return fs.ErrExist
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(part, path)
}
