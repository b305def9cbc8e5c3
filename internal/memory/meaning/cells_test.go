package meaning

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/home"
	"ambry.dev/ambry/internal/memory/store"
)

// sort arranges until there is nothing left to do.
func (x *index) sort() {
	for x.arrange(context.Background()) {
	}
}

// verify compares what the index says of itself.
func (x *index) verify(t *testing.T) {
	t.Helper()
	count, words := 0, x.words()
	for of := range x.cells {
		c := &x.cells[of]
		var rows [scripts]int
		for cell := range c.piles {
			for script := range c.piles[cell] {
				p := &c.piles[cell][script]
				rows[script] += p.n
				for place := range p.n {
					s, i := p.at(place)
					want := spot{after: uint32(place + 1), cell: uint16(cell), script: uint8(script), of: uint8(of)}
					if got := *x.spot(int(s.records[i].row)); got != want {
						t.Fatalf("row %d is at %+v, told to be at %+v", s.records[i].row, want, got)
					}
					codes := x.codes(int(s.records[i].row), make([]byte, maxDims))
					signs := make([]uint64, words)
					if signsOf(signs, codes); !slices.Equal(signs, s.signs[i*words:(i+1)*words]) {
						t.Fatalf("row %d has the signs of another", s.records[i].row)
					}
				}
				if n := len(p.stretches); n != (p.n+stretchRows-1)/stretchRows || n > 0 && p.stretches[n-1].n != (p.n-1)%stretchRows+1 {
					t.Fatalf("%d memories are in %d stretches", p.n, n)
				}
			}
		}
		if rows != c.rows {
			t.Fatalf("there are %v memories, told to be %v", rows, c.rows)
		}
		count += rows[0] + rows[1]
	}
	if count != x.count {
		t.Fatalf("there are %d memories, told to be %d", count, x.count)
	}
}

// exhaustive returns the nearest of all that pass, by looking at each.
func (x *index) exhaustive(v []float32, script store.Script, f filter, n int) []neighbour {
	var rows []int64
	for row := range int64(len(x.slabs) * slabRows) {
		if !x.has(row) {
			continue
		}
		at := x.spot(int(row))
		s, i := x.pile(at).at(int(at.after) - 1)
		if store.Script(at.script) == script && s.bits[i]&f.hidden == 0 && (!f.of || s.projects[i] == f.project) && f.passes(s, i) {
			rows = append(rows, row)
		}
	}
	return x.closest(v, rows, n)
}

// recall is the share of the nearest ten, of those that pass a filter, that is found.
func (x *index) recall(rng *rand.Rand, vectors [][]float32, p store.Places, script store.Script) float64 {
	wanted, found := 0, 0
	for range 20 {
		q := direction(rng, vectors[rng.IntN(len(vectors))], x.dims)
		got, _ := x.nearest(q, script, newFilter(p), 10, nil)
		for _, e := range x.exhaustive(q, script, newFilter(p), 10) {
			wanted++
			if slices.ContainsFunc(got, func(n neighbour) bool { return n.row == e.row }) {
				found++
			}
		}
	}
	return float64(found) / float64(max(wanted, 1))
}

// TestOfManyTheNearestCellsAreEnough sorts, and compares what is found with a look
// at all, also of those that pass a filter, however few or far.
func TestOfManyTheNearestCellsAreEnough(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const dims, many = 128, 1 << 14
	vectors := clusters(rng, many, dims)
	x := index{least: many}
	for i, v := range vectors {
		script := store.Spaced
		if i%50 == 0 {
			script = store.Unspaced
		}
		vector := store.NewVector(v)
		vector.Script = script
		_ = x.put(store.Placed{Place: store.Place{Row: int64(i + 1), Layer: ambry.L1, Agent: int64(i % 3), Project: int64(i % 1000), At: int64(i), Archived: i%7 == 0}, Vector: vector})
	}
	filters := []struct {
		name   string
		places store.Places
		script store.Script
	}{
		{"all", store.Places{Archived: true}, store.Spaced},
		{"what is not archived", store.Places{}, store.Spaced},
		{"of one agent", store.Places{Agents: []int64{1}}, store.Spaced},
		{"of a project", store.Places{Projects: []int64{7}}, store.Spaced},
		{"of two projects", store.Places{Projects: []int64{7, 500}}, store.Spaced},
		{"in another script", store.Places{}, store.Unspaced},
		{"of the last minutes", store.Places{After: many - 300}, store.Spaced},
	}
	before := make([]float64, len(filters))
	for i, f := range filters {
		before[i] = x.recall(rand.New(rand.NewPCG(7, 8)), vectors, f.places, f.script)
	}
	x.sort()
	x.verify(t)
	if c := &x.cells[x.now]; !c.sorted() || len(c.piles) != 256 || !x.cells[1-x.now].empty() {
		t.Fatalf("%d cells", len(c.piles))
	}
	for i, f := range filters {
		if got := x.recall(rand.New(rand.NewPCG(7, 8)), vectors, f.places, f.script); got < before[i]-0.03 || got < .8 {
			t.Errorf("%s: %.3f of the nearest are found, %.3f if all are looked at", f.name, got, before[i])
		}
	}
	var d desk
	d.begin(&x, direction(rng, vectors[5], dims))
	x.look(&filter{}, &d, store.Spaced, 10)
	looked := 0
	for _, s := range d.stretches {
		looked += s.n
	}
	if looked > many/3 {
		t.Errorf("it looks at %d of %d", looked, many)
	}
	d.giveBack()
	if held := func(s *stretch) bool { return s != nil }; slices.ContainsFunc(d.stretches[:cap(d.stretches)], held) || d.order[0].piles != nil {
		t.Error("a desk that waits for the next search holds memories, which may be gone by then")
	}
}

