package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"
)

//go:embed schema/*.sql
var schema embed.FS

// migrations are the steps of the schema in order; number n leads to version n.
var migrations = sync.OnceValue(func() []step { return steps(schema) })

// step is one numbered change of the schema.
type step struct{ name, sql string }

// steps reads schema/NNNN_name.sql. A missing number is a bug of ours.
func steps(files fs.FS) []step {
	names, err := fs.Glob(files, "schema/[0-9][0-9][0-9][0-9]_*.sql")
	if err != nil {
		panic(err)
	}
	out := make([]step, 0, len(names))
	for i, name := range names {
		base := path.Base(name)
		if base[:4] != fmt.Sprintf("%04d", i+1) {
			panic("migration " + base + " is out of order")
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			panic(err)
		}
		out = append(out, step{name: base, sql: string(text)})
	}
	return out
}

// SchemaVersion is the version of the schema that this program writes.
func SchemaVersion() int { return len(migrations()) }

// Migrate brings a database to the newest version.
func Migrate(ctx context.Context, conn *sql.Conn, path, backups string, now func() time.Time, log *slog.Logger) error {
	return migrator{conn: conn, path: path, backups: backups, now: now, log: log}.run(ctx, migrations())
}

// migrator brings a database to the newest version.
type migrator struct {
	conn    *sql.Conn
	path    string
	backups string
	now     func() time.Time
	log     *slog.Logger
}

// run applies the steps that are missing, each in a transaction of its own, and
// each after a copy of what was there. A new memory is not copied.
func (m migrator) run(ctx context.Context, steps []step) error {
	var version int
	if err := m.conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return fmt.Errorf("read the version of the memory: %w", err)
	}
	fresh := version == 0
	for ; version < len(steps); version++ {
		if !fresh {
			if err := m.backup(ctx, version); err != nil {
				return err
			}
		}
		if err := m.apply(ctx, steps[version], version+1); err != nil {
			return err
		}
	}
	return nil
}

func (m migrator) backup(ctx context.Context, version int) error {
	if err := os.MkdirAll(m.backups, 0o700); err != nil {
		return fmt.Errorf("make the directory of backups: %w", err)
	}
	name := fmt.Sprintf("%s%d-%s%s", schemaPrefix, version, m.now().UTC().Format(backupTime), backupSuffix)
	to := filepath.Join(m.backups, name)
	if _, err := m.conn.ExecContext(ctx, "VACUUM INTO ?", to+partSuffix); err != nil {
		return errors.Join(fmt.Errorf("back up the memory before a migration: %w", err), os.RemoveAll(to+partSuffix))
	}
	if err := os.Chmod(to+partSuffix, 0o600); err != nil {
		return fmt.Errorf("protect the backup: %w", err)
	}
	if err := nameBackup(to); err != nil {
		return err
	}
	m.log.Info("memory backed up", "version", version, "file", name)
	return nil
}

func (m migrator) apply(ctx context.Context, s step, version int) error {
	tx, err := m.conn.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin migration %s: %w", s.name, err)
	}
	defer func() { _ = tx.Rollback() }()
	mark := fmt.Sprintf("PRAGMA user_version = %d; PRAGMA application_id = %d", version, applicationID)
	for _, q := range []string{s.sql, mark} {
		if _, err := tx.ExecContext(ctx, q); err != nil {
			return fmt.Errorf("migration %s: %w", s.name, err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit migration %s: %w", s.name, err)
	}
	m.log.Info("memory migrated", "step", s.name)
	return nil
}
