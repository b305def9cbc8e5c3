package index_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ambry.dev/ambry/internal/memory/index"
)

// TestFilesThatNobodyListsAreRemoved leaves no bytes behind after a crash.
func TestFilesThatNobodyListsAreRemoved(t *testing.T) {
	l := newLibrary(t, 1)
	l.change(30)
	l.save()
	l.change(30)
	if _, err := l.x.Save(); err != nil { // killed before it is in the list
		t.Fatal(err)
	}
	l.reopen(nil)
	files, err := filepath.Glob(filepath.Join(l.config.Dir, "*"))
	if err != nil || len(files) != 1 {
		t.Errorf("the files are %v, %v", files, err)
	}
}

// TestNothingIsMergedWithoutRoom: what nobody waits for takes no room that is needed, but
// what is deleted is taken out of the files all the same.
func TestNothingIsMergedWithoutRoom(t *testing.T) {
	l := newLibrary(t, 2)
	for range 8 {
		l.change(30)
		l.save()
	}
	size, free := uint64(l.x.Size()), uint64(0)
	l.config.Room = func(bytes uint64) bool { return bytes <= free }
	l.reopen(nil)
	for _, aim := range []index.Aim{index.Few, index.Fewest} {
		if c, err := l.x.Merge(t.Context(), aim); c != nil || err != nil {
			t.Errorf("without room: %v, %v", c, err)
		}
	}
	free = size
	l.install(l.x.Merge(t.Context(), index.Few))
	if len(l.list) >= 8 {
		t.Errorf("%d files with room", len(l.list))
	}
	l.change(30)
	l.save()
	free = 0
	l.install(l.x.Merge(t.Context(), index.One))
	if len(l.list) != 1 {
		t.Errorf("%d files, all that is deleted may be in them", len(l.list))
	}
	l.check("merged")
}

// TestDamageIsFound changes single bytes: the file is refused, or an answer is an
// error, or nothing that was read was hit; never a crash.
func TestDamageIsFound(t *testing.T) {
	l := newLibrary(t, 5)
	l.change(600) // many lists have bits
	var more []index.Entry
	for id := range int64(2400) { // and one several pieces
		e := index.Entry{Doc: 1 << 20 * (1 + id), At: id}
		if id%15 == 0 {
			e.Columns[1] = "rare "
		}
		more = append(more, e)
	}
	l.x.Add(more, nil)
	l.save()
	l.x.Close()
	var file index.Segment
	for _, f := range l.list {
		file = f
	}
	path := filepath.Join(l.config.Dir, fmt.Sprintf("%08d.idx", file.ID))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i := 0; i < len(whole); i += 1 + l.IntN(160) {
		broken := slices.Clone(whole)
		broken[i] ^= byte(1 + l.IntN(255))
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		x, err := index.Open(l.config, []index.Segment{file}, nil)
		if err != nil {
			refused++
			continue
		}
		for range 5 {
			_, _ = x.Search(l.query(), 10)
		}
		x.PassFrom(1)
		for range 5 {
			_, _ = x.Search(index.Query{Any: []string{l.term(), l.term(), "rare"}}, 3)
		}
		_, _ = x.Merge(context.Background(), index.One)
		if x.Verify() == nil {
			t.Errorf("byte %d of %d is changed, and nobody sees it", i, len(whole))
		}
		x.Close()
	}
	if refused == 0 {
		t.Error("no file was refused")
	}
	for _, n := range []int{0, 10, len(whole) - 1} {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := index.Open(l.config, []index.Segment{file}, nil); err == nil {
			t.Errorf("a file of %d bytes of %d is taken", n, len(whole))
		}
	}
}
