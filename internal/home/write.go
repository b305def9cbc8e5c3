package home

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// tempSuffix marks the files of writes that have not come to their end.
const tempSuffix = ".ambry-tmp"

// WriteFile gives the file at path the content data and the permissions mode.
// Whoever reads it, now or after a crash or a power loss, finds the old content
// or the new one, never a part. When it returns without an error the content is
// on the disk. A link stays a link: what it points to is written. Writers of
// the same file do not harm each other; the last one wins.
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	temp, err := writeTemp(path, data, mode)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := replace(temp, path); err != nil {
		return fmt.Errorf("write %s: %w", path, dropTemp(temp, err))
	}
	if err := SyncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// writeTemp puts data into a new file beside path, for good.
func writeTemp(path string, data []byte, mode fs.FileMode) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*"+tempSuffix)
	if err != nil {
		return "", err
	}
	err = fill(f, data, mode)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return "", dropTemp(f.Name(), err)
	}
	return f.Name(), nil
}

func fill(f *os.File, data []byte, mode fs.FileMode) error {
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != int64(len(data)) {
		return fmt.Errorf("%d of %d bytes were written", info.Size(), len(data))
	}
	return nil
}

// SyncFile puts on the disk what others have written into the file at path, such
// as a database that made a copy of itself. It is opened for writing, without
// which Windows refuses.
func SyncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	return errors.Join(f.Sync(), f.Close())
}

// CopyFile writes what is in the file from into the file to, which only its person
// can read then, and puts it on the disk.
func CopyFile(from, to string) error {
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
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

func dropTemp(temp string, cause error) error {
	if err := os.Remove(temp); err != nil {
		return fmt.Errorf("%w (and %w)", cause, err)
	}
	return cause
}

// RemoveTemps removes what interrupted calls of [WriteFile] left in dir. Call
// it while nobody writes there: at the start, holding the lock.
func RemoveTemps(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("clean %s: %w", dir, err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), tempSuffix) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("clean %s: %w", dir, err)
		}
	}
	return nil
}
