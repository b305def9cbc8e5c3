package meaning

import (
	"math"
	"math/bits"

	"ambry.dev/ambry/internal/memory/store"
)

// Many models put what matters most into the first numbers: those that were made
// by analysis of principal components, as the embedding in the binary, and those
// that were trained to be cut off (Matryoshka). Then a row that is far by its
// first 64 signs is far, and the others need not be read. The more rows there
// are, the nearer are the nearest, and the smaller is the share that has them:
// see docs/adr/0030.
const (
	skimFrom    = 1 << 16 // memories; in fewer, all signs are looked at
	leadShare   = 0.55    // of the length of vectors, squared, must be in their first 64 numbers
	skimKept    = 48      // times the root of the rows are looked at whole
	skimSampled = 1 << 12 // rows, about, that tell how many of the first signs differ
	skimLeast   = 1 << 6  // of a script that pass the filter; fewer tell nothing
)

// told is what the vectors tell of their model.
type told struct {
	vectors int
	lead    float64 // length, squared, of the first 64 numbers, of all vectors
}

func (t *told) add(v store.Vector) {
	lead, all := 0, 0
	for i, c := range v.Codes {
		if all += int(c) * int(c); i == 63 {
			lead = all
		}
	}
	if all > 0 {
		t.vectors++
		t.lead += float64(lead) / float64(all)
	}
}

// cuts returns of how many of the first signs no more differ in the rows that are
// looked at whole, for each script; all of them if it is not worth it to skim.
func (x *index) cuts(q *sought) (cuts [scripts]int) {
	cuts = [scripts]int{64, 64}
	if x.count < skimFrom || x.told.lead < leadShare*float64(x.told.vectors) {
		return cuts
	}
	var differ [scripts][65]int
	var n [scripts]int
	want := present | q.filter.hidden
	rows := len(x.slabs) * slabRows
	step := rows/skimSampled | 1
	for row := 0; row < rows; row += step {
		s, i := x.slabs[row/slabRows], row%slabRows
		if s == nil || s.bits[i]&want != present || !q.filter.open && !q.filter.passes(s, i) {
			continue
		}
		script := s.script(i)
		differ[script][bits.OnesCount64(q.lead^s.lead[i])]++
		n[script]++
	}
	for script := range cuts {
		if n[script] < skimLeast {
			continue
		}
		keep := skimKept * math.Sqrt(float64(n[script]*step)) / float64(step)
		near := 0.0
		for d, rows := range differ[script] {
			before := near
			if near += float64(rows); near < keep {
				continue
			}
			if cuts[script] = d; near*before > keep*keep {
				cuts[script]-- // that comes closer
			}
			break
		}
	}
	return cuts
}

// skims reports whether not all signs of all rows are looked at.
func (q *sought) skims() bool { return q.cuts != [scripts]int{64, 64} }

// atOnce is how many rows are looked at by their first signs before any of them is
// looked at whole.
const atOnce = 256

// leader is a row that is near by its first signs, of which so many differ.
type leader struct{ row, differ uint8 }

// skim is look for those that are near by their first signs.
func (s *slab) skim(first int, q *sought, lists *[scripts]shortlist) {
	others, want := len(q.signs), present|q.filter.hidden
	var leaders [atOnce]leader
	for from := slabRows - atOnce; from >= 0; from -= atOnce {
		for _, l := range leaders[:s.leaders(from, q, &leaders)] {
			i := from + int(l.row)
			if s.bits[i]&want != present || !q.filter.open && !q.filter.passes(s, i) {
				continue
			}
			list := &lists[s.script(i)]
			if d := int(l.differ) + distance(q.signs, s.signs[i*others:(i+1)*others]); d < list.bound {
				list.add(first+i, d)
			}
		}
	}
}

// leaders notes which of some rows are near by their first signs, the newest
// first, and returns how many. It has no branches, which nobody could foretell.
func (s *slab) leaders(from int, q *sought, out *[atOnce]leader) (n int) {
	lead, has := (*[atOnce]uint64)(s.lead[from:]), (*[atOnce]uint8)(s.bits[from:])
	own, cut, more := q.lead, q.cuts[store.Spaced]+1, q.cuts[store.Unspaced]-q.cuts[store.Spaced]
	for i := atOnce - 1; i >= 0; i-- {
		d := bits.OnesCount64(own ^ lead[i])
		out[n&(atOnce-1)] = leader{uint8(i), uint8(d)}
		n += int(uint(d-cut-more*int(has[i]/unspaced&1)) >> 63)
	}
	return n
}
