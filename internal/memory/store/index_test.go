package store_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
)

func candidates(t *testing.T, s *store.Store, m store.Match) []store.Candidate {
	t.Helper()
	found, err := s.Candidates(t.Context(), m, 100)
	if err != nil {
		t.Fatal(err)
	}
	return found.Best
}

// indexFiles returns the files of the text index; that there is none fails.
func indexFiles(t *testing.T, path string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(strings.TrimSuffix(path, ".db")+".index", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the index has the files %v, %v", files, err)
	}
	return files
}

// TestIndexIsDerived throws the text index away and expects it back as it was.
func TestIndexIsDerived(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s, shut := openAt(t, path)
	mustImport(t, s, talk("one", "why is the parser slow?", "修改缓存 handleTimeout"), talk("two", "the parser again"))
	m, err := s.Add(t.Context(), ambry.Note{Content: "the parser has a budget", Tags: []string{"speed"}, Project: "/p"}, "")
	if err != nil {
		t.Fatal(err)
	}
	archived, title := ambry.Archived, "Parser budget"
	if _, err := s.Patch(t.Context(), m.ID, ambry.Patch{Status: &archived, Title: &title}, ""); err != nil {
		t.Fatal(err)
	}
	questions := []store.Match{
		{Any: []string{"parser"}},
		{Any: []string{"parser", "缓存"}, Filter: store.Filter{Archived: true}},
		{All: [][]string{{"handletimeout"}, {"answer"}}},
		{Filter: store.Filter{Tags: []string{"speed"}, Project: "/p", Archived: true}},
		{Prefix: []string{"pars"}, Not: [][]string{{"slow"}}},
	}
	var before [][]store.Candidate
	for i, q := range questions {
		found := candidates(t, s, q)
		if len(found) == 0 {
			t.Errorf("question %d finds nothing", i)
		}
		before = append(before, found)
	}
	compare := func(when string) {
		t.Helper()
		for i, q := range questions {
			if diff := cmp.Diff(before[i], candidates(t, s, q)); diff != "" {
				t.Errorf("%s, question %d (-before +after):\n%s", when, i, diff)
			}
		}
	}
	if err := s.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	compare("rebuilt")
	shut()
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`UPDATE meta SET value = 0 WHERE name = 'index'`); err != nil {
		t.Fatal(err)
	}
	db.Close()
	s, shut = openAt(t, path)
	compare("opened with an index of another version")
	shut()
	for _, file := range indexFiles(t, path) {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	s, shut = openAt(t, path)
	compare("opened without the files of the index")
	shut()
	for _, file := range indexFiles(t, path) {
		if err := os.Truncate(file, 100); err != nil {
			t.Fatal(err)
		}
	}
	s, shut = openAt(t, path)
	compare("opened with broken files of the index")
	shut()
	verify(t, path)
}

// TestFilesOfAFewMemoriesBecomeFewer opens a memory several times, each of which leaves
// a file, and waits for them to be few.
func TestFilesOfAFewMemoriesBecomeFewer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	const times, each = 5, 64
	for i := range times {
		s, shut := openAt(t, path)
		for k := range each {
			if _, err := s.Add(t.Context(), ambry.Note{Content: fmt.Sprintf("the lock %d of round %d", k, i)}, ""); err != nil {
				t.Fatal(err)
			}
		}
		shut()
	}
	s, shut := openAt(t, path)
	defer shut()
	for deadline := time.Now().Add(time.Minute); len(indexFiles(t, path)) > 2; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("there are still %d files", len(indexFiles(t, path)))
		}
	}
	if n, err := s.Frequencies([]string{"door", "lock"}); err != nil || !slices.Equal(n, []int{0, times * each}) {
		t.Errorf("%d are found, %v", n, err)
	}
}
