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
			if w := word(); !slices.Contains(q.Any, w) {
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
						says, most := u.says(gain(p.weight(), s.sizes[p.doc()], mean)), uint32(u.count*boundAt(w.bound, s.mean, mean)*sumOne)+slack
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
