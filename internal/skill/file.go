package skill

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
)

// maxFile is the size of the largest file that is edited.
const maxFile = 4 << 20

// snapshot is a file as it was when we looked.
type snapshot struct {
	path   string // as the agent calls it
	real   string // where it is, once links are followed
	exists bool
	data   []byte
	mode   fs.FileMode // 0 if it is not there
	time   time.Time   // when it was changed last
}

// look reads a file that may be edited. Everything that speaks against it is a
// conflict.
func (s *Skills) look(path string) (snapshot, error) {
	real, err := resolve(s.Teaching.Home.Dir, path)
	if err != nil {
		return snapshot{}, err
	}
	return read(path, real)
}

func read(path, real string) (snapshot, error) {
	snap := snapshot{path: path, real: real}
	info, err := os.Lstat(real)
	if errors.Is(err, fs.ErrNotExist) {
		return snap, nil
	}
	if err != nil {
		return snap, ambry.Conflict.Errorf("%s cannot be looked at: %w", path, err)
	}
	switch {
	case !info.Mode().IsRegular():
		return snap, ambry.Conflict.Errorf("%s is not a regular file", path)
	case !ownedByUs(info):
		return snap, ambry.Conflict.Errorf("%s belongs to another user", path)
	case info.Size() > maxFile:
		return snap, ambry.Conflict.Errorf("%s is larger than %d MiB", path, maxFile>>20)
	}
	f, err := agent.OpenRegular(real)
	if err != nil {
		return snap, ambry.Conflict.Errorf("%s cannot be read: %w", path, err)
	}
	defer f.Close()
	if snap.data, err = io.ReadAll(io.LimitReader(f, maxFile+1)); err != nil {
		return snap, ambry.Conflict.Errorf("%s cannot be read: %w", path, err)
	}
	snap.exists, snap.mode, snap.time = true, info.Mode(), info.ModTime()
	return snap, nil
}

// resolve follows the links of a path. One that is in the person's home must
// not lead out of it; one that is not, because a variable of the agent says so,
// must have no links.
func resolve(home, path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%s is not absolute", path)
	}
	path = filepath.Clean(path)
	there, rest := path, ""
	for !exists(there) { // also not as a link to nowhere
		there, rest = filepath.Dir(there), filepath.Join(filepath.Base(there), rest)
	}
	real, err := filepath.EvalSymlinks(there)
	if err != nil {
		return "", ambry.Conflict.Errorf("%s is a link to nowhere; remove it, then try again", there)
	}
	if rest != "" {
		if info, err := os.Stat(real); err != nil || !info.IsDir() || !ownedByUs(info) {
			return "", ambry.Conflict.Errorf("%s is not a directory of yours", there)
		}
	}
	if within(home, path) {
		realHome, err := filepath.EvalSymlinks(home)
		if err != nil {
			return "", ambry.Conflict.Errorf("your home directory cannot be looked at: %w", err)
		}
		if !within(realHome, real) {
			return "", ambry.Conflict.Errorf("%s is a link that leads out of your home directory", path)
		}
	} else if real != there {
		return "", ambry.Conflict.Errorf("%s is outside of your home directory and reached over a link", path)
	}
	return filepath.Join(real, rest), nil
}

func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// settling is how long a file has been left alone that nobody is writing.
const settling = 30 * time.Millisecond

// errChanged says that a file is not as it was when it was read.
var errChanged = errors.New("somebody else changed it")

// tempPattern is how the files that we write beside others are called, for
// [os.CreateTemp]; what a crash leaves is found by it.
func tempPattern(real string) string { return "." + filepath.Base(real) + ".*.ambry-tmp" }

