// Package index is the text index: which documents have which terms, and how
// much each says of a document. It answers a query with the best documents by
// BM25. It keeps no texts, knows no languages and no SQL.
//
// What was added last is in memory, the rest in files that never change
// ([Segment]). Whoever uses it decides when the one becomes the other, and keeps
// the list of files: an index is derived, so a file that is missing or damaged
// is an error here and made anew there.
package index

import (
	"errors"
	"fmt"
	mathbits "math/bits"
	"os"
	"slices"
	"sync"
	"sync/atomic"
)

// Columns is how many texts a document has.
const Columns = 5

// Config is what an index is made with. Files of another config mean nothing.
type Config struct {
	Dir     string           // of the files; it must exist
	Weights [Columns]float64 // how much a term counts in each column
	Own     [Columns]bool    // the columns that a query may be limited to

	// Room reports whether a file of so many bytes may be written that nobody waits for;
	// nil for always.
	Room func(bytes uint64) bool
}

// Entry is a document as it is added: the terms of its columns, each with a
// space after it. One that was added before is replaced.
type Entry struct {
	Doc     int64
	At      int64 // when it happened, Unix milliseconds
	Columns [Columns]string
}

// Index is an open index. Searching may go on at any time, at the same time as
// one goroutine that changes it.
type Index struct {
	config Config
	many   int // manyPostings, or fewer in tests
	spare  atomic.Pointer[search]

	mu       sync.RWMutex // guards what follows; only the goroutine that changes takes it for writing
	segments []*segment   // by age
	tail     *tail
	gone     map[int64]bool // deleted, and perhaps still in a file
	live     int64
	size     int64 // of all live documents together, in terms
	next     int64 // number of the next file
}

// The tail becomes a file when it holds so much: about ten megabytes.
const (
	tailPostings = 400_000
	tailDocs     = 8192
)

// Open opens the files of an index; gone are the documents that were deleted since they were
// written.
func Open(c Config, files []Segment, gone []int64) (*Index, error) {
	x := &Index{config: c, many: manyPostings, tail: newTail(), gone: map[int64]bool{}, next: 1}
	slices.SortFunc(files, func(a, b Segment) int { return int(a.Seq - b.Seq) })
	for _, f := range files {
		s, err := openSegment(c.Dir, f)
		if err != nil {
			return nil, errors.Join(err, x.Close())
		}
		x.segments = append(x.segments, s)
		x.next = max(x.next, f.ID+1)
	}
	for i, s := range x.segments {
		x.live += int64(len(s.ids))
		for _, n := range s.sizes {
			x.size += int64(n)
		}
		for _, newer := range x.segments[i+1:] {
			common(s.ids, newer.ids, func(d int64) { x.bury(x.segments[i:i+1], d) })
		}
	}
	for _, d := range gone {
		x.gone[d] = true
		x.bury(x.segments, d)
	}
	return x, nil
}

// common calls f for what stands in two sorted lists.
func common(a, b []int64, f func(int64)) {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) == 0 || a[len(a)-1] < b[0] || b[len(b)-1] < a[0] {
		return
	}
	for _, d := range a {
		i, ok := slices.BinarySearch(b, d)
		if ok {
			f(d)
		}
		b = b[i:]
	}
}

// Tidy removes the files that are not listed.
func (x *Index) Tidy() error {
	entries, err := os.ReadDir(x.config.Dir)
	if err != nil {
		return fmt.Errorf("read the directory of the text index: %w", err)
	}
	for _, e := range entries {
		id, ok := numberOf(e.Name())
		if !ok || slices.ContainsFunc(x.segments, func(s *segment) bool { return s.ID == id }) {
			continue
		}
		if err := os.Remove(pathOf(x.config.Dir, id)); err != nil {
			return fmt.Errorf("remove an old file of the text index: %w", err)
		}
	}
	return nil
}

// Close closes the files. What is only in memory is gone then.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	var errs []error
	for _, s := range x.segments {
		errs = append(errs, s.close())
	}
	x.segments, x.tail = nil, newTail()
	return errors.Join(errs...)
}

