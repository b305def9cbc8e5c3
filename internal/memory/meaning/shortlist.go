package meaning

import (
	"cmp"
	"slices"
	"sync"
)

// shortlist gathers the rows at the smallest distances. Rows are added from the
// last on, so that of those at the same distance the first added are kept.
type shortlist struct {
	want  int
	bound int // rows at this distance and beyond are not among the best any more
	cut   int // the greatest distance of the best, once there are enough
	n     int // rows up to it
	at    []int
	rows  []listed
}

type listed struct {
	row      int64
	distance int
}

// shortlists are used again, one for each script.
var shortlists = sync.Pool{New: func() any { return new([scripts]shortlist) }}

// begin empties the list for so many rows, at distances up to the farthest.
func (l *shortlist) begin(want, farthest int) {
	at := slices.Grow(l.at[:0], farthest+1)[:farthest+1]
	clear(at)
	*l = shortlist{want: want, bound: farthest + 1, cut: farthest, at: at, rows: l.rows[:0]}
}

// add adds a row at a distance below the bound.
func (l *shortlist) add(row, distance int) {
	l.rows = append(l.rows, listed{int64(row), distance})
	l.at[distance]++
	if l.n++; l.n < l.want {
		return
	}
	for l.n-l.at[l.cut] >= l.want {
		l.n -= l.at[l.cut]
		l.cut--
	}
	l.bound = l.cut
}

// join takes what another list has. Nothing is added after that.
func (l *shortlist) join(o *shortlist) {
	l.rows = append(l.rows, o.rows...)
	for d, n := range o.at {
		l.at[d] += n
	}
}

// best returns the rows with the smallest distances, at most as many as are wanted.
func (l *shortlist) best() []int64 {
	cut, n := 0, l.at[0]
	for n < l.want && cut < len(l.at)-1 {
		cut++
		n += l.at[cut]
	}
	l.rows = slices.DeleteFunc(l.rows, func(r listed) bool { return r.distance > cut })
	slices.SortFunc(l.rows, func(a, b listed) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(b.row, a.row))
	})
	out := make([]int64, min(l.want, len(l.rows)))
	for i := range out {
		out[i] = l.rows[i].row
	}
	return out
}
