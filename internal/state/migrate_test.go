package state

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"ambry.dev/ambry/internal/home"
)

const (
	first  = "CREATE TABLE a (x TEXT) STRICT; INSERT INTO a VALUES ('kept');"
	second = "ALTER TABLE a ADD COLUMN y INTEGER; CREATE TABLE b (z TEXT) STRICT;"
	broken = "CREATE TABLE c (z TEXT) STRICT; INSERT INTO nowhere VALUES (1);"
)

func TestMigrationKeepsACopyOfWhatWas(t *testing.T) {
	h := newHome(t)
	migrated(t, h, first)
	if got := backups(t, h); len(got) != 0 {
		t.Errorf("a new database was copied to %q", got)
	}
	migrated(t, h, first, second)
	migrated(t, h, first, second)

	copies := backups(t, h)
	if len(copies) != 1 || !strings.HasPrefix(filepath.Base(copies[0]), "app-schema1-") {
		t.Fatalf("got copies %q, want one of schema 1", copies)
	}
	if got := ask(t, copies[0], "SELECT x || (SELECT user_version FROM pragma_user_version) FROM a"); got != "kept1" {
		t.Errorf("the copy says %q, want kept1", got)
	}
	if got := ask(t, h.AppDB(), "SELECT x || count(y) FROM a"); got != "kept0" {
		t.Errorf("the database says %q, want kept0", got)
	}
}

func TestFailedMigrationChangesNothing(t *testing.T) {
	h := newHome(t)
	migrated(t, h, first)
	if _, err := open(t.Context(), h, steps(first, broken)); err == nil || !strings.Contains(err.Error(), "migration 2") {
		t.Fatalf("got %v, want an error about migration 2", err)
	}
	if got := ask(t, h.AppDB(), "SELECT group_concat(name) || (SELECT user_version FROM pragma_user_version) FROM sqlite_schema"); got != "a1" {
		t.Errorf("tables and version are %q, want a1", got)
	}
	migrated(t, h, first, second)
}

func TestNewerDatabaseIsRefusedUntouched(t *testing.T) {
	h := newHome(t)
	migrated(t, h, first, second)
	before, err := os.ReadFile(h.AppDB())
	check(t, err)
	if _, err := open(t.Context(), h, steps(first)); err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("got %v, want a refusal", err)
	}
	after, err := os.ReadFile(h.AppDB())
	check(t, err)
	if !bytes.Equal(before, after) || len(backups(t, h)) != 0 {
		t.Error("the refused database was touched")
	}
}

// After kill -9 the version may stand in the write-ahead log alone.
func TestNewerVersionInTheLogIsSeen(t *testing.T) {
	h := newHome(t)
	db, err := open(t.Context(), h, steps(first, second))
	check(t, err)
	crashed := newHome(t)
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(h.AppDB() + suffix)
		check(t, err)
		check(t, os.WriteFile(crashed.AppDB()+suffix, data, 0o600))
	}
	check(t, db.Close())

	before, err := os.ReadFile(crashed.AppDB())
	check(t, err)
	if _, err := open(t.Context(), crashed, steps(first)); err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("got %v, want a refusal", err)
	}
	after, err := os.ReadFile(crashed.AppDB())
	check(t, err)
	if !bytes.Equal(before, after) {
		t.Error("the refused database was touched")
	}
}

func TestForeignFileIsRefusedUntouched(t *testing.T) {
	h := newHome(t)
	foreign := []byte(strings.Repeat("not a database. ", 100))
	check(t, os.WriteFile(h.AppDB(), foreign, 0o600))
	if _, err := Open(t.Context(), h); err == nil {
		t.Error("opened a text file")
	}
	after, err := os.ReadFile(h.AppDB())
	check(t, err)
	if !bytes.Equal(foreign, after) {
		t.Error("the refused file was touched")
	}
}

func TestEmptyFileBecomesADatabase(t *testing.T) {
	h := newHome(t)
	check(t, os.WriteFile(h.AppDB(), nil, 0o600))
	openState(t, h)
}

func TestMigrationsAreInOrder(t *testing.T) {
	if _, err := migrations(fstest.MapFS{"0002_b.sql": {}}); err == nil {
		t.Error("a missing first migration was not seen")
	}
	if _, err := migrations(fstest.MapFS{"0001_a.sql": {}, "0001_b.sql": {}}); err == nil {
		t.Error("two first migrations were not seen")
	}
}

func TestTablesAreStrict(t *testing.T) {
	db := openState(t, newHome(t))
	tables, lax := 0, 0
	check(t, db.read.QueryRowContext(t.Context(),
		"SELECT count(*), count(*) FILTER (WHERE NOT strict) FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite_%'",
	).Scan(&tables, &lax))
	if tables == 0 || lax != 0 {
		t.Errorf("%d of %d tables are not strict", lax, tables)
	}
}

func TestDurability(t *testing.T) {
	db := openState(t, newHome(t))
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "cache_size": "-1024"} {
		var got string
		check(t, db.write.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got))
		if got != want {
			t.Errorf("%s is %s, want %s", pragma, got, want)
		}
	}
	if _, err := db.read.ExecContext(t.Context(), "DELETE FROM mark"); err == nil {
		t.Error("a reader could write")
	}
}

func migrated(t *testing.T, h home.Home, texts ...string) {
	t.Helper()
	db, err := open(t.Context(), h, steps(texts...))
	check(t, err)
	check(t, db.Close())
}

func steps(texts ...string) fstest.MapFS {
	files := fstest.MapFS{}
	for i, text := range texts {
		files[fmt.Sprintf("%04d_step.sql", i+1)] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

func backups(t *testing.T, h home.Home) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(h.Backups(), "*"))
	check(t, err)
	return found
}

func ask(t *testing.T, path, query string) (answer string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	check(t, err)
	defer db.Close()
	check(t, db.QueryRowContext(t.Context(), query).Scan(&answer))
	return answer
}

// TestHalfACopyIsNotInTheWay has what a killed process left be removed, and the database
// open when that cannot be done.
func TestHalfACopyIsNotInTheWay(t *testing.T) {
	h := newHome(t)
	part, stuck := filepath.Join(h.Backups(), "app-schema1-x.db.part"), filepath.Join(h.Backups(), "app-schema2-x.db.part")
	check(t, os.WriteFile(part, nil, 0o600))
	check(t, os.MkdirAll(filepath.Join(stuck, "more"), 0o700))
	if err := SweepParts(h); err == nil {
		t.Fatal("a directory with something in it was removed: this test sees nothing")
	}
	if _, err := os.Stat(part); !os.IsNotExist(err) {
		t.Errorf("half a copy is there: %v", err)
	}
	migrated(t, h, first, second)
}
