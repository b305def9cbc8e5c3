package opencode_test

import (
	"database/sql"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/agent/agenttest"
	"ambry.dev/ambry/internal/agent/opencode"
)

// TestAgent runs the suite on a home of each layout.
func TestAgent(t *testing.T) {
	for layout, databases := range map[string]map[string]string{
		"stored":   {"opencode.db": "stored"},
		"migrated": {"opencode.db": "migrated", "opencode-next.db": "next"},
	} {
		t.Run(layout, func(t *testing.T) {
			agenttest.RunGolden(t, opencode.Agent(), home(t, databases).Dir, filepath.Join("testdata", "golden-"+layout))
		})
	}
	t.Run("tree", func(t *testing.T) { agenttest.Run(t, opencode.Agent(), "testdata/home") })
}

// home makes a home with databases from the texts of testdata/sql.
func home(t testing.TB, databases map[string]string) agent.Home {
	t.Helper()
	h := agent.Home{Dir: t.TempDir(), OS: "linux"}
	for name, text := range databases {
		query, err := os.ReadFile(filepath.Join("testdata", "sql", text+".sql"))
		if err != nil {
			t.Fatal(err)
		}
		db := writer(t, database(h, name))
		exec(t, db, string(query))
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func database(h agent.Home, name string) string {
	return filepath.Join(h.Dir, ".local", "share", "opencode", name)
}

// writer opens a database as OpenCode does, and keeps it open.
func writer(t testing.TB, path string) *sql.DB {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String())
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func exec(t testing.TB, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%.200s: %v", query, err)
	}
}

// sources returns the sources of a home; one that cannot be read fails.
func sources(t testing.TB, h agent.Home) []agent.Source {
	t.Helper()
	var all []agent.Source
	for src, err := range opencode.Agent().History.Sources(t.Context(), h) {
		if err != nil {
			t.Fatalf("%s: %v", src.Path, err)
		}
		all = append(all, src)
	}
	return all
}

// read reads a source on from a mark, which has been stored meanwhile, to its
// end.
func read(t testing.TB, src agent.Source, from agent.Mark) []agent.Item {
	t.Helper()
	data, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	var stored agent.Mark
	if err := json.Unmarshal(data, &stored); err != nil {
		t.Fatal(err)
	}
	var items []agent.Item
	for item, err := range opencode.Agent().History.Read(t.Context(), src, stored) {
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, item)
	}
	if len(items) == 0 || !items[len(items)-1].Next.Done {
		t.Fatalf("%d items, and the last is not done", len(items))
	}
	return items
}
