package index

import (
	"container/heap"
	"math"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
)

// Numbers of scoring.
const (
	maxScorers   = 4
	minSpanWorth = 1 << 14 // postings; fewer are not worth another goroutine
)

// span is a run of documents of a part, which one scorer looks at.
type span struct {
	part     int
	mask     bits
	from, to uint32
}

// scorersFor is on how many cores so many postings are worth to be scored.
func scorersFor(postings int) int {
	return min(runtime.GOMAXPROCS(0), maxScorers, postings/minSpanWorth+1)
}

// best scores all documents and returns the best and how many there are. A
// document has the same score and the same place with any number of workers.
func (s *search) best(limit, workers int) ([]Hit, int, error) {
	spans, err := s.spans(workers)
	if err != nil {
		return nil, 0, err
	}
	workers = min(workers, len(spans))
	var next atomic.Int64
	work := func(c *scorer) {
		for i := int(next.Add(1)) - 1; i < len(spans); i = int(next.Add(1)) - 1 {
			c.look(s, spans[i])
		}
	}
	for len(s.scorers) < max(workers, 1) {
		s.scorers = append(s.scorers, &scorer{})
	}
	all := s.scorers[:max(workers, 1)]
	var others sync.WaitGroup
	for _, c := range all {
		c.top, c.total = top{limit: limit}, 0
	}
	for _, c := range all[1:] {
		others.Go(func() { work(c) })
	}
	work(all[0])
	others.Wait()
	var hits []Hit
	total := 0
	for _, c := range all {
		hits, total = append(hits, c.top.hits...), total+c.total
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
			*sum += max(u.count*weight*(k1+1)/(weight+norm), math.SmallestNonzeroFloat32)
		}
	}
}

// within returns the postings of some documents.
func within(list []posting, from, to uint32) []posting {
	first := sort.Search(len(list), func(i int) bool { return list[i].doc() >= from })
	last := first + sort.Search(len(list)-first, func(i int) bool { return list[first+i].doc() >= to })
	return list[first:last]
}

// top keeps the best hits; the worst of them is the first.
type top struct {
	limit int
	hits  []Hit
	least float64 // what scores less is not among them
}

func (t *top) Len() int           { return len(t.hits) }
func (t *top) Less(i, j int) bool { return t.hits[j].better(t.hits[i]) }
func (t *top) Swap(i, j int)      { t.hits[i], t.hits[j] = t.hits[j], t.hits[i] }
func (t *top) Push(h any)         { t.hits = append(t.hits, h.(Hit)) }
func (t *top) Pop() any           { panic("top: never asked for") }

func (t *top) offer(h Hit) {
	switch {
	case len(t.hits) < t.limit:
		heap.Push(t, h)
		t.raise()
	case t.limit > 0 && h.better(t.hits[0]):
		t.hits[0] = h
		heap.Fix(t, 0)
		t.raise()
	}
}

func (t *top) raise() {
	if len(t.hits) == t.limit {
		t.least = t.hits[0].Score
	}
}