// write makes a file what it is to be, if it is as it was read. Whoever reads it
// finds the one or the other. A change by somebody else is not lost: it is
// either seen before, or found when the two files have changed places and put
// back.
//
// A file that was changed a moment ago, or that somebody has open to write it, may
// be only half of what its writer wants it to be. The patient wait until it has
// been left alone; an empty one is never believed at once.
func (f file) write(patient bool) error {
	if f.exists && (patient || len(f.data) == 0) && time.Since(f.time).Abs() < settling {
		return errChanged
	}
	if f.deleted {
		return f.remove()
	}
	mode := f.mode.Perm()
	if mode == 0 {
		mode = 0o600
	}
	temp, err := writeTemp(f.real, f.after, mode)
	if err != nil {
		return err
	}
	defer os.Remove(temp) // what is there then is the old file, or ours unused
	var lease held
	if f.exists {
		if lease, err = hold(f.real); err != nil && (patient || len(f.data) == 0) {
			return errors.Join(errChanged, err)
		}
		defer lease.release()
	}
	if now, err := read(f.path, f.real); err != nil || now.exists != f.exists || !bytes.Equal(now.data, f.data) {
		return errors.Join(errChanged, err)
	}
	if !f.exists {
		if err := place(temp, f.real); err != nil {
			return errors.Join(errChanged, err)
		}
		return syncDir(f.real)
	}
	if err := exchange(temp, f.real); err != nil {
		return err
	}
	if old, err := os.ReadFile(temp); err != nil || !bytes.Equal(old, f.data) || lease.wanted() {
		return errors.Join(errChanged, err, giveBack(temp, f.real, f.after))
	}
	return syncDir(f.real)
}

// remove deletes a file, if it is as it was read.
func (f file) remove() error {
	temp, err := writeTemp(f.real, nil, 0o600) // a name to move it to
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	if now, err := read(f.path, f.real); err != nil || !now.exists || !bytes.Equal(now.data, f.data) {
		return errors.Join(errChanged, err)
	}
	if err := os.Rename(f.real, temp); err != nil {
		return err
	}
	if old, err := os.ReadFile(temp); err != nil || !bytes.Equal(old, f.data) {
		return errors.Join(errChanged, err, place(temp, f.real))
	}
	return syncDir(f.real)
}

// giveBack undoes an exchange that took away what somebody had just written. If
// somebody wrote yet another time in between, that one stays.
func giveBack(temp, real string, ours []byte) error {
	for range 100 {
		if err := exchange(temp, real); err != nil {
			return err
		}
		taken, err := os.ReadFile(temp)
		if err != nil || bytes.Equal(taken, ours) {
			return err
		}
		ours, err = os.ReadFile(real) // that is the older one of theirs now
		if err != nil {
			return err
		}
	}
	return nil
}

func writeTemp(real string, data []byte, mode fs.FileMode) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(real), tempPattern(real))
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// backup keeps a copy of what a file says now. Of each file the last few are
// kept.
func (s *Skills) backup(f file) error {
	if !f.exists {
		return nil
	}
	if err := os.MkdirAll(s.Backups, 0o700); err != nil {
		return err
	}
	flat := strings.NewReplacer("/", "~", `\`, "~", ":", "~").Replace(strings.TrimLeft(f.path, "/"))
	if len(flat) > 150 {
		flat = flat[len(flat)-150:]
	}
	name := filepath.Join(s.Backups, flat+"."+s.Now().UTC().Format("20060102T150405.000000000Z"))
	temp, err := writeTemp(name, f.data, 0o600)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, name); err != nil {
		return err
	}
	old, err := filepath.Glob(globQuote(filepath.Join(s.Backups, flat)) + ".[0-9]*Z")
	for len(old) > keepBackups && err == nil {
		err = os.Remove(old[0])
		old = old[1:]
	}
	return err
}

const keepBackups = 5

func globQuote(path string) string {
	if os.PathSeparator == '\\' {
		return path
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// sweep removes what a write that was interrupted left beside a file. It is
// kept among the backups.
func (s *Skills) sweep(path string) {
	real, err := resolve(s.Teaching.Home.Dir, path)
	if err != nil {
		return
	}
	left, _ := filepath.Glob(filepath.Join(globQuote(filepath.Dir(real)), strings.Replace(globQuote(tempPattern(real)), `\*`, "*", 1)))
	for _, temp := range left {
		if data, err := os.ReadFile(temp); err == nil && len(data) > 0 {
			if err := s.backup(file{snapshot: snapshot{path: path, exists: true, data: data}}); err != nil {
				s.Log.Warn("keep what an interrupted write left", "err", err)
				continue
			}
		}
		os.Remove(temp)
	}
}
