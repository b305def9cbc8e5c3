package sqlite

import (
	"database/sql"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// migrated opens a database of its own and runs steps on it.
func migrated(t *testing.T, m *migrator, files fs.FS) error {
	t.Helper()
	db, err := Connect(m.path, 1, map[string]string{"journal_mode": "WAL"})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if m.conn, err = db.Conn(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer m.conn.Close()
	return m.run(t.Context(), steps(files))
}

func testMigrator(t *testing.T) *migrator {
	dir := t.TempDir()
	now := func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
	return &migrator{path: filepath.Join(dir, "memory.db"), backups: filepath.Join(dir, "backups"), now: now, log: slog.New(slog.DiscardHandler)}
}

// value runs a query of one value on a file.
func value(t *testing.T, path, query string) string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var v string
	if err := db.QueryRow(query).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

func TestMigrationKeepsABackup(t *testing.T) {
	m := testMigrator(t)
	files := fstest.MapFS{"schema/0001_one.sql": {Data: []byte("CREATE TABLE a (x TEXT); INSERT INTO a VALUES ('old')")}}
	if err := migrated(t, m, files); err != nil {
		t.Fatal(err)
	}
	fresh := testMigrator(t)
	if err := migrated(t, fresh, fstest.MapFS{
		"schema/0001_one.sql": {Data: []byte("CREATE TABLE a (x TEXT)")},
		"schema/0002_two.sql": {Data: []byte("CREATE TABLE b (x TEXT)")},
	}); err != nil {
		t.Fatal(err)
	}
	for _, backups := range []string{m.backups, fresh.backups} {
		if _, err := os.Stat(backups); err == nil {
			t.Error("a new memory was backed up")
		}
	}
	files["schema/0002_two.sql"] = &fstest.MapFile{Data: []byte("UPDATE a SET x = 'new'")}
	files["schema/0003_three.sql"] = &fstest.MapFile{Data: []byte("ALTER TABLE a ADD COLUMN y TEXT")}
	if err := migrated(t, m, files); err != nil {
		t.Fatal(err)
	}
	if got := value(t, m.path, "SELECT x FROM a"); got != "new" {
		t.Errorf("after the migration: got %q", got)
	}
	if got := value(t, m.path, "PRAGMA user_version"); got != "3" {
		t.Errorf("version: got %s, want 3", got)
	}
	for name, want := range map[string]string{"memory-schema1-20260301T120000.000.db": "old", "memory-schema2-20260301T120000.000.db": "new"} {
		file := filepath.Join(m.backups, name)
		if got := value(t, file, "SELECT x FROM a"); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
			t.Errorf("%s: others may read it: %v %v", name, info.Mode(), err)
		}
	}
}

func TestFailedMigrationChangesNothing(t *testing.T) {
	m := testMigrator(t)
	files := fstest.MapFS{
		"schema/0001_one.sql": {Data: []byte("CREATE TABLE a (x TEXT); INSERT INTO a VALUES ('old')")},
		"schema/0002_two.sql": {Data: []byte("UPDATE a SET x = 'new'; CREATE TABLE a (y TEXT)")},
	}
	if err := migrated(t, m, files); err == nil || !strings.Contains(err.Error(), "0002_two.sql") {
		t.Errorf("got error %v, want one that names the step", err)
	}
	if got := value(t, m.path, "SELECT x FROM a"); got != "old" {
		t.Errorf("got %q, want what was there", got)
	}
	if got := value(t, m.path, "PRAGMA user_version"); got != "1" {
		t.Errorf("version: got %s, want 1", got)
	}
}
