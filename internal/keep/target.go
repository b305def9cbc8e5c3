package keep

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"ambry.dev/ambry"
)

// target is where an export goes: something that was not there before.
type target struct {
	path string
	made string // a directory that was made for it
}

// pickTarget says where an export goes. The path of a request must be absolute,
// in its plain form and below the home directory of the person, but not in a
// hidden directory, where programs keep what they obey. Nothing that is there is
// touched.
func (k *Keeper) pickTarget(path string, f ambry.ExportFormat) (target, error) {
	name := "ambry-export-" + k.Now().UTC().Format("20060102T150405.000Z")
	suffix := ""
	if f == ambry.ExportArchive {
		suffix = ".zip"
	}
	if path == "" {
		return target{path: filepath.Join(k.Home.Exports(), name+suffix)}, nil
	}
	if err := k.allowed(path); err != nil {
		return target{}, err
	}
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.IsDir():
		return target{path: filepath.Join(path, name+suffix)}, nil
	case err == nil:
		return target{}, ambry.Conflict.Errorf("there is a file of that name already; an export never overwrites one")
	case !errors.Is(err, fs.ErrNotExist):
		return target{}, ambry.InvalidArgument.Errorf("the target cannot be looked at")
	case f == ambry.ExportMarkdown, strings.EqualFold(filepath.Ext(path), ".zip"):
		return target{path: path}, nil
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		return target{}, writing(err)
	}
	return target{path: filepath.Join(path, name+suffix), made: path}, nil
}

var errTarget = "targetPath must be absolute and below your home directory, and not in a hidden directory"

// allowed reports why a path may not be written to. Links on the way are
// followed and must lead to such a place too.
func (k *Keeper) allowed(path string) error {
	bad := func(why string) error {
		return &ambry.Error{Kind: ambry.InvalidArgument, Message: errTarget + ": " + why, Details: []ambry.Field{{Field: "body.targetPath", Message: why}}}
	}
	switch {
	case strings.ContainsRune(path, 0):
		return bad("it has a NUL")
	case !filepath.IsAbs(path):
		return bad("it is not absolute")
	case filepath.Clean(path) != strings.TrimRight(path, string(filepath.Separator)):
		return bad("it is not in its plain form")
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return bad("it is a link")
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return bad("the directory that it is in does not exist")
	}
	if info, err := os.Stat(parent); err != nil || !info.IsDir() {
		return bad("what it is in is no directory")
	}
	real := filepath.Join(parent, filepath.Base(path))
	if exports, err := filepath.EvalSymlinks(k.Home.Exports()); err == nil && below(exports, real) {
		return nil
	}
	user, err := filepath.EvalSymlinks(k.UserHome)
	if err != nil || !below(user, real) {
		return bad("it is not below the home directory")
	}
	if own, err := filepath.EvalSymlinks(k.Home.Dir()); err == nil && below(own, real) {
		return bad("it is in Ambry's own directory")
	}
	rel, err := filepath.Rel(user, real)
	if err != nil {
		return bad("it is not below the home directory")
	}
	for part := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		if strings.HasPrefix(part, ".") {
			return bad("it is in a hidden directory")
		}
	}
	return nil
}

// below reports whether path is dir or in it.
func below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// writing gives an error of writing a file its kind.
func writing(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC):
		return ambry.StorageFull.Wrap(err, "the disk is full; free some space and try again")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return ambry.Forbidden.Wrap(err, "the target directory cannot be written in")
	case errors.Is(err, fs.ErrExist):
		return ambry.Conflict.Wrap(err, "there is a file of that name already; an export never overwrites one")
	}
	return fmt.Errorf("write: %w", err)
}
