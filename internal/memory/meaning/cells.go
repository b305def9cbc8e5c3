package meaning

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"ambry.dev/ambry/internal/memory/store"
)

// Many memories are sorted into cells (an inverted file: Jégou, Douze and Schmid,
// Product Quantization for Nearest Neighbor Search, 2011): each has a centre, and a
// memory is in the cell of the centre that is nearest to it. A search looks at the
// cells whose centres are nearest to the question. See docs/adr/0032.
type cells struct {
	centres []float32       // one after the other, each of length 1; none while nothing is sorted
	signs   []uint64        // of them
	piles   [][scripts]pile // of each centre; of one that is nowhere if nothing is sorted
	rows    [scripts]int    // in them
}

// pile is the memories of a cell in one script.
type pile struct {
	stretches []*stretch // all full but the last one
	n         int
}

// stretchRows is how many memories a stretch has room for.
const stretchRows = 128

// stretch holds what a search looks at of some memories: of all of them the bits,
// the projects if it is for one, and the signs; of some the records.
type stretch struct {
	n        int
	bits     [stretchRows]uint8
	projects [stretchRows]uint32
	signs    []uint64 // of the numbers of each vector, a bit each
	records  [stretchRows]record
}

// record is what else is known of a memory beside its vector.
type record struct {
	at             int64 // as in store.Place, in fewer bytes, like the next
	agent, session uint32
	row            uint32
	scale          float32
}

// entry is a memory on its way into a stretch.
type entry struct {
	record
	project uint32
	bits    uint8
}

// spot is where the record of a row is.
type spot struct {
	after  uint32 // its place in the pile and 1; 0 if there is none
	cell   uint16
	script uint8
	of     uint8 // which of the index's cells
}

const (
	spotBytes    = int(unsafe.Sizeof(spot{}))
	stretchBytes = int(unsafe.Sizeof(stretch{}))
)

func (s spot) none() bool { return s.after == 0 }

// sorted reports whether the memories are by their centres.
func (c *cells) sorted() bool { return len(c.centres) > 0 }

func (c *cells) empty() bool { return c.rows == [scripts]int{} }

func (c *cells) bytes(words int) int {
	n := 4*len(c.centres) + 8*len(c.signs)
	for i := range c.piles {
		for script := range c.piles[i] {
			n += len(c.piles[i][script].stretches) * (stretchBytes + stretchRows*words*8)
		}
	}
	return n
}

// add adds a record with the signs of its vector, and returns its place and 1.
func (l *pile) add(e entry, signs []uint64) (after uint32) {
	i := l.n % stretchRows
	if i == 0 {
		l.stretches = append(l.stretches, &stretch{signs: make([]uint64, stretchRows*len(signs))})
	}
	s := l.stretches[len(l.stretches)-1]
	s.records[i], s.projects[i], s.bits[i] = e.record, e.project, e.bits
	copy(s.signs[i*len(signs):], signs)
	s.n++
	l.n++
	return uint32(l.n)
}

// at returns where the record at a place is.
func (l *pile) at(place int) (*stretch, int) {
	return l.stretches[place/stretchRows], place % stretchRows
}

// cut takes the last record out. Nothing of it stays.
func (l *pile) cut(words int) {
	l.n--
	s, i := l.at(l.n)
	s.records[i], s.projects[i], s.bits[i] = record{}, 0, 0
	clear(s.signs[i*words : (i+1)*words])
	if s.n--; s.n == 0 {
		l.stretches[len(l.stretches)-1] = nil
		l.stretches = l.stretches[:len(l.stretches)-1]
	}
}

// spot is where the record of a row is that is there.
func (x *index) spot(row int) *spot { return &x.slabs[row/slabRows].spots[row%slabRows] }

func (x *index) pile(s *spot) *pile { return &x.cells[s.of].piles[s.cell][s.script] }

// record returns that of a row that is there, and in which script its text is.
func (x *index) record(row int) (*record, store.Script) {
	at := x.spot(row)
	s, i := x.pile(at).at(int(at.after) - 1)
	return &s.records[i], store.Script(at.script)
}

// putIn adds a memory, of the vector with these codes, to the cells of now.
func (x *index) putIn(e entry, script store.Script, codes []byte) {
	c := &x.cells[x.now]
	if c.piles == nil {
		c.piles = make([][scripts]pile, 1)
	}
	var room [(maxDims + 63) / 64]uint64
	signs := room[:x.words()]
	signsOf(signs, codes)
	cell := c.nearest(codes, signs)
	c.rows[script]++
	after := c.piles[cell][script].add(e, signs)
	*x.spot(int(e.row)) = spot{after: after, cell: uint16(cell), script: uint8(script), of: x.now}
}

