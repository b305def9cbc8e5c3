package meaning

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestShortlistHasTheNearest compares with all rows in order, at distances of which
// many are the same.
func TestShortlistHasTheNearest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var lists [2]shortlist // used again and again
	for range 200 {
		n, want, farthest := rng.IntN(500), 1+rng.IntN(60), 1+rng.IntN(64)
		for i := range lists {
			lists[i].begin(want, farthest)
		}
		var all []listed
		for row := n; row > 0; row-- {
			d := rng.IntN(farthest + 1)
			if rng.IntN(3) == 0 {
				d = farthest
			}
			all = append(all, listed{int64(row), d})
			if l := &lists[row/7%2]; d < l.bound {
				l.add(row, d)
			}
		}
		slices.SortFunc(all, func(a, b listed) int {
			return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(b.row, a.row))
		})
		var rows []int64
		for _, one := range all[:min(want, n)] {
			rows = append(rows, one.row)
		}
		kept := len(lists[0].rows)
		lists[0].join(&lists[1])
		if got := lists[0].best(); !slices.Equal(got, rows) {
			t.Fatalf("%d of %d at up to %d: got %v, want %v", want, n, farthest, got, rows)
		}
		if want == 1 && n > 100 && kept > 50 {
			t.Errorf("it keeps %d of %d rows for one", kept, n)
		}
	}
}
