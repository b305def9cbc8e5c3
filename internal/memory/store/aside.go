package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ambry.dev/ambry/internal/memory/index"
)

// emptyIndex makes an index without files. What is in its way and cannot be removed, as
// on a disk that is damaged, is put aside: all of an index can be made anew.
func (s *Store) emptyIndex(c index.Config) (*index.Index, error) {
	x, err := freshIndex(c)
	if err == nil {
		return x, nil
	}
	aside, failed := putAside(c.Dir)
	if failed != nil {
		return nil, errors.Join(err, failed)
	}
	s.log.Warn("the directory of the text index is put aside", "path", aside, "err", err)
	return freshIndex(c)
}

func freshIndex(c index.Config) (*index.Index, error) {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the text index: %w", err)
	}
	x, err := index.Open(c, nil, nil)
	if err != nil {
		return nil, err
	}
	return x, x.Tidy()
}

// asideMark begins the end of the names of what was put aside, of which there may be
// maxAside.
const (
	asideMark = ".damaged-"
	maxAside  = 100
)

// putAside gives a path another name, which it returns.
func putAside(path string) (to string, err error) {
	for n := range maxAside {
		to = fmt.Sprintf("%s%s%d", path, asideMark, n+1)
		if _, err = os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err = os.Rename(path, to); err != nil {
		return "", fmt.Errorf("put the directory of the text index aside: %w", err)
	}
	return to, nil
}

// removeAside removes what was put aside, now or at a start before, as far as the disk
// lets it.
func (s *Store) removeAside() {
	for _, aside := range Aside(s.path) {
		if err := os.RemoveAll(aside); err != nil {
			s.log.Warn("a damaged text index stays; check the disk, then remove it", "path", aside, "err", err)
		}
	}
}

// Aside returns what is left of damaged text indexes of a memory: what the disk did not
// let go of.
func Aside(path string) (left []string) {
	dir, name := filepath.Split(indexDir(path))
	entries, _ := os.ReadDir(dir) // what cannot be listed cannot be removed either
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), name+asideMark) {
			left = append(left, filepath.Join(dir, e.Name()))
		}
	}
	return left
}
