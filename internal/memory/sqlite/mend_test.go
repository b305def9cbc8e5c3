package sqlite

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// FuzzFindings: whatever is found, only indexes that there are can be made anew.
func FuzzFindings(f *testing.F) {
	for _, seed := range []string{
		"ok", "*** in database main ***\nTree 5 page 5: btreeInitPage() returns error code 11", "row 3 missing from index a_by_b", "wrong # of entries in index a_by_b",
		"Fragmentation of 0 bytes reported as 3 on page 2\nPage 4: never used", "Tree 2 page 2 cell 0: Rowid 1 out of order", "NULL value in a.b",
	} {
		f.Add(seed)
	}
	db, err := Connect(filepath.Join(f.TempDir(), "a.db"), 1, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = db.Close() })
	if _, err := db.Exec(`CREATE TABLE a (b)`); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l := look{
			ctx: t.Context(), db: db, indexes: []index{{5, "a_by_b", "a"}},
			broken: map[string]bool{}, missing: map[string]bool{}, wrong: map[string]bool{},
		}
		if l.take(strings.Split(text, "\x00")) != nil {
			return
		}
		if names, err := l.names(); err == nil && len(names) > 0 && !slices.Equal(names, []string{"a_by_b"}) {
			t.Errorf("%q is about %q", text, names)
		}
	})
}
