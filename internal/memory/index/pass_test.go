package index

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// shelf returns an index of documents in two files and in memory, some of which
// are deleted or replaced, whose words are as unevenly common as those of a
// language.
func shelf(t testing.TB, docs int64) (*Index, func() string) {
	t.Helper()
	x, err := Open(Config{Dir: t.TempDir(), Weights: [Columns]float64{1, .25, .4, .5, 0}, Own: [Columns]bool{true, true}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	rng := rand.New(rand.NewPCG(3, 4))
	zipf := rand.NewZipf(rng, 1.07, 10, 30_000)
	word := func() string { return fmt.Sprintf("w%d", zipf.Uint64()) }
	text := func(n int) string {
		var out strings.Builder
		for range rng.IntN(n) {
			out.WriteString(word() + " ")
		}
		return out.String()
	}
	for id := range docs {
		entry := Entry{Doc: id, At: rng.Int64N(100), Columns: [Columns]string{text(30), text(240), text(20), "", fmt.Sprintf(".p%d ", id%7)}}
		x.Add([]Entry{entry}, nil)
		if id%29 == 0 && id > 100 {
			x.Add(nil, []int64{rng.Int64N(id)})
		}
		if id == docs/2 || id == docs-500 {
			c, err := x.Save()
			if err != nil || !x.Prepare(c) {
				t.Fatal(err)
			}
			if err := x.Install(c); err != nil {
				t.Fatal(err)
			}
		}
	}
	return x, word
}

// share is how many documents of all have a term.
func share(t *testing.T, x *Index, term string) float64 {
	t.Helper()
	found, err := x.Search(Query{Any: []string{term}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return float64(found.Total) / float64(x.Len())
}

// TestWhatIsPassedOverIsNotAmongTheBest compares searches that pass over documents
// with ones that want all, and so cannot.
func TestWhatIsPassedOverIsNotAmongTheBest(t *testing.T) {
	const docs = 40_000
	x, word := shelf(t, docs)
	x.many = 1000
	rng := rand.New(rand.NewPCG(5, 6))
	fewer := 0
	for range 150 {
		q := Query{Own: rng.IntN(4) == 0}
		for range 2 + rng.IntN(9) {
			if w := word(); !slices.Contains(q.Any, w) && share(t, x, w) < .49 {
				q.Any = append(q.Any, w)
			}
		}
		switch rng.IntN(6) {
		case 0:
			q.Scope = [][]string{{".p1", ".p5"}}
		case 1:
			q.Not = [][]string{{word()}}
		case 2:
			q.From, q.Before = 20, 60
		case 3:
			q.Prefix = []string{"w299"}
		}
		all, err := x.Search(q, docs)
		if err != nil {
			t.Fatal(err)
		}
		for _, limit := range []int{1, 10, 100} {
			got, err := x.Search(q, limit)
			if err != nil || !slices.Equal(got.Hits, all.Hits[:min(limit, len(all.Hits))]) {
				t.Fatalf("%+v: the best %d are %v, want %v, error %v", q, limit, got.Hits, all.Hits[:min(limit, len(all.Hits))], err)
			}
			if got.Total > len(all.Hits) || got.Total < len(got.Hits) || got.Total < len(all.Hits) && !got.AtLeast {
				t.Fatalf("%+v: %d of %d are counted, at least: %v", q, got.Total, len(all.Hits), got.AtLeast)
			}
			if got.Total < len(all.Hits) {
				fewer++
			}
		}
	}
	if fewer < 100 {
		t.Errorf("%d of 450 searches passed anything over", fewer)
	}
}

// TestWhatIsInMostDocumentsIsLeftOut asks for words with and without those that are in
// most documents, and for these alone.
func TestWhatIsInMostDocumentsIsLeftOut(t *testing.T) {
	const docs = 20_000
	x, word := shelf(t, docs)
	x.many = 1000
	var usual []string
	for i := range 10 {
		if w := fmt.Sprintf("w%d", i); share(t, x, w) > .51 {
			usual = append(usual, w)
		}
	}
	if len(usual) < 2 {
		t.Fatalf("%v are in most documents", usual)
	}
	search := func(limit int, any ...string) Found {
		t.Helper()
		found, err := x.Search(Query{Any: any}, limit)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	for range 30 {
		rare := []string{word(), "w40", "w50", "w300"}
		if rare[0] == rare[1] || rare[0] == rare[2] || rare[0] == rare[3] || share(t, x, rare[0]) > .49 {
			continue
		}
		with, without := search(50, slices.Concat(rare, usual)...), search(50, rare...)
		if !slices.Equal(with.Hits, without.Hits) {
			t.Errorf("with %v others are found for %v", usual, rare)
		}
		if with.Total < docs/2 || !with.AtLeast {
			t.Errorf("%d are found, though %v are in more", with.Total, usual)
		}
	}
	if found := search(50, usual...); len(found.Hits) != 50 || found.Total < docs/2 {
		t.Errorf("of %v alone %d of %d are found", usual, len(found.Hits), found.Total)
	}
	few := search(docs, "w29999", usual[0])
	if len(few.Hits) < docs/2 {
		t.Errorf("%d are found, though %s is in more", len(few.Hits), usual[0])
	}
}

// TestNoGainIsAboveItsBound looks at all lists, at the mean that there is and at others.
func TestNoGainIsAboveItsBound(t *testing.T) {
	x, _ := shelf(t, 3000)
	lists := 0
	for _, s := range x.segments {
		for block := range s.blocks {
			if err := s.block(block, func(term []byte, w word) bool {
				list, err := s.postings(nil, w)
				if err != nil {
					t.Fatal(err)
				}
				lists++
				own := 0
				for _, p := range list {
					if p.own() {
						own++
					}
					for _, mean := range []float32{s.mean / 3, s.mean, s.mean * 1.01, s.mean * 7} {
						u := unit{count: 3}
						says, most := u.says(gain(p.weight(), s.sizes[p.doc()], perTerm(mean))), uint32(u.count*boundAt(w.bound, s.mean, mean)*sumOne)+slack
						if says > most {
							t.Fatalf("%s says %d of %d, at most %d, where documents have %g terms", term, says, p.doc(), most, mean)
						}
					}
				}
				if own != w.own {
					t.Errorf("%s is %d times in a column of its own, not %d", term, own, w.own)
				}
				return true
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if lists < 1000 {
		t.Errorf("%d lists", lists)
	}
}
