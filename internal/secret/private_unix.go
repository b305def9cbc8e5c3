//go:build unix

package secret

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// private reports a key that other users can read.
func private(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("other users can read %s (mode %#o); run: chmod 600 '%s'", path, mode, path)
	}
	return nil
}
