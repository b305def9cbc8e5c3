package meaning

import (
	"cmp"
	"context"
	"math"
)

// Numbers of sorting.
const (
	sortFrom = 1 << 12 // memories; of fewer, searches look at all
	sortAt   = 4       // times as many as when they were sorted: they are sorted anew
	perRoot  = 2       // cells, for each that the root of the number of memories is
	maxCells = 1 << 12
	perCell  = 32 // memories that tell where its centre is
	rounds   = 4  // of that
	atOnce   = 64 // memories are read or moved while others wait
	perStep  = 64 // of these make a step
)

// arrange goes on with sorting the memories into cells, a step at a time, and
// reports whether it did anything. It is for one goroutine; others may search and
// change the index meanwhile.
func (x *index) arrange(ctx context.Context) bool {
	x.mu.RLock()
	n, dims, begins := x.count, x.dims, x.begins
	now, before := &x.cells[x.now], &x.cells[1-x.now]
	moving := !before.empty()
	had := len(now.piles) / perRoot // the root of how many there were
	if !now.sorted() {
		had = 0
	}
	x.mu.RUnlock()
	switch {
	case moving:
		x.move(begins)
		return true
	case n < max(cmp.Or(x.least, sortFrom), sortAt*had*had) || had == maxCells/perRoot:
		return false
	}
	k := min(int(perRoot*math.Sqrt(float64(n))), maxCells)
	c := centred(ctx, x.sample(k*perCell, begins), dims, k)
	if c == nil {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.begins == begins {
		x.now = 1 - x.now
		x.cells[x.now] = *c
	}
	return true
}

// sample returns the codes of so many memories, from all over the index, or of
// fewer.
func (x *index) sample(n, begins int) (codes []byte) {
	var buffer [maxDims]byte
	for next := 0; ; {
		x.mu.RLock()
		rows := len(x.slabs) * slabRows
		step := max(x.count/n, 1)
		for range atOnce {
			if next >= rows || x.begins != begins {
				x.mu.RUnlock()
				return codes
			}
			if x.has(int64(next)) {
				codes = append(codes, x.codes(next, buffer[:])...)
			}
			next += step
		}
		x.mu.RUnlock()
	}
}

// centred returns empty cells whose centres are the means of what lies around them
// (spherical k-means: Dhillon and Modha, 2001), nil if there is too little or ctx ends.
func centred(ctx context.Context, sample []byte, dims, k int) *cells {
	if dims == 0 || len(sample)/dims < k {
		return nil
	}
	n, words := len(sample)/dims, (dims+63)/64
	of := func(i int) []byte { return sample[i*dims : (i+1)*dims] }
	signs := make([]uint64, n*words)
	for i := range n {
		signsOf(signs[i*words:(i+1)*words], of(i))
	}
	c := &cells{centres: make([]float32, k*dims), signs: make([]uint64, k*words), piles: make([][scripts]pile, k)}
	for i := range k {
		c.move(i, of(i*n/k))
	}
	sums := make([]float32, k*dims)
	members := make([]int, k)
	for range rounds {
		if ctx.Err() != nil {
			return nil
		}
		clear(sums)
		clear(members)
		for i := range n {
			cell := c.nearest(of(i), signs[i*words:(i+1)*words])
			scale := 1 / length(of(i))
			for j, code := range of(i) {
				sums[cell*dims+j] += scale * float32(int8(code))
			}
			members[cell]++
		}
		for i := range k {
			if members[i] > 0 {
				c.moveTo(i, sums[i*dims:(i+1)*dims])
			}
		}
	}
	return c
}

// length is that of a vector.
func length(codes []byte) float32 {
	sum := 0
	for _, c := range codes {
		sum += int(int8(c)) * int(int8(c))
	}
	return float32(math.Sqrt(float64(max(sum, 1))))
}

// move makes a vector the centre of a cell.
func (c *cells) move(cell int, codes []byte) {
	v := make([]float32, len(codes))
	for j, code := range codes {
		v[j] = float32(int8(code))
	}
	c.moveTo(cell, v)
}

// moveTo makes the centre of a cell one in a direction.
func (c *cells) moveTo(cell int, v []float32) {
	n := float32(math.Sqrt(float64(likeness(v, v))))
	if n == 0 {
		return
	}
	centre := c.centre(cell, len(v))
	words := (len(v) + 63) / 64
	signs := c.signs[cell*words : (cell+1)*words]
	clear(signs)
	for j, x := range v {
		centre[j] = x / n
		if x > 0 {
			signs[j/64] |= 1 << (j % 64)
		}
	}
}

// move moves some memories to the cells of now.
func (x *index) move(begins int) {
	var buffer [maxDims]byte
	for range perStep {
		x.mu.Lock()
		for range atOnce {
			l := x.cells[1-x.now].last()
			if l == nil || x.begins != begins {
				x.cells[1-x.now] = cells{}
				break
			}
			s, i := l.at(l.n - 1)
			e := entry{s.records[i], s.projects[i], s.bits[i]}
			row := int(e.row)
			codes := x.codes(row, buffer[:])
			if codes == nil {
				x.drop(row/slabRows, row%slabRows) // nobody could compare it either
				continue
			}
			_, script := x.record(row)
			x.takeOut(row)
			x.putIn(e, script, codes)
		}
		done := x.cells[1-x.now].empty()
		x.mu.Unlock()
		if done {
			return
		}
	}
}

// last returns a pile that is not empty, nil if there is none.
func (c *cells) last() *pile {
	for i := len(c.piles) - 1; i >= 0; i-- {
		for script := range c.piles[i] {
			if c.piles[i][script].n > 0 {
				return &c.piles[i][script]
			}
		}
		c.piles = c.piles[:i]
	}
	return nil
}
