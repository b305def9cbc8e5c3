package store

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

	"ambry.dev/ambry"
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
)

// Backup copies the memory as it is now into the directory of backups, and
// deletes the oldest copies beyond what is kept. The copy has its name once it
// is whole and on the disk. Writes go on meanwhile.
func (s *Store) Backup(ctx context.Context) (ambry.BackupMade, error) {
	if err := os.MkdirAll(s.backups, 0o700); err != nil {
		return ambry.BackupMade{}, fmt.Errorf("make the directory of backups: %w", err)
	}
	at := s.now().UTC()
	name := dailyPrefix + at.Format("20060102T150405.000") + backupSuffix
	to := filepath.Join(s.backups, name)
	if err := s.copyTo(ctx, to+partSuffix); err != nil {
		_ = os.Remove(to + partSuffix)
		return ambry.BackupMade{}, err
	}
	if err := nameBackup(to); err != nil {
		return ambry.BackupMade{}, err
	}
	made := ambry.BackupMade{Name: name, Bytes: fileSize(to), MadeAt: at}
	s.log.Info("memory backed up", "file", name, "bytes", made.Bytes)
	return made, s.pruneBackups()
}

// copyTo writes a whole copy of the memory, and checks it.
func (s *Store) copyTo(ctx context.Context, to string) error {
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove half a backup: %w", err)
	}
	db, err := connect(s.path, 1, nil)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", to); err != nil {
		return fmt.Errorf("back up the memory: %w", failure(err))
	}
	if err := os.Chmod(to, 0o600); err != nil {
		return fmt.Errorf("protect the backup: %w", err)
	}
	_, err = Check(ctx, to, false)
	return err
}

// nameBackup gives a copy that is whole its name, for good.
func nameBackup(to string) error {
	if err := syncPath(to + partSuffix); err != nil {
		return fmt.Errorf("keep the backup: %w", err)
	}
	if err := os.Rename(to+partSuffix, to); err != nil {
		return fmt.Errorf("name the backup: %w", err)
	}
	if err := syncPath(filepath.Dir(to)); err != nil {
		return fmt.Errorf("keep the backup: %w", err)
	}
	return nil
}

// sweepParts removes half copies that somebody who was killed has left.
func sweepParts(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), dailyPrefix) && strings.Contains(e.Name(), backupSuffix+partSuffix) { // and its journal
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return wrapf(err, "remove half a backup")
}

// syncPath puts a file, or the names in a directory, on the disk.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) && !isDir(path) {
		return err
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
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
func (s *Store) pruneBackups() error {
	all, err := Backups(s.backups)
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
			if err := os.Remove(filepath.Join(s.backups, b.Name)); err != nil {
				return fmt.Errorf("delete an old backup: %w", err)
			}
		}
	}
	return nil
}

// Checked is what a look at a memory's file found.
type Checked struct {
	Schema   int
	Memories int64
	Index    string // what is wrong with the text index, which can be made anew; "" if nothing
}

// Check looks at the file of a memory, whole, without changing it. Its error is
// of kind [ambry.MemoryUnavailable] when the file is damaged, of another program
// or of a newer version. The text index is looked at if index is true; nobody
// may write to the file meanwhile.
func Check(ctx context.Context, path string, index bool) (Checked, error) {
	var c Checked
	if _, err := os.Stat(path); err != nil {
		return c, ambry.NotFound.Wrap(err, "there is no such file")
	}
	if err := checkFile(path); err != nil {
		return c, err
	}
	db, err := connect(path, 1, map[string]string{"query_only": "ON", "cell_size_check": "ON"})
	if err != nil {
		return c, err
	}
	defer func() { _ = db.Close() }()
	if err := db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&c.Schema); err != nil {
		return c, fmt.Errorf("check the memory: %w", failure(err))
	}
	rows, err := db.QueryContext(ctx, `PRAGMA integrity_check(20)`)
	if err != nil {
		return c, fmt.Errorf("check the memory: %w", failure(err))
	}
	defer func() { _ = rows.Close() }()
	var wrong []string
	for rows.Next() {
		var found string
		if err := rows.Scan(&found); err != nil {
			return c, fmt.Errorf("check the memory: %w", failure(err))
		}
		switch {
		case found == "ok":
		default:
			wrong = append(wrong, found)
		}
	}
	if err := rows.Err(); err != nil {
		return c, fmt.Errorf("check the memory: %w", failure(err))
	}
	if len(wrong) > 0 {
		return c, ambry.MemoryUnavailable.Wrap(errors.New(strings.Join(wrong, "; ")), `the memory file is damaged; see "ambry doctor"`)
	}
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM memory`).Scan(&c.Memories); err != nil {
		return c, fmt.Errorf("check the memory: %w", failure(err))
	}
	if index {
		if err := checkIndex(ctx, db, path); err != nil {
			c.Index = err.Error()
		}
	}
	return c, nil
}