// takeOut takes the record of a row out, and puts the last one of its pile into the
// gap.
func (x *index) takeOut(row int) {
	at := x.spot(row)
	l, words := x.pile(at), x.words()
	to, i := l.at(int(at.after) - 1)
	from, last := l.at(l.n - 1)
	to.records[i], to.projects[i], to.bits[i] = from.records[last], from.projects[last], from.bits[last]
	copy(to.signs[i*words:(i+1)*words], from.signs[last*words:(last+1)*words])
	x.spot(int(to.records[i].row)).after = at.after
	l.cut(words)
	x.cells[at.of].rows[at.script]--
	*at = spot{}
}

// finalists are how many centres, the nearest by their signs, are compared exactly
// with a vector.
const finalists = 8

// nearest returns the cell that a vector belongs to.
func (c *cells) nearest(codes []byte, signs []uint64) (cell int) {
	if !c.sorted() {
		return 0
	}
	var final [finalists]uint64 // distance and number of a cell, the greatest first
	for i := range final {
		final[i] = math.MaxUint64
	}
	words := len(signs)
	for i := range c.piles {
		d := uint64(distance(signs, c.signs[i*words:(i+1)*words]))<<32 | uint64(i)
		if d >= final[0] {
			continue
		}
		k := 1
		for ; k < finalists && final[k] > d; k++ {
			final[k-1] = final[k]
		}
		final[k-1] = d
	}
	best := float32(math.Inf(-1))
	for _, one := range final {
		if one == math.MaxUint64 {
			continue
		}
		i := int(uint32(one))
		if p := product(c.centre(i, len(codes)), codes); p > best || p == best && i < cell {
			best, cell = p, i
		}
	}
	return cell
}

func (c *cells) centre(i, dims int) []float32 { return c.centres[i*dims : (i+1)*dims] }

// product multiplies v with codes.
func product(v []float32, codes []byte) float32 {
	codes = codes[:len(v)]
	var s [4]float32
	for len(v) >= 4 {
		s[0] += v[0] * float32(int8(codes[0]))
		s[1] += v[1] * float32(int8(codes[1]))
		s[2] += v[2] * float32(int8(codes[2]))
		s[3] += v[3] * float32(int8(codes[3]))
		v, codes = v[4:], codes[4:]
	}
	for i, x := range v {
		s[0] += x * float32(int8(codes[i]))
	}
	return s[0] + s[1] + (s[2] + s[3])
}

// likeness multiplies two vectors.
func likeness(v, w []float32) float32 {
	w = w[:len(v)]
	var s [4]float32
	for len(v) >= 4 {
		s[0] += v[0] * w[0]
		s[1] += v[1] * w[1]
		s[2] += v[2] * w[2]
		s[3] += v[3] * w[3]
		v, w = v[4:], w[4:]
	}
	for i, x := range v {
		s[0] += x * w[i]
	}
	return s[0] + s[1] + (s[2] + s[3])
}

// nearby are the cells, the nearest by their signs, that are put in order exactly: some
// times as many as a search looks at.
const nearby = 128

// inOrder puts the cells that are sorted in order, the nearest to v first.
func (d *desk) inOrder(x *index, v []float32) {
	d.far, d.order = d.far[:0], d.order[:0]
	words := x.words()
	for of := range x.cells {
		c := &x.cells[of]
		if !c.sorted() || c.empty() {
			continue
		}
		for i := range c.piles {
			far := d.gauge.distance(c.signs[i*words:(i+1)*words], math.MaxInt)
			d.far = append(d.far, uint64(far)<<32|uint64(of)<<16|uint64(i))
		}
	}
	slices.Sort(d.far)
	for n, far := range d.far {
		c, i := &x.cells[uint16(far>>16)], int(uint16(far))
		one := ranked{piles: &c.piles[i]}
		if n < nearby {
			one.likeness = likeness(v, c.centre(i, x.dims))
		}
		d.order = append(d.order, one)
	}
	slices.SortFunc(d.order[:min(nearby, len(d.order))], func(a, b ranked) int { return cmp.Compare(b.likeness, a.likeness) })
}

// ranked is a cell with how near its centre is.
type ranked struct {
	likeness float32
	piles    *[scripts]pile
}

// distance counts the signs that differ. Lengths that are frequent are written
// out, which halves the time.
func distance(a, b []uint64) int {
	switch {
	case len(a) == usualWords && len(b) == usualWords:
		return bits.OnesCount64(a[0]^b[0]) + bits.OnesCount64(a[1]^b[1]) + bits.OnesCount64(a[2]^b[2]) + bits.OnesCount64(a[3]^b[3])
	case len(a) == 6 && len(b) == 6:
		return bits.OnesCount64(a[0]^b[0]) + bits.OnesCount64(a[1]^b[1]) + bits.OnesCount64(a[2]^b[2]) +
			bits.OnesCount64(a[3]^b[3]) + bits.OnesCount64(a[4]^b[4]) + bits.OnesCount64(a[5]^b[5])
	}
	d := 0
	for i, x := range a {
		d += bits.OnesCount64(x ^ b[i])
	}
	return d
}

// usualWords hold the signs of the embedding in the binary, of 256 numbers.
const usualWords = 4
