package meaning

import (
	"sync"

	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/model"
)

// slabRows is how many memories a slab has room for.
const slabRows = 1 << 13

// maxDims bounds the vectors.
const maxDims = model.MaxDims

// slab holds the vectors of memories whose rows follow each other. Rows are
// numbered without holes but for what was forgotten, so a row is its place.
type slab struct {
	signs  []uint64 // of the numbers of each vector, a bit each
	codes  []byte   // each an int8; nil when they are on the shelf
	scales []float32
	bits   []uint8 // of each row, 0 where nothing is
	places []place
	used   int
}

// place is a store.Place in few bytes.
type place struct {
	at                      int64
	agent, project, session uint32
}

// The bits of a row; those of layers follow.
const (
	present uint8 = 1 << iota
	archived
	unspaced
	firstLayer
)

// index holds all vectors: in memory what every search looks at, on the shelf what
// it reads of a few. The zero value is empty, ready, and has no shelf.
type index struct {
	mu    sync.RWMutex // guards the rest
	shelf shelf
	dims  int     // of all vectors, 0 while there is none
	slabs []*slab // nil where nothing is
	count int
}

func (x *index) words() int { return (x.dims + 63) / 64 }

// put stores a vector, in place of the one before. A vector of another length
// empties the index first: it is of another model. It says when the shelf does
// not work, without which vectors take more memory, or cannot be put.
func (x *index) put(p store.Placed) error {
	if len(p.Vector.Codes) == 0 || len(p.Vector.Codes) > maxDims || p.Row < 0 {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.dims != len(p.Vector.Codes) {
		x.shelf.clear()
		x.dims, x.slabs, x.count = len(p.Vector.Codes), nil, 0
	}
	n, i := int(p.Row/slabRows), int(p.Row%slabRows)
	for n >= len(x.slabs) {
		x.slabs = append(x.slabs, nil)
	}
	s := x.slabs[n]
	if s == nil {
		s = &slab{
			signs: make([]uint64, slabRows*x.words()), codes: make([]byte, slabRows*x.dims),
			scales: make([]float32, slabRows), places: make([]place, slabRows), bits: make([]uint8, slabRows),
		}
		x.slabs[n] = s
	}
	if s.codes == nil {
		if err := x.takeBack(n); err != nil {
			x.drop(n, i)
			return err
		}
	}
	if s.bits[i] == 0 {
		s.used++
		x.count++
	}
	for j, c := range p.Vector.Codes {
		s.codes[i*x.dims+j] = byte(c)
	}
	signsOf(s.signs[i*x.words():(i+1)*x.words()], p.Vector.Codes)
	s.scales[i], s.bits[i] = p.Vector.Scale, bitsOf(p)
	s.places[i] = place{at: p.At, agent: uint32(p.Agent), project: uint32(p.Project), session: uint32(p.Session)}
	return x.use(n)
}

func bitsOf(p store.Placed) uint8 {
	out := present | layerBit(p.Layer)
	if p.Archived {
		out |= archived
	}
	if p.Vector.Script == store.Unspaced {
		out |= unspaced
	}
	return out
}

// script of the text of a row.
func (s *slab) script(i int) store.Script { return scriptOf(s.bits[i]) }

func scriptOf(bits uint8) store.Script {
	if bits&unspaced != 0 {
		return store.Unspaced
	}
	return store.Spaced
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
	if s.bits[i] == 0 {
		return
	}
	x.erase(n, i)
	clear(s.signs[i*x.words() : (i+1)*x.words()])
	s.scales[i], s.bits[i], s.places[i] = 0, 0, place{}
	x.count--
	if s.used--; s.used == 0 {
		x.slabs[n] = nil
	}
}

// empty forgets everything.
func (x *index) empty() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.shelf.clear()
	x.dims, x.slabs, x.count = 0, nil, 0
}

// close gives the shelf back; what is on it is not found any more.
func (x *index) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.shelf.close()
}

// size returns how many memories have a vector.
func (x *index) size() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.count
}

// rowBytes is what a row takes beside its vector.
const rowBytes = 4 + 1 + 24 // factor, bits, place

// bytes returns how much memory the vectors take.
func (x *index) bytes() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	n := 0
	for _, s := range x.slabs {
		if s != nil {
			n += slabRows*(8*x.words()+rowBytes) + len(s.codes)
		}
	}
	return int64(n)
}

// signsOf sets a bit for each number that is above zero.
func signsOf(out []uint64, codes []int8) {
	clear(out)
	for i, c := range codes {
		if c > 0 {
			out[i/64] |= 1 << (i % 64)
		}
	}
}
