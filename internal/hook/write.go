package hook

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"ambry.dev/ambry/internal/home"
)

// tempSuffix is what the names of files end in that are being written. They begin
// with the id of the process that writes them, so that what a dead one left can be
// told from what a living one is about to need.
const tempSuffix = ".ambry-tmp"

// writes numbers the files that this process writes.
var writes atomic.Int64

// write makes the file at path, or gives it another content, whole: nobody sees a
// part. Before it has its name, finish is called.
func write(path string, data []byte, finish func(*os.File) error) error {
	temp := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%d.%d%s", os.Getpid(), writes.Add(1), tempSuffix))
	err := writeAs(temp, path, data, finish)
	if errors.Is(err, fs.ErrNotExist) { // our id means nothing where the service is, which took us for dead
		err = writeAs(temp, path, data, finish)
	}
	return err
}

func writeAs(temp, path string, data []byte, finish func(*os.File) error) error {
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) // one that is there is of a dead process with our id
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = finish(f)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		os.Remove(temp)
	}
	return err
}

// tidy removes the files of a kind that nobody came back for, and those that were
// being written by processes that have ended.
func tidy(dir, suffix, prefix string, age time.Duration) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // none there
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if unfinished(e.Name()) || strings.HasSuffix(e.Name(), suffix) && strings.HasPrefix(e.Name(), prefix) && old(path, age) {
			os.Remove(path)
		}
	}
}

// unfinished reports whether a file was being written by a process that has ended.
func unfinished(name string) bool {
	name, temp := strings.CutSuffix(name, tempSuffix)
	if !temp {
		return false
	}
	digits, _, _ := strings.Cut(strings.TrimPrefix(name, "."), ".")
	pid, err := strconv.Atoi(digits)
	return err == nil && !home.Alive(pid)
}

func old(path string, age time.Duration) bool {
	info, err := os.Stat(path)
	return err == nil && time.Since(info.ModTime()) > age
}
