package state

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"ambry.dev/ambry/internal/home"
)

//go:embed schema/*.sql
var schemas embed.FS

// migrations returns the texts that lead from an empty database to ours. The
// n-th one makes version n of the schema, and its name begins with n in four
// digits.
func migrations(schema fs.FS) ([]string, error) {
	names, err := fs.Glob(schema, "*.sql")
	if err != nil {
		return nil, err
	}
	var steps []string
	for i, name := range names {
		if ok, _ := path.Match(fmt.Sprintf("%04d_*.sql", i+1), name); !ok {
			return nil, fmt.Errorf("migration %s is out of order", name)
		}
		text, err := fs.ReadFile(schema, name)
		if err != nil {
			return nil, err
		}
		steps = append(steps, string(text))
	}
	return steps, nil
}

// refuseNewer reports a database at file that has a higher version than ours,
// and one that cannot be read at all. It changes nothing.
func refuseNewer(ctx context.Context, file string, ours int) error {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open app.db: %w", err)
	}
	db, err := pool(file, 1, "mode", "ro")
	if err != nil {
		return err
	}
	theirs, err := version(ctx, db)
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("open app.db: %w", err)
	}
	if theirs > ours {
		return fmt.Errorf("open app.db: a newer version of Ambry wrote it (schema %d, this one knows %d); "+
			"install that version again, or put a copy from backups in its place", theirs, ours)
	}
	return nil
}

// migrate runs the steps that db has not seen. Each one happens whole or not at
// all. Unless db is new, what was there before is kept as a file in backups.
func migrate(ctx context.Context, db *sql.DB, steps []string, backups string) error {
	done, err := version(ctx, db)
	if err != nil {
		return err
	}
	for n := done + 1; n <= len(steps); n++ {
		if done > 0 {
			if err := backup(ctx, db, n-1, backups); err != nil {
				return fmt.Errorf("copy before migration %d: %w", n, err)
			}
		}
		if err := step(ctx, db, n, steps[n-1]); err != nil {
			return fmt.Errorf("migration %d: %w", n, err)
		}
	}
	return nil
}

func version(ctx context.Context, db *sql.DB) (n int, err error) {
	err = db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&n)
	return n, err
}

func step(ctx context.Context, db *sql.DB, n int, text string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after Commit it does nothing
	if _, err := tx.ExecContext(ctx, text); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", n)); err != nil {
		return err
	}
	return tx.Commit()
}

// Names of copies, and of those that are not whole yet.
const (
	backupPrefix = "app-schema"
	partSuffix   = ".part"
)

// SweepParts removes half copies that somebody who was killed has left. Nobody may be
// opening the database of the home.
func SweepParts(h home.Home) error {
	dir := h.Backups()
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), backupPrefix) && strings.Contains(e.Name(), partSuffix) { // and its journal
			err = errors.Join(err, remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// backup writes the database, which has version n, to a new file of dir. The
// file has its name only once it is whole and on the disk.
func backup(ctx context.Context, db *sql.DB, n int, dir string) error {
	name := filepath.Join(dir, fmt.Sprintf("%s%d-%s.db", backupPrefix, n, time.Now().UTC().Format("20060102T150405.000Z")))
	temp := name + partSuffix
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", temp); err != nil {
		return errors.Join(err, remove(temp))
	}
	if err := home.SyncFile(temp); err != nil {
		return errors.Join(err, remove(temp))
	}
	if err := os.Rename(temp, name); err != nil {
		return errors.Join(err, remove(temp))
	}
	return home.SyncDir(dir)
}

func remove(file string) error {
	if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
