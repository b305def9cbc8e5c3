package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/home"
	"ambry.dev/ambry/internal/keep"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/store"
)

// CheckedMemory is what a look at a memory's file found.
type CheckedMemory = store.Checked

// CheckMemory looks through the file of a memory, byte by byte: that of the home
// if none is named. A name without a directory is that of a backup. It changes
// nothing, and the service may run.
func CheckMemory(ctx context.Context, o Options, file string) (string, CheckedMemory, error) {
	h, err := home.Existing(o.Home)
	if err != nil {
		return "", CheckedMemory{}, err
	}
	path, running := memoryFile(h, file), false
	if path == h.MemoryDB() {
		lock, err := home.Acquire(h.MemoryLock())
		if running = errors.Is(err, home.ErrLocked); err == nil {
			defer lock.Release()
		}
	}
	c, err := store.Check(ctx, path, !running)
	return path, c, err
}

func memoryFile(h home.Home, file string) string {
	switch {
	case file == "":
		return h.MemoryDB()
	case filepath.Base(file) == file:
		if _, err := os.Stat(filepath.Join(h.Backups(), file)); err == nil {
			return filepath.Join(h.Backups(), file)
		}
	}
	return file
}

// Backups lists the copies of the memory, newest first.
func Backups(o Options) ([]ambry.BackupMade, error) {
	h, err := home.Existing(o.Home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return sqlite.Backups(h.Backups())
}

// PruneBackups deletes all copies of the memory but the newest, and returns
// which.
func PruneBackups(o Options) ([]ambry.BackupMade, error) {
	all, err := Backups(o)
	if err != nil || len(all) < 2 {
		return nil, err
	}
	h, err := home.Existing(o.Home)
	if err != nil {
		return nil, err
	}
	for _, b := range all[1:] {
		if err := os.Remove(filepath.Join(h.Backups(), b.Name)); err != nil {
			return nil, err
		}
	}
	return all[1:], nil
}

// RestoreMemory puts a backup, the newest good one if none is named, in the
// place of the memory. It returns which one, and where what was there is now. The
// service must not run.
func RestoreMemory(ctx context.Context, o Options, file string) (from, aside string, err error) {
	h, release, err := alone(ctx, o)
	if err != nil {
		return "", "", err
	}
	defer release()
	if file == "" {
		if from, err = lastGood(ctx, h); err != nil {
			return "", "", err
		}
	} else {
		from = memoryFile(h, file)
		if _, err := store.Check(ctx, from, true); err != nil {
			return "", "", err
		}
	}
	if sameFile(from, h.MemoryDB()) {
		return "", "", ambry.InvalidArgument.Errorf("that is the memory itself")
	}
	aside, err = keep.Replace(h, from, time.Now())
	return from, aside, err
}

// alone opens the home so that no service can run on it until release is called.
func alone(ctx context.Context, o Options) (h home.Home, release func(), err error) {
	home.Umask()
	if h, err = home.Open(o.Home); err != nil {
		return h, nil, err
	}
	var held []*home.Lock
	release = func() {
		for _, lock := range held {
			_ = lock.Release()
		}
	}
	for _, path := range []string{h.Lock(), h.MemoryLock()} {
		lock, err := home.AcquireSoon(ctx, path)
		if errors.Is(err, home.ErrLocked) {
			err = ambry.Conflict.Errorf(`the service is running; "ambry stop" ends it`)
		}
		if err != nil {
			release()
			return h, nil, err
		}
		held = append(held, lock)
	}
	return h, release, nil
}

// MendMemory makes the indexes of a damaged memory anew from its rows, if these
// are whole. It returns which were damaged, none if the memory is whole, and where
// what was there is now. The service must not run.
func MendMemory(ctx context.Context, o Options) (indexes []string, aside string, err error) {
	if _, _, err := CheckMemory(ctx, o, ""); !sqlite.Damaged(err) {
		return nil, "", err
	}
	h, release, err := alone(ctx, o)
	if err != nil {
		return nil, "", err
	}
	defer release()
	aside, err = keep.ReplaceBy(h, time.Now(), func(to string) (err error) {
		indexes, err = store.Mend(ctx, h.MemoryDB(), to)
		return err
	})
	return indexes, aside, err
}

// CanMend reports whether nothing but indexes of a memory is damaged.
func CanMend(ctx context.Context, o Options) bool {
	h, err := home.Existing(o.Home)
	if err != nil {
		return false
	}
	indexes, err := sqlite.DamagedIndexes(ctx, h.MemoryDB())
	return err == nil && len(indexes) > 0
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// lastGood returns the newest backup that is whole.
func lastGood(ctx context.Context, h home.Home) (string, error) {
	all, err := sqlite.Backups(h.Backups())
	if err != nil {
		return "", err
	}
	for _, b := range all {
		path := filepath.Join(h.Backups(), b.Name)
		if _, err := store.Check(ctx, path, false); err == nil {
			return path, nil
		}
	}
	return "", ambry.NotFound.Errorf("there is no backup that is whole")
}

// offer adds to the reason why a memory cannot be opened which backup there is.
func offer(ctx context.Context, h home.Home, reason error) string {
	text := reason.Error()
	if !sqlite.Damaged(reason) {
		return text
	}
	good, err := lastGood(ctx, h)
	if err != nil {
		return text + "; there is no backup of it"
	}
	return text + `; "ambry stop" and "ambry restore" put the backup ` + filepath.Base(good) + " in its place"
}
