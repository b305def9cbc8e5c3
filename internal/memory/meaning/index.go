package meaning

import (
	"sync"
	"sync/atomic"

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
	lead   []uint64 // the signs of the first 64 numbers of each vector, a bit each
	signs  []uint64 // those of the others
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
	told  told
	base  atomic.Pointer[base] // nil when it was never asked for
}

// others is how many words of signs follow the first one.
func (x *index) others() int { return (x.dims - 1) / 64 }

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
		x.restart(len(p.Vector.Codes))
	}
	n, i := int(p.Row/slabRows), int(p.Row%slabRows)
	for n >= len(x.slabs) {
		x.slabs = append(x.slabs, nil)
	}
	s := x.slabs[n]
	if s == nil {
		s = &slab{
			lead: make([]uint64, slabRows), signs: make([]uint64, slabRows*x.others()), codes: make([]byte, slabRows*x.dims),
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
	s.lead[i] = leadOf(p.Vector.Codes)
	signsOf(s.signs[i*x.others():(i+1)*x.others()], p.Vector.Codes)
	x.told.add(p.Vector)
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
	clear(s.signs[i*x.others() : (i+1)*x.others()])
	s.lead[i], s.scales[i], s.bits[i], s.places[i] = 0, 0, 0, place{}
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
	x.dims, x.slabs, x.count, x.told = dims, nil, 0, told{}
	x.base.Store(nil)
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
			n += slabRows*(8*(1+x.others())+rowBytes) + len(s.codes)
		}
	}
	return int64(n)
}

// leadOf returns a bit for each of the first 64 numbers, set if it is above zero.
func leadOf(codes []int8) (lead uint64) {
	for i, c := range codes[:min(64, len(codes))] {
		if c > 0 {
			lead |= 1 << i
		}
	}
	return lead
}

// signsOf sets the bits of the numbers after those.
func signsOf(out []uint64, codes []int8) {
	clear(out)
	for i, c := range codes[min(64, len(codes)):] {
		if c > 0 {
			out[i/64] |= 1 << (i % 64)
		}
	}
}
