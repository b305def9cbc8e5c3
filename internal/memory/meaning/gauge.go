package meaning

import (
	"math"
	"math/bits"
)

// gauge tells how far vectors are from one by their signs: each number whose sign is
// another counts as much as it is large in the one (Gordo, Perronnin, Gong and Lazebnik,
// Asymmetric Distances for Binary Embeddings, 2014).
type gauge struct {
	tables   [][256]uint16 // of every eight numbers, by their signs
	farthest int           // the distance of what differs in all
}

// reach is about how far the farthest is.
const reach = 1 << 12

// set makes it the gauge of v.
func (g *gauge) set(v []float32) {
	words := (len(v) + 63) / 64
	if len(g.tables) != 8*words {
		g.tables = make([][256]uint16, 8*words)
	}
	sum := 0.0
	for _, x := range v {
		sum += math.Abs(float64(x))
	}
	g.farthest = 0
	for b := range g.tables {
		var adds [8]uint16 // what a bit that is set adds, modulo
		none := uint16(0)  // what no bit is
		for i, x := range v[min(8*b, len(v)):min(8*b+8, len(v))] {
			adds[i] = uint16(math.Round(math.Abs(float64(x)) * reach / max(sum, math.SmallestNonzeroFloat32)))
			g.farthest += int(adds[i])
			if x > 0 {
				none += adds[i]
				adds[i] = -adds[i]
			}
		}
		t := &g.tables[b]
		t[0] = none
		for signs := uint(1); signs < uint(len(t)); signs++ {
			t[signs] = t[signs&(signs-1)] + adds[bits.TrailingZeros(signs)]
		}
	}
}

// distance is that of a vector with such signs, or at least so much where that is no
// less than a bound.
func (g *gauge) distance(signs []uint64, bound int) (d int) {
	tables := g.tables[:8*len(signs)]
	for _, s := range signs {
		t := (*[8][256]uint16)(tables)
		tables = tables[8:]
		d += int(t[0][byte(s)]) + int(t[1][byte(s>>8)]) + int(t[2][byte(s>>16)]) + int(t[3][byte(s>>24)]) +
			int(t[4][byte(s>>32)]) + int(t[5][byte(s>>40)]) + int(t[6][byte(s>>48)]) + int(t[7][byte(s>>56)])
		if d >= bound {
			return d
		}
	}
	return d
}
