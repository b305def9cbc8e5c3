package recall

import (
	"cmp"
	"slices"
)

// maxApart is how many memories may have been added between a turn and the next
// of its session: several sessions go on at a time.
const maxApart = 4

// neighbour is a turn near another one in its session.
type neighbour struct {
	by    int     // so many turns later
	lends float64 // so much of its words
	own   sign    // where its own score is noted
}

var neighbours = [...]neighbour{
	{-1, 0.4, byBefore}, {1, 0.3, byAfter}, {-2, 0.2, byBefore2}, {2, 0.15, byAfter2},
}

// maxLent is how often a word counts that a neighbour says.
const maxLent = 2

// byNeighbours tells how well the turns around a turn fit, as far as they were
// looked at too: one that shares no word with the question was not.
func byNeighbours(a asked, all []ranked, size float64) {
	line := pointers(all)
	slices.SortFunc(line, func(x, y *ranked) int {
		return cmp.Or(cmp.Compare(x.text.In.Session, y.text.In.Session), x.text.CreatedAt.Compare(y.text.CreatedAt), cmp.Compare(x.text.Row, y.text.Row))
	})
	best, weight := 1e-9, max(a.weight, 1e-9)
	often, wide := make([]float64, len(a.units)), make([]float64, len(a.units))
	for i, r := range line {
		copy(often, r.look.often)
		copy(wide, r.look.alike)
		for _, n := range neighbours {
			j := i + n.by
			if j < 0 || j >= len(line) || !line[j].follows(r) {
				continue
			}
			o := line[j]
			r.signs[n.own] = o.signs[byOwn]
			if n.own == byBefore && o.look.ends {
				r.signs[byAnswer] = o.signs[byOwn]
			}
			for u := range often {
				often[u] += n.lends * min(o.look.often[u], maxLent)
				wide[u] = max(wide[u], o.look.alike[u])
			}
		}
		r.signs[byField] = bm25(a, often, r.look.size, size, 0.5)
		r.signs[byWide] = min(sum(wide)/weight, 1)
		best = max(best, r.signs[byField])
	}
	for _, r := range line {
		r.signs[byField] /= best
	}
}

// follows reports whether two turns are near each other in a session.
func (r *ranked) follows(o *ranked) bool {
	d := r.text.Row - o.text.Row
	return r.text.In.Session != 0 && r.text.In.Session == o.text.In.Session && -maxApart <= d && d <= maxApart
}
