package meaning

import (
	"math"
	"sync"
	"sync/atomic"

	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/model"
)

// slabRows is how many memories a slab has room for.
const slabRows = 1 << 13

// maxDims bounds the vectors.
const maxDims = model.MaxDims

// slab tells of memories whose rows follow each other where the rest of them is.
// Rows are numbered without holes but for what was forgotten, so a row is its place.
type slab struct {
	codes []byte // each an int8; nil when they are on the shelf
	spots []spot
	used  int
}

// The bits of a row; those of layers follow.
const (
	present uint8 = 1 << iota
	archived
	firstLayer
)

// index holds all vectors: in memory what searches look at, on the shelf what they
// read of a few. The zero value is empty, ready, and has no shelf.
type index struct {
	mu     sync.RWMutex // guards the rest
	shelf  shelf
	dims   int     // of all vectors, 0 while there is none
	slabs  []*slab // nil where nothing is
	count  int
	cells  [2]cells // those of now, where memories are put, and what is left of those before
	now    uint8
	least  int                  // memories that are sorted, if not sortFrom
	begins int                  // how often it began anew
	base   atomic.Pointer[base] // nil when it was never asked for
}

// words is how many hold the signs of a vector.
func (x *index) words() int { return (x.dims + 63) / 64 }

// put stores a vector, in place of the one before. A vector of another length
// empties the index first: it is of another model. It says when the shelf does
// not work, without which vectors take more memory, or cannot be put.
func (x *index) put(p store.Placed) error {
	if len(p.Vector.Codes) == 0 || len(p.Vector.Codes) > maxDims || p.Row < 0 || p.Row > math.MaxUint32 {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.dims != len(p.Vector.Codes) {
		x.restart(len(p.Vector.Codes))
	}
	n, i := int(p.Row/slabRows), int(p.Row%slabRows)
	for n >= len(x.slabs) {
		x.slabs = append(x.slabs, nil)
	}
	s := x.slabs[n]
	if s == nil {
		s = &slab{codes: make([]byte, slabRows*x.dims), spots: make([]spot, slabRows)}
		x.slabs[n] = s
	}
	if s.codes == nil {
		if err := x.takeBack(n); err != nil {
			x.drop(n, i)
			return err
		}
	}
	if s.spots[i].none() {
		s.used++
		x.count++
	} else {
		x.takeOut(int(p.Row))
	}
	codes := s.codes[i*x.dims : (i+1)*x.dims]
	for j, c := range p.Vector.Codes {
		codes[j] = byte(c)
	}
	x.putIn(entry{
		record{at: p.At, agent: uint32(p.Agent), session: uint32(p.Session), row: uint32(p.Row), scale: p.Vector.Scale},
		uint32(p.Project), bitsOf(p),
	}, scriptOf(p.Vector), codes)
	return x.use(n)
}

// scriptOf is the script of the text of a vector, a usual one if what was stored is none.
func scriptOf(v store.Vector) store.Script {
	if v.Script == store.Unspaced {
		return store.Unspaced
	}
	return store.Spaced
}

func bitsOf(p store.Placed) uint8 {
	out := present | layerBit(p.Layer)
	if p.Archived {
		out |= archived
	}
	return out
}

// remove forgets a row.
func (x *index) remove(row int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.has(row) {
		x.drop(int(row/slabRows), int(row%slabRows))
	}
}

func (x *index) drop(n, i int) {
	s := x.slabs[n]
	if s.spots[i].none() {
		return
	}
	x.erase(n, i)
	x.takeOut(n*slabRows + i)
	x.count--
	if s.used--; s.used == 0 {
		x.slabs[n] = nil
	}
}

// empty forgets everything.
func (x *index) empty() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.restart(0)
}

// restart forgets everything; vectors of so many numbers follow.
func (x *index) restart(dims int) {
	x.shelf.clear()
	x.dims, x.slabs, x.count, x.cells, x.now = dims, nil, 0, [2]cells{}, 0
	x.begins++
	x.base.Store(nil)
}

// close gives the shelf back; what is on it is not found any more.
func (x *index) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.shelf.close()
}

// has reports whether a row is there.
func (x *index) has(row int64) bool {
	n := row / slabRows
	return row >= 0 && n < int64(len(x.slabs)) && x.slabs[n] != nil && !x.slabs[n].spots[row%slabRows].none()
}

// size returns how many memories have a vector.
func (x *index) size() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.count
}

// bytes returns how much memory the vectors take.
func (x *index) bytes() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	n := 0
	for _, s := range x.slabs {
		if s != nil {
			n += slabRows*spotBytes + len(s.codes)
		}
	}
	for i := range x.cells {
		n += x.cells[i].bytes(x.words())
	}
	return int64(n)
}

// signsOf sets a bit for each number above zero.
func signsOf[T int8 | byte](out []uint64, codes []T) {
	clear(out)
	for i, c := range codes {
		if int8(c) > 0 {
			out[i/64] |= 1 << (i % 64)
		}
	}
}
