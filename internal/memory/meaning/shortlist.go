package meaning

import (
	"cmp"
	"slices"
)

// shortlist gathers the rows at the smallest distances; of those at the same the
// last ones.
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
	l.bound = l.cut + 1
}

// join takes what another list has.
func (l *shortlist) join(o *shortlist) {
	for _, r := range o.rows {
		if r.distance < l.bound {
			l.add(int(r.row), r.distance)
		}
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
