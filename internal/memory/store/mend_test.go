package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/dump"
)

// shelves is the closed memory of some turns and notes, and its lines.
func shelves(t *testing.T) (path, lines string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "memory.db")
	s, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 30 {
		c := ambry.Conversation{Session: ambry.Session{ID: fmt.Sprint("s", n), Agent: "codex", Cwd: fmt.Sprint("/srv/", n%5)}, Turns: []ambry.Turn{{
			ID: fmt.Sprint("t", n), Messages: []ambry.Message{{ID: "m", Role: ambry.User, Text: fmt.Sprint("gauge ", n, " shows five metres")}},
		}}}
		if _, err := s.Import(t.Context(), []ambry.Conversation{c}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Add(t.Context(), ambry.Note{Content: fmt.Sprint("note ", n, " of the lock")}, fmt.Sprint("key ", n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path, linesOf(t, path)
}

func linesOf(t *testing.T, path string) string {
	t.Helper()
	var out bytes.Buffer
	if err := dump.Write(t.Context(), path, document.NewUnpacker(), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// roots are the first pages of what is of a kind.
func roots(t *testing.T, path, kind string) (all []int64) {
	t.Helper()
	list := valueIn(t, path, `SELECT group_concat(rootpage) FROM sqlite_schema WHERE type = '`+kind+`'`)
	for field := range strings.SplitSeq(list, ",") {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
	return all
}

// damaged is a copy of a file of which a page was changed.
func damaged(t *testing.T, path string, page int64, change func(page []byte)) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const size = 4096
	change(data[(page-1)*size : page*size])
	to := filepath.Join(t.TempDir(), "memory.db")
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

func TestDamagedIndexesAreMadeAnewFromTheRows(t *testing.T) {
	path, want := shelves(t)
	random := rand.New(rand.NewPCG(3, 3))
	mended := 0
	for _, page := range roots(t, path, "index") {
		for n, change := range []func(page []byte){
			func(page []byte) { clear(page) },
			func(page []byte) { clear(page[512:1024]) },
			func(page []byte) { page[random.IntN(len(page))] ^= byte(1 + random.IntN(255)) },
			func(page []byte) { page[random.IntN(len(page))] ^= byte(1 + random.IntN(255)) },
			func(page []byte) { page[random.IntN(12)] ^= byte(1 + random.IntN(255)) },
		} {
			bad := damaged(t, path, page, change)
			to := bad + ".mended"
			indexes, err := Mend(t.Context(), bad, to)
			if err != nil {
				t.Errorf("page %d, change %d: %v (%v)", page, n, err, errors.Unwrap(errors.Unwrap(err)))
				continue
			}
			if len(indexes) > 0 {
				mended++
			}
			if got := linesOf(t, to); got != want {
				t.Errorf("page %d, change %d: other lines than before", page, n)
			}
		}
	}
	if mended < 40 {
		t.Errorf("only %d indexes were damaged: this shows nothing", mended)
	}
}

// TestDamagedRowsAreNotMended has pages of tables change. What is mended then has as many
// lines as before; what lost rows is refused.
func TestDamagedRowsAreNotMended(t *testing.T) {
	path, want := shelves(t)
	random := rand.New(rand.NewPCG(4, 4))
	refused := 0
	for _, page := range roots(t, path, "table") {
		for n, change := range []func(page []byte){
			func(page []byte) { clear(page) },
			func(page []byte) { clear(page[512:1024]) },
			func(page []byte) { page[3], page[4] = 0, 0 }, // no cells
			func(page []byte) { page[4]-- },
			func(page []byte) { page[random.IntN(len(page))] ^= byte(1 + random.IntN(255)) },
			func(page []byte) { page[random.IntN(len(page))] ^= byte(1 + random.IntN(255)) },
		} {
			bad := damaged(t, path, page, change)
			to := bad + ".mended"
			if _, err := Mend(t.Context(), bad, to); err != nil {
				if refused++; ambry.KindOf(err) != ambry.MemoryUnavailable {
					t.Errorf("page %d, change %d: %v", page, n, err)
				}
				if _, err := os.Stat(to); err == nil {
					t.Errorf("page %d, change %d: the copy is left", page, n)
				}
				continue
			}
			if got := linesOf(t, to); strings.Count(got, "\n") != strings.Count(want, "\n") {
				t.Errorf("page %d, change %d: %d lines of %d", page, n, strings.Count(got, "\n"), strings.Count(want, "\n"))
			}
		}
	}
	if refused < 30 {
		t.Errorf("only %d were refused: this shows nothing", refused)
	}
}
