package index

import (
	"cmp"
	mathbits "math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Numbers of work on several cores.
const (
	maxWorkers   = 4
	minSpanWorth = 1 << 16 // postings; fewer are not worth another goroutine
	manyDocs     = 1 << 16 // from which on lists are long
)

// worker does a part of a search.
type worker struct {
	room
	scorer
}

func (s *search) worker(i int) *worker {
	for i >= len(s.workers) {
		s.workers = append(s.workers, &worker{})
	}
	return s.workers[i]
}

// readers is how many workers are worth it for reading lists.
func (s *search) readers() int {
	if s.index.live < manyDocs {
		return 1
	}
	return min(runtime.GOMAXPROCS(0), maxWorkers)
}

// scorers is how many are worth it for what was read.
func (s *search) scorers() int {
	return min(runtime.GOMAXPROCS(0), maxWorkers, s.all/minSpanWorth+1)
}

// together has so many workers do n things, and returns the first error.
func (s *search) together(workers, n int, do func(*worker, int) error) error {
	var next atomic.Int64
	errs := make([]error, max(min(workers, n), 1))
	work := func(k int, w *worker) {
		for i := int(next.Add(1)) - 1; i < n && errs[k] == nil; i = int(next.Add(1)) - 1 {
			errs[k] = do(w, i)
		}
	}
	var others sync.WaitGroup
	for k := 1; k < len(errs); k++ {
		w := s.worker(k)
		others.Go(func() { work(k, w) })
	}
	work(0, s.worker(0))
	others.Wait()
	return cmp.Or(errs...)
}

// Sums are whole numbers, so that it does not matter in which order they are
// added up. sumOne is a gain of 1; the sum of some hundred words of a large memory
// still fits.
const sumOne = 1 << 18

// says is what a posting adds to a sum, given the gain of its document.
func (u *unit) says(gain float32) uint32 { return uint32(u.count * gain * sumOne) }

// slack is more than rounding can add to what a unit says.
const slack = 16

// Documents of a part that are scored at once. A part begins with few: what they
// score is what the others must reach.
const (
	firstWindow = 1 << 10
	window      = 1 << 14
)

// span is a run of documents of a part, which one worker scores.
type span struct {
	part     int
	mask     bits  // nil if all are asked for
	dead     bits  // nil for none
	order    []int // units, what may say most first
	from, to uint32
}

// best scores all documents and returns the best and how many there are; if
// documents were passed over, at least so many. A document has the same score and
// the same place with any number of workers, passed over or not.
func (s *search) best(limit, workers int) (hits []Hit, total int, err error) {
	s.top, s.masked = top{limit: limit, parts: s.parts, list: s.top.list[:0]}, false
	s.least.Store(0)
	spans, err := s.spans()
	if err != nil {
		return nil, 0, err
	}
	if err := s.together(workers, len(spans), func(w *worker, i int) error { return w.look(s, spans[i]) }); err != nil {
		return nil, 0, err
	}
	for _, c := range s.top.list {
		d := s.parts[c.part].docs()
		hits = append(hits, Hit{Doc: d.ids[c.place], At: d.at[c.place], Score: float64(c.sum) / sumOne})
	}
	slices.SortFunc(hits, Hit.compare)
	return hits, s.top.total, nil
}

// spans divides the parts.
func (s *search) spans() ([]span, error) {
	var out []span
	for i, p := range s.parts {
		n := uint32(len(p.docs().ids))
		if n == 0 {
			continue
		}
		mask, err := s.mask(i)
		if err != nil {
			return nil, err
		}
		s.masked = s.masked || mask != nil
		one := span{part: i, mask: mask, order: s.order(i)}
		if dead := p.docs().dead; dead.any() {
			one.dead = dead
		}
		for size := uint32(firstWindow); one.to < n; size = min(2*size, window) {
			one.from, one.to = one.to, min(one.to+size, n)
			out = append(out, one)
		}
	}
	return out, nil
}

// order returns the units that are not left out by how much they may say in a part.
func (s *search) order(part int) []int {
	out := make([]int, 0, len(s.units))
	for i := range s.units {
		if !s.units[i].mute {
			out = append(out, i)
		}
	}
	slices.SortFunc(out, func(a, b int) int { return cmp.Compare(s.of(part, b).most, s.of(part, a).most) })
	return out
}

// scorer scores spans, one after the other.
type scorer struct {
	sums [window]uint32      // by document of the span; all 0 between spans
	met  [window / 64]uint64 // which of them have a sum; likewise
	docs []uint32            // of those, which may be among the best

	added int // postings since they were 0
	reel  reel
}

// look scores the documents of a span. Of those that cannot be among the best, even
// if they had all that is left, the rest is not looked at (MaxScore: Turtle and
// Flood, Query evaluation, 1995).
func (c *scorer) look(s *search, at span) error {
	d := s.parts[at.part].docs()
	if len(s.units) == 0 {
		c.docs = c.docs[:0]
		for place := at.from; place < at.to; place++ {
			c.docs = append(c.docs, place)
		}
		docs := s.wanted(at, d, c.docs)
		s.take(at, docs, len(docs), &c.sums)
		return nil
	}
	defer c.clear(at)
	least, rest := s.least.Load(), uint32(0)
	first := len(at.order) // of the units that a document needs one of
	for first > 0 && rest+s.of(at.part, at.order[first-1]).most < least {
		first--
		rest += s.of(at.part, at.order[first]).most
	}
	for _, u := range at.order[:first] {
		if err := c.add(s, at, d, u); err != nil {
			return err
		}
	}
	docs := s.wanted(at, d, c.after(at, least, rest))
	met := len(docs)
	for _, u := range at.order[first:] {
		if err := c.addTo(s, at, d, u, docs); err != nil {
			return err
		}
		rest -= s.of(at.part, u).most
		left := docs[:0]
		for _, place := range docs {
			if c.sums[place-at.from]+rest >= least {
				left = append(left, place)
			}
		}
		docs = left
	}
	s.take(at, docs, met, &c.sums)
	return nil
}

// take offers documents of a span with their sums to the best, and counts those
// that were met.
func (s *search) take(at span, docs []uint32, met int, sums *[window]uint32) {
	s.taking.Lock()
	defer s.taking.Unlock()
	t := &s.top
	t.total += met
	for _, place := range docs {
		if sum := sums[place-at.from]; sum >= t.least {
			t.offer(candidate{sum: sum, part: uint32(at.part), place: place})
		}
	}
	if s.passes && len(t.list) == t.limit {
		s.least.Store(t.least)
	}
}

// wanted returns those of some documents that are asked for.
func (s *search) wanted(at span, d *documents, docs []uint32) []uint32 {
	if at.mask == nil && at.dead == nil && !s.query.timed() {
		return docs
	}
	out, timed := docs[:0], s.query.timed()
	for _, place := range docs {
		if !at.dead.has(place) && (at.mask == nil || at.mask.has(place)) && (!timed || s.query.during(d.at[place])) {
			out = append(out, place)
		}
	}
	return out
}

// add adds what a unit says of the documents of a span, and notes which it meets.
func (c *scorer) add(s *search, at span, d *documents, unit int) error {
	list, err := c.reel.within(s.of(at.part, unit), at.from, at.to)
	if err != nil {
		return err
	}
	c.added += len(list)
	u, own, per := &s.units[unit], s.query.Own, perTerm(s.mean)
	for _, p := range list {
		if own && !p.own() {
			continue
		}
		i := (p.doc() - at.from) % window
		c.met[i/64] |= 1 << (i % 64)
		c.sums[i] += u.says(gain(p.weight(), d.sizes[p.doc()], per))
	}
	return nil
}

// addTo adds what a unit says of some documents of a span.
func (c *scorer) addTo(s *search, at span, d *documents, unit int, docs []uint32) error {
	u, own, per := &s.units[unit], s.query.Own, perTerm(s.mean)
	return c.reel.among(s.of(at.part, unit), docs, func(i int, p posting) {
		if !own || p.own() {
			c.sums[docs[i]-at.from] += u.says(gain(p.weight(), d.sizes[docs[i]], per))
		}
	})
}

// after returns the documents that were met, in order, without those that do not
// come to least with the rest.
func (c *scorer) after(at span, least, rest uint32) []uint32 {
	c.docs = slices.Grow(c.docs[:0], window)[:window]
	least, n := max(least, rest)-rest, 0
	for k, some := range c.met[:(at.to-at.from+63)/64] {
		for ; some != 0; some &= some - 1 {
			i := (uint32(k)*64 + uint32(mathbits.TrailingZeros64(some))) % window
			c.docs[n&(window-1)] = at.from + i
			n += int(1 - (uint64(c.sums[i])-uint64(least))>>63) // nobody could foretell a branch
		}
	}
	c.docs = c.docs[:n]
	return c.docs
}

// clear makes all sums 0 again.
func (c *scorer) clear(at span) {
	if c.added == 0 {
		return
	}
	clear(c.sums[:at.to-at.from])
	clear(c.met[:])
	c.added = 0
}

// top keeps the best documents; when there are enough, each is better than the one
// half as far from the beginning, a heap.
type top struct {
	limit int
	total int // that were met
	parts []part
	list  []candidate
	least uint32 // a document with a smaller sum is not among them
}

// candidate is a document that may be among the best.
type candidate struct{ sum, part, place uint32 }

// worse orders like [Hit.compare].
func (t *top) worse(a, b candidate) bool { return a.sum < b.sum || a.sum == b.sum && t.after(a, b) }

// after orders those of one sum.
func (t *top) after(a, b candidate) bool {
	d, e := t.parts[a.part].docs(), t.parts[b.part].docs()
	return cmp.Or(cmp.Compare(d.at[a.place], e.at[b.place]), cmp.Compare(e.ids[b.place], d.ids[a.place])) < 0
}

func (t *top) offer(c candidate) {
	switch {
	case len(t.list) < t.limit:
		if t.list = append(t.list, c); len(t.list) < t.limit {
			return
		}
		for i := len(t.list)/2 - 1; i >= 0; i-- {
			t.sink(i)
		}
	case t.limit > 0 && t.worse(t.list[0], c):
		t.list[0] = c
		t.sink(0)
	default:
		return
	}
	t.least = t.list[0].sum
}

// sink moves one down until none below it is worse.
func (t *top) sink(i int) {
	for {
		least := i
		for below := 2*i + 1; below <= 2*i+2 && below < len(t.list); below++ {
			if t.worse(t.list[below], t.list[least]) {
				least = below
			}
		}
		if least == i {
			return
		}
		t.list[i], t.list[least] = t.list[least], t.list[i]
		i = least
	}
}
