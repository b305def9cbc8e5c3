package meaning

import (
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"ambry.dev/ambry/internal/home"
	"ambry.dev/ambry/internal/memory/store"
)

// wide is a length of vectors of which one slab alone takes all memory there is
// for codes.
const wide = keptBytes / slabRows

func TestTheSameIsFoundWithAShelf(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	dir := t.TempDir()
	shelved := index{shelf: shelf{open: func() (*os.File, error) { return home.Scratch(dir) }}}
	defer shelved.close()
	var whole index
	vectors := clusters(rng, 120, wide)
	for n, v := range vectors {
		p := store.Placed{Place: store.Place{Row: int64(n)/30%3*slabRows + int64(n)%28}, Vector: store.NewVector(v)}
		for _, x := range []*index{&shelved, &whole} {
			if err := x.put(p); err != nil {
				t.Fatal(err)
			}
			if n%5 == 0 {
				x.remove(p.Row)
			}
		}
	}
	for n := range vectors[:8] {
		got, mean := shelved.nearest(vectors[n], store.Spaced, newFilter(store.Places{}), 20, func() []int64 { return []int64{3} })
		want, wantMean := whole.nearest(vectors[n], store.Spaced, newFilter(store.Places{}), 20, func() []int64 { return []int64{3} })
		if !slices.Equal(got, want) || mean != wantMean {
			t.Fatalf("found is %v, mean %v; without a shelf %v, %v", got, mean, want, wantMean)
		}
	}
	if shelved.bytes() > whole.bytes()/2 {
		t.Errorf("it takes %d bytes, without a shelf %d", shelved.bytes(), whole.bytes())
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) > 1 {
		t.Errorf("in the directory is %v, %v", names, err)
	}
	shelved.empty()
	if err := shelved.put(store.Placed{Vector: store.NewVector(vectors[0])}); err != nil || shelved.size() != 1 {
		t.Errorf("emptied, it takes no vector: %v", err)
	}
}

func TestWithoutAFileForTheShelfVectorsStayInMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	full := errors.New("no space left on device")
	x := index{shelf: shelf{open: func() (*os.File, error) { return nil, full }}}
	vectors := clusters(rng, 3, wide)
	failed := 0
	for n, v := range vectors {
		if err := x.put(store.Placed{Place: store.Place{Row: int64(n) * slabRows}, Vector: store.NewVector(v)}); errors.Is(err, full) {
			failed++
		}
	}
	got, _ := x.nearest(vectors[0], store.Spaced, newFilter(store.Places{}), 3, nil)
	if failed != 2 || len(got) != 3 || got[0].row != 0 {
		t.Errorf("%d puts failed, found is %v", failed, got)
	}
}

func TestWhatCannotBeReadFromTheShelfIsNotFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	dir := t.TempDir()
	x := index{shelf: shelf{open: func() (*os.File, error) { return home.Scratch(dir) }}}
	vectors := clusters(rng, 2, wide)
	for n, v := range vectors {
		if err := x.put(store.Placed{Place: store.Place{Row: int64(n) * slabRows}, Vector: store.NewVector(v)}); err != nil {
			t.Fatal(err)
		}
	}
	x.close() // every read fails from now on
	got, _ := x.nearest(vectors[0], store.Spaced, newFilter(store.Places{}), 2, func() []int64 { return []int64{0} })
	if len(got) != 1 || got[0].row != slabRows {
		t.Errorf("found is %v", got)
	}
	if err := x.put(store.Placed{Vector: store.NewVector(vectors[1])}); err == nil {
		t.Error("it is put where the others cannot be read")
	}
	if x.size() != 1 {
		t.Errorf("%d are left", x.size())
	}
}
