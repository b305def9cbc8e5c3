package store

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ambry.dev/ambry/internal/memory/sqlite"
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
	defer s.Close()
	texts, err := sqlite.Column[string](s.readers.Reader(t.Context()).Rows(`SELECT sql FROM sqlite_schema
		WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'words_%' ORDER BY type = 'index', name`))
	if err != nil {
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
