package index

import (
	"cmp"
	"container/heap"
	"math"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
)

// Numbers of work on several cores.
const (
	maxWorkers   = 4
	minSpanWorth = 1 << 14 // postings; fewer are not worth another goroutine
	manyDocs     = 1 << 16 // from which on lists are long
)

// worker does a part of a search.
type worker struct {
	room
	scorer
}

func (w *worker) giveBack() {
	w.room.giveBack()
	w.scorer.giveBack()
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

// span is a run of documents of a part, which one worker scores.
type span struct {
	part     int
	mask     bits
	from, to uint32
}

// best scores all documents and returns the best and how many there are. A
// document has the same score and the same place with any number of workers.
func (s *search) best(limit, workers int) (hits []Hit, total int, err error) {
	spans, err := s.spans(workers)
	if err != nil {
		return nil, 0, err
	}
	for k := range workers {
		w := s.worker(k)
		w.top, w.total = top{limit: limit}, 0
	}
	if err := s.together(workers, len(spans), func(w *worker, i int) error {
		w.look(s, spans[i])
		return nil
	}); err != nil {
		return nil, 0, err
	}
	for k := range workers {
		w := s.worker(k)
		hits, total = append(hits, w.top.hits...), total+w.total
	}
	slices.SortFunc(hits, Hit.compare)
	return hits[:min(limit, len(hits))], total, nil
}

// spans divides the parts that are large among so many scorers.
func (s *search) spans(workers int) ([]span, error) {
	var out []span
	for i, p := range s.parts {
		n := len(p.docs().ids)
		if n == 0 {
			continue
		}
		mask, err := s.mask(i)
		if err != nil {
			return nil, err
		}
		postings := 0
		for u := range s.units {
			postings += len(s.listOf(i, u))
		}
		pieces := min(workers, postings/minSpanWorth+1)
		for k := range pieces {
			out = append(out, span{part: i, mask: mask, from: uint32(n * k / pieces), to: uint32(n * (k + 1) / pieces)})
		}
	}
	return out, nil
}

// scorer scores spans, one after the other.
type scorer struct {
	sums  []float32 // by document of the span
	met   []uint32  // places that have a sum
	top   top
	total int
}

func (c *scorer) giveBack() {
	c.top = top{}
	if cap(c.met) > maxKept {
		c.met = nil
	}
}

// look scores the documents of a span.
func (c *scorer) look(s *search, at span) {
	d := s.parts[at.part].docs()
	n := int(at.to - at.from)
	c.sums = slices.Grow(c.sums[:0], n)[:n] // all 0
	defer c.clear(at.from)
	timed := s.query.From != 0 || s.query.Before != 0
	see := func(place uint32, score float64) {
		if at.mask != nil && !at.mask.has(place) || timed && !s.query.during(d.at[place]) {
			return
		}
		c.total++
		if score >= c.top.least {
			c.top.offer(Hit{Doc: d.ids[place], At: d.at[place], Score: score})
		}
	}
	if len(s.units) == 0 {
		for place := at.from; place < at.to; place++ {
			if !d.dead.has(place) {
				see(place, 0)
			}
		}
		return
	}
	c.score(s, at, d)
	for _, place := range c.met {
		see(place, float64(c.sums[place-at.from]))
	}
}

// clear makes all sums 0 again, without looking at all of them if a few are not.
func (c *scorer) clear(from uint32) {
	if len(c.met) > len(c.sums)/8 {
		clear(c.sums)
	} else {
		for _, place := range c.met {
			c.sums[place-from] = 0
		}
	}
	c.met = c.met[:0]
}

// score adds up what the units say, and notes which documents they are in.
func (c *scorer) score(s *search, at span, d *documents) {
	average := float32(s.index.size) / float32(max(s.index.live, 1))
	for i, u := range s.units {
		for _, p := range within(s.listOf(at.part, i), at.from, at.to) {
			doc, weight := p.doc(), p.weight()
			norm := k1 * (1 - b + b*float32(d.sizes[doc])/average)
			sum := &c.sums[doc-at.from]
			if *sum == 0 {
				c.met = append(c.met, doc)
			}
			says := u.count * weight * (k1 + 1) / (weight + norm)
			if says == 0 { // it was met
				says = math.SmallestNonzeroFloat32
			}
			*sum += says
		}
	}
}

// within returns the postings of some documents.
func within(list []posting, from, to uint32) []posting {
	first := sort.Search(len(list), func(i int) bool { return list[i].doc() >= from })
	last := first + sort.Search(len(list)-first, func(i int) bool { return list[first+i].doc() >= to })
	return list[first:last]
}

// top keeps the best hits; when there are enough, the worst of them is the first.
type top struct {
	limit int
	hits  []Hit
	least float64 // what scores less is not among them
}

func (t *top) Len() int           { return len(t.hits) }
func (t *top) Less(i, j int) bool { return t.hits[j].better(t.hits[i]) }
func (t *top) Swap(i, j int)      { t.hits[i], t.hits[j] = t.hits[j], t.hits[i] }
func (t *top) Push(any)           { panic("top: never asked for") }
func (t *top) Pop() any           { panic("top: never asked for") }

func (t *top) offer(h Hit) {
	switch {
	case len(t.hits) < t.limit:
		if t.hits = append(t.hits, h); len(t.hits) == t.limit {
			heap.Init(t)
			t.least = t.hits[0].Score
		}
	case t.limit > 0 && h.better(t.hits[0]):
		t.hits[0] = h
		heap.Fix(t, 0)
		t.least = t.hits[0].Score
	}
}