// TestSortedAndUnsortedAreFound changes the index while it is sorted, for the first
// time and again, with a shelf: nothing is lost, found twice, or another.
func TestSortedAndUnsortedAreFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const dims, many = 32, 1 << 13
	dir := t.TempDir()
	x := index{least: many, shelf: shelf{open: func() (*os.File, error) { return home.Scratch(dir) }}}
	defer x.close()
	some := clusters(rng, 3000, dims)
	has := map[int64]int{} // which of some
	change := func(n int) {
		for range n {
			row := rng.Int64N(4 * many)
			if rng.IntN(4) == 0 {
				x.remove(row)
				delete(has, row)
				continue
			}
			has[row] = rng.IntN(len(some))
			vector := store.NewVector(some[has[row]])
			vector.Script = store.Script(row % 2)
			if err := x.put(store.Placed{Place: store.Place{Row: row, Layer: ambry.L1}, Vector: vector}); err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(when string) {
		t.Helper()
		x.verify(t)
		if x.size() != len(has) {
			t.Fatalf("%s: %d memories, want %d", when, x.size(), len(has))
		}
		for row, of := range has {
			if row%97 > 0 {
				continue
			}
			found, _ := x.nearest(some[of], store.Script(row%2), newFilter(store.Places{}), 300, nil)
			times := 0
			for _, f := range found {
				if f.row == row {
					times++
				}
			}
			if times != 1 {
				t.Fatalf("%s: row %d is found %d times", when, row, times)
			}
		}
	}
	for len(has) < many {
		change(1000)
	}
	steps := 0
	for x.arrange(t.Context()) {
		change(300)
		check("while it is sorted")
		steps++
	}
	check("sorted")
	if steps < 3 {
		t.Errorf("it is sorted in %d steps", steps)
	}
	first := len(x.cells[x.now].piles)
	for row := int64(4 * many); len(has) < first*first; row++ {
		has[row] = rng.IntN(len(some))
		vector := store.NewVector(some[has[row]])
		vector.Script = store.Script(row % 2)
		_ = x.put(store.Placed{Place: store.Place{Row: row, Layer: ambry.L1}, Vector: vector})
	}
	x.arrange(t.Context())
	x.arrange(t.Context())
	check("while it is sorted anew")
	x.sort()
	check("sorted anew")
	if again := len(x.cells[x.now].piles); again < 2*first {
		t.Errorf("%d cells, then %d", first, again)
	}
	x.empty()
	has = map[int64]int{}
	change(100)
	x.sort()
	check("emptied")
}

// TestSortingEndsWithItsContext stops it before the first round.
func TestSortingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rng := rand.New(rand.NewPCG(5, 6))
	var sample []byte
	for _, v := range clusters(rng, 100, 16) {
		for _, c := range store.NewVector(v).Codes {
			sample = append(sample, byte(c))
		}
	}
	if centred(ctx, sample, 16, 10) != nil || centred(t.Context(), sample, 16, 101) != nil {
		t.Error("there are centres")
	}
	if c := centred(t.Context(), sample, 16, 10); c == nil || len(c.piles) != 10 {
		t.Error("there are no centres")
	}
}

// TestVectorsAreSortedWhileTheyAreRead starts with more than are read at a time.
func TestVectorsAreSortedWhileTheyAreRead(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "memory.db"))
	defer s.Close()
	const many, clients = loadBatch + 100, 20
	var wait sync.WaitGroup
	for c := range clients {
		wait.Go(func() {
			for i := range many / clients {
				if _, err := s.Add(t.Context(), ambry.Note{Content: fmt.Sprint("note ", strings.Repeat("a", i), strings.Repeat("b", 5*c))}, ""); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	m := New(Config{Store: s, Embedder: &letters{space: "one"}})
	if _, err := m.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	for n := 1; n > 0; {
		var err error
		if n, err = m.batch(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	m = New(Config{Store: s, Embedder: &letters{space: "one"}})
	m.index.least = loadBatch / 2
	if _, err := m.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.index.verify(t)
	if c := &m.index.cells[m.index.now]; m.index.size() < many/clients*clients || !c.sorted() || c.empty() || !m.index.cells[1-m.index.now].empty() {
		t.Errorf("%d vectors, sorted: %v; %v of them, %v are not", m.index.size(), c.sorted(), c.rows, m.index.cells[1-m.index.now].rows)
	}
}