// Add adds documents and takes others out. What it did can be found when it
// returns.
func (x *Index) Add(entries []Entry, gone []int64) {
	counted := make([]document, len(entries))
	for i, e := range entries {
		counted[i] = x.config.count(e)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, d := range gone {
		x.remove(d)
		x.gone[d] = true
	}
	for _, d := range counted {
		x.remove(d.id)
		delete(x.gone, d.id)
		x.tail.add(d)
		x.live++
		x.size += int64(d.size)
	}
}

// remove takes a document out, wherever it is.
func (x *Index) remove(doc int64) {
	if size, ok := x.tail.remove(doc); ok {
		x.live--
		x.size -= int64(size)
		return
	}
	x.bury(x.segments, doc)
}

// bury marks a document as dead in files.
func (x *Index) bury(segments []*segment, doc int64) {
	for _, s := range slices.Backward(segments) {
		i, ok := slices.BinarySearch(s.ids, doc)
		if ok && !s.dead.has(uint32(i)) {
			s.dead.set(uint32(i))
			x.live--
			x.size -= int64(s.sizes[i])
		}
	}
}

// Len returns how many documents there are.
func (x *Index) Len() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.live
}

// Docs returns the ids of all documents, in order.
func (x *Index) Docs() []int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	out := make([]int64, 0, x.live)
	for _, p := range x.parts() {
		d := p.docs()
		for i, id := range d.ids {
			if !d.dead.has(uint32(i)) {
				out = append(out, id)
			}
		}
	}
	slices.Sort(out)
	return out
}

// Unsaved returns how many documents are only in memory, and whether that is so
// many that they should be saved.
func (x *Index) Unsaved() (docs int, full bool) {
	n := len(x.tail.ids)
	return n, n >= tailDocs || x.tail.n >= tailPostings
}

// part is a piece of the index: a file, or what is in memory.
type part interface {
	docs() *documents
	// find returns the place of a document that is not dead.
	find(doc int64) (uint32, bool)
	// lookUp returns where the list of a term is, and how many postings it has.
	lookUp(term string) (word, error)
	// list returns the postings of a term, by document, in the room.
	list(r *room, term string) ([]posting, error)
	// terms appends of the first terms that begin so, limit at most, those that
	// keep keeps, in order.
	terms(to []string, beginning string, limit int, keep func([]byte) bool) ([]string, error)
}

func (x *Index) parts() []part {
	out := make([]part, 0, len(x.segments)+1)
	for _, s := range x.segments {
		out = append(out, s)
	}
	return append(out, x.tail)
}

// documents is what is known of the documents of a part, by their place in it.
type documents struct {
	ids   []int64
	at    []int64
	sizes []uint16 // in terms
	dead  bits
}

// mean is the mean size, at least 1.
func (d *documents) mean() float32 {
	sum := uint64(0)
	for _, n := range d.sizes {
		sum += uint64(n)
	}
	return max(float32(sum)/float32(max(len(d.sizes), 1)), 1)
}

// Terms returns the terms that begin so and that keep keeps, in order. It reads
// no more than limit of them in a file, and returns no more.
func (x *Index) Terms(beginning string, limit int, keep func(term []byte) bool) ([]string, error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var out []string
	for _, p := range x.parts() {
		var err error
		if out, err = p.terms(out, beginning, limit, keep); err != nil {
			return nil, err
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(limit, len(out))], nil
}

// bits is a set of places.
type bits []uint64

func newBits(n int) bits { return make(bits, (n+63)/64) }

func (b bits) has(i uint32) bool { return int(i/64) < len(b) && b[i/64]&(1<<(i%64)) != 0 }

func (b bits) any() bool {
	for _, w := range b {
		if w != 0 {
			return true
		}
	}
	return false
}

func (b bits) count() (n int) {
	for _, w := range b {
		n += mathbits.OnesCount64(w)
	}
	return n
}

func (b bits) set(i uint32) { b[i/64] |= 1 << (i % 64) }

func (b bits) grown(n int) bits {
	for len(b) < (n+63)/64 {
		b = append(b, 0)
	}
	return b
}

// Fresh returns an empty index beside x, whose files have other numbers. It takes
// the place of x by [Index.Replace].
func (x *Index) Fresh(c Config) *Index {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return &Index{config: c, many: x.many, tail: newTail(), gone: map[int64]bool{}, next: x.next}
}

// Replace makes x what fresh is, and removes the files that it had. Fresh must
// not be used after that.
func (x *Index) Replace(fresh *Index) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	old := x.segments
	x.segments, x.tail, x.gone, x.live, x.size, x.next = fresh.segments, fresh.tail, fresh.gone, fresh.live, fresh.size, fresh.next
	return discard(old)
}

// Segments returns the files, the oldest first.
func (x *Index) Segments() []Segment {
	x.mu.RLock()
	defer x.mu.RUnlock()
	out := make([]Segment, len(x.segments))
	for i, s := range x.segments {
		out[i] = s.Segment
	}
	return out
}

// discard closes and removes files.
func discard(segments []*segment) error {
	var errs []error
	for _, s := range segments {
		errs = append(errs, s.close(), os.Remove(s.path))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove an old file of the text index: %w", err)
	}
	return nil
}
