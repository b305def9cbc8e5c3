package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/home"
)

// The bounds of the backups that are made without being asked for.
const (
	keepBackups   = 7
	maxBackupSize = 4 << 30 // bytes of all of them; the newest stays in any case
)

// Names of backups: of a day, and before a migration.
const (
	dailyPrefix  = "memory-"
	schemaPrefix = "memory-schema"
	backupSuffix = ".db"
	partSuffix   = ".part"
	backupTime   = "20060102T150405.000"
)

// Backup copies the memory in a file as it is now into the directory of backups,
// and deletes the oldest copies beyond what is kept. The copy has its name once it
// is whole and on the disk. Writes go on meanwhile.
func Backup(ctx context.Context, path, dir string, at time.Time) (ambry.BackupMade, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return ambry.BackupMade{}, fmt.Errorf("make the directory of backups: %w", err)
	}
	name := dailyPrefix + at.Format(backupTime) + backupSuffix
	to := filepath.Join(dir, name)
	err := copyTo(ctx, path, to+partSuffix)
	if err == nil {
		err = nameBackup(to)
	}
	if err != nil {
		_ = os.Remove(to + partSuffix)
		return ambry.BackupMade{}, err
	}
	return ambry.BackupMade{Name: name, Bytes: FileSize(to), MadeAt: at}, pruneBackups(dir)
}

// copyTo writes a whole copy of the memory, and checks it.
func copyTo(ctx context.Context, path, to string) error {
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove half a backup: %w", err)
	}
	db, err := Connect(path, 1, nil)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	// A copy has indexes of its own and would not show what is wrong with these;
	// and one of a damaged memory must not take the place of a good one.
	if err := checked(ctx, db, wholeCheck); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", to); err != nil {
		return fmt.Errorf("back up the memory: %w", Failure(err))
	}
	if err := os.Chmod(to, 0o600); err != nil {
		return fmt.Errorf("protect the backup: %w", err)
	}
	_, err = Check(ctx, to)
	return err
}

// nameBackup gives a copy that is whole its name, for good.
func nameBackup(to string) error {
	if err := home.SyncFile(to + partSuffix); err != nil {
		return fmt.Errorf("keep the backup: %w", err)
	}
	if err := os.Rename(to+partSuffix, to); err != nil {
		return fmt.Errorf("name the backup: %w", err)
	}
	if err := home.SyncDir(filepath.Dir(to)); err != nil {
		return fmt.Errorf("keep the backup: %w", err)
	}
	return nil
}

// SweepParts removes half copies that somebody who was killed has left.
func SweepParts(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), dailyPrefix) && strings.Contains(e.Name(), backupSuffix+partSuffix) { // and its journal
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return Wrapf(err, "remove half a backup")
}

// Backups lists the copies in a directory, newest first, also those from before
// a migration.
func Backups(dir string) ([]ambry.BackupMade, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list backups: %w", err)
	}
	var all []ambry.BackupMade
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !e.Type().IsRegular() || !strings.HasPrefix(e.Name(), dailyPrefix) || !strings.HasSuffix(e.Name(), backupSuffix) {
			continue
		}
		all = append(all, ambry.BackupMade{Name: e.Name(), Bytes: info.Size(), MadeAt: info.ModTime().UTC()})
	}
	slices.SortFunc(all, func(a, b ambry.BackupMade) int {
		return cmp.Or(b.MadeAt.Compare(a.MadeAt), cmp.Compare(b.Name, a.Name))
	})
	return all, nil
}

// pruneBackups deletes the oldest copies of days.
func pruneBackups(dir string) error {
	all, err := Backups(dir)
	if err != nil {
		return err
	}
	var n int
	var size int64
	for _, b := range all {
		if strings.HasPrefix(b.Name, schemaPrefix) {
			continue
		}
		n++
		size += b.Bytes
		if n > 1 && (n > keepBackups || size > maxBackupSize) {
			if err := os.Remove(filepath.Join(dir, b.Name)); err != nil {
				return fmt.Errorf("delete an old backup: %w", err)
			}
		}
	}
	return nil
}
