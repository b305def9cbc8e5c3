package store

import (
	"context"
	"database/sql"
	"flag"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"ambry.dev/ambry"
)

var update = flag.Bool("update", false, "rewrite golden files")

// TestSchema keeps the schema after all migrations as a file that can be read,
// and whose changes can be reviewed.
func TestSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	texts, err := column[string](s.readers.QueryContext(t.Context(), `SELECT sql FROM sqlite_schema
		WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'words_%' ORDER BY type = 'index', name`))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got := "-- The schema after all migrations. Made by go test -update; do not edit.\n\n" + strings.Join(texts, ";\n\n") + ";\n"
	const golden = "testdata/schema.sql"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is stale; run go test ./internal/memory/store -run TestSchema -update", golden)
	}
	for _, text := range texts {
		if strings.HasPrefix(text, "CREATE TABLE") && !strings.Contains(text, "STRICT") {
			t.Errorf("not strict: %.60s", text)
		}
	}
}

// migrated opens a database of its own and runs steps on it.
func migrated(t *testing.T, m *migrator, files fs.FS) error {
	t.Helper()
	db, err := connect(m.path, 1, map[string]string{"journal_mode": "WAL"})
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

// TestOpenRefuses tries files that are not ours to write; not a byte of them may
// change.
func TestOpenRefuses(t *testing.T) {
	good := filepath.Join(t.TempDir(), "good.db")
	s, err := Open(t.Context(), Config{Path: good})
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if _, err := s.Add(t.Context(), ambry.Note{Content: strings.Repeat("text ", 200)}, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	changed := func(at int, to ...byte) []byte {
		b := append([]byte(nil), whole...)
		copy(b[at:], to)
		return b
	}
	for _, c := range []struct {
		name, says string
		bytes      []byte
	}{
		{"a newer version", "newer version", changed(60, 0, 0, 0, 99)},
		{"another program", "another program", changed(68, 1, 2, 3, 4)},
		{"another program that marks nothing", "another program", changed(60, make([]byte, 12)...)},
		{"text", "damaged", []byte(strings.Repeat("not a database ", 100))},
		{"a few bytes", "damaged", []byte("SQLite")},
		{"half a header", "damaged", whole[:60]},
		{"half a file", "damaged", whole[:len(whole)/2]},
		{"zeroed pages", "damaged", changed(4096, make([]byte, 60000)...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "memory.db")
			if err := os.WriteFile(path, c.bytes, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(context.Background(), Config{Path: path})
			if err == nil {
				s.Close()
				t.Fatal("it was opened")
			}
			if ambry.KindOf(err) != ambry.MemoryUnavailable || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %s: %v; want %q in it", ambry.KindOf(err), err, c.says)
			}
			if strings.Contains(err.Error(), path) {
				t.Errorf("the error tells the path: %v", err)
			}
			after, err := os.ReadFile(path)
			if err != nil || string(after) != string(c.bytes) {
				t.Errorf("the file was changed: %v", err)
			}
		})
	}
}

func TestOpenMakesAPrivateFile(t *testing.T) {
	if os.PathSeparator != '/' {
		t.Skip("permissions of files are not those of Unix here")
	}
	path := filepath.Join(t.TempDir(), "a b%41?#é.db")
	s, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Add(t.Context(), ambry.Note{Content: "text"}, ""); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, want 0600", filepath.Base(name), info.Mode())
		}
	}
}
