package index

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"sync"
)

// Query says which documents are asked for. Its zero value asks for all.
type Query struct {
	All    [][]string // of every group at least one term is there
	Any    []string   // if All is empty: at least one of these is there
	Prefix []string   // like Any, but the beginning of a term is enough
	Not    [][]string // of every group at least one term is missing
	Scope  [][]string // like All, but these say nothing of how good a document is
	From   int64      // if not 0, only what happened then or later, Unix milliseconds
	Before int64      // if not 0, only what happened before
	Own    bool       // the terms of All, Any and Prefix must stand in a column of its own
}

// Hit is a document that was found.
type Hit struct {
	Doc   int64
	At    int64
	Score float64
}

// better orders hits: the better first, among equals the newer.
func (h Hit) better(o Hit) bool { return h.compare(o) < 0 }

func (h Hit) compare(o Hit) int {
	return cmp.Or(cmp.Compare(o.Score, h.Score), cmp.Compare(o.At, h.At), cmp.Compare(h.Doc, o.Doc))
}

// Constants of BM25 (Robertson and Zaragoza, The Probabilistic Relevance
// Framework, 2009). A term that is in more than half of the documents counts
// next to nothing.
const (
	k1       = 1.2
	b        = 0.75
	minCount = 1e-6
)

// Search returns the best documents, at most limit, and how many there are in
// all. The score does not depend on which file a document is in.
func (x *Index) Search(q Query, limit int) (hits []Hit, total int, err error) {
	s := lent.Get().(*search)
	defer s.giveBack()
	x.mu.RLock()
	defer x.mu.RUnlock()
	s.begin(x, q)
	if err := s.read(); err != nil {
		return nil, 0, err
	}
	if limit == 0 && q.counts() {
		return nil, s.found, nil
	}
	best := &top{limit: limit}
	for i := range s.parts {
		n, err := s.part(i, best)
		if err != nil {
			return nil, 0, err
		}
		total += n
	}
	slices.SortFunc(best.hits, Hit.compare)
	return best.hits, total, nil
}

// Among returns those of some documents that a query asks for, in their order,
// whatever they score.
func (x *Index) Among(q Query, docs []int64) (out []int64, err error) {
	s := lent.Get().(*search)
	defer s.giveBack()
	x.mu.RLock()
	defer x.mu.RUnlock()
	s.begin(x, q)
	if err := s.read(); err != nil {
		return nil, err
	}
	found := make([]bool, len(docs))
	for i, p := range s.parts {
		mask, err := s.mask(i)
		if err != nil {
			return nil, err
		}
		scored := newBits(len(p.docs().ids))
		for u := range s.units {
			mark(scored, s.listOf(i, u))
		}
		for k, doc := range docs {
			at, ok := p.find(doc)
			found[k] = found[k] || ok && (mask == nil || mask.has(at)) && (len(s.units) == 0 || scored.has(at)) && q.during(p.docs().at[at])
		}
	}
	for k, doc := range docs {
		if found[k] {
			out = append(out, doc)
		}
	}
	return out, nil
}

// counts reports whether as many documents are asked for as have one term.
func (q Query) counts() bool {
	return len(q.All)+len(q.Prefix)+len(q.Not)+len(q.Scope) == 0 && len(q.Any) == 1 && q.From == 0 && q.Before == 0
}

func (q Query) during(at int64) bool {
	return (q.From == 0 || at >= q.From) && (q.Before == 0 || at < q.Before)
}

// search is one search, with room that is used again.
type search struct {
	index *Index
	query Query
	parts []part
	units []unit
	all   []posting // the lists of all units, part after part
	ends  []int     // where each ends
	some  []posting
	sums  []float32
	met   []uint32 // places of the part at hand that have a sum
	found int      // postings of the first unit
}

// unit is a term that a document is scored by, or several that count as one.
type unit struct {
	term   string
	prefix bool
	group  int // of All; -1 for none
	count  float32
}

var lent = sync.Pool{New: func() any { return &search{} }}

// maxKept bounds the room that is kept for the next search.
const maxKept = 1 << 21

func (s *search) giveBack() {
	s.index, s.parts, s.units, s.query = nil, nil, s.units[:0], Query{}
	if cap(s.all) > maxKept {
		s.all = nil
	}
	if cap(s.some) > maxKept {
		s.some = nil
	}
	if cap(s.met) > maxKept {
		s.met = nil
	}
	lent.Put(s)
}

func (s *search) begin(x *Index, q Query) {
	s.index, s.query, s.parts = x, q, x.parts()
	for i, group := range q.All {
		for _, t := range group {
			s.units = append(s.units, unit{term: t, group: i})
		}
	}
	if len(q.All) > 0 {
		return
	}
	for _, t := range q.Any {
		s.units = append(s.units, unit{term: t, group: -1})
	}
	for _, t := range q.Prefix {
		s.units = append(s.units, unit{term: t, prefix: true, group: -1})
	}
}

// read reads the lists of all units and tells how much each counts.
func (s *search) read() error {
	s.all, s.ends = s.all[:0], s.ends[:0]
	found := make([]int, len(s.units))
	for _, p := range s.parts {
		dead := p.docs().dead
		for i, u := range s.units {
			from := len(s.all)
			if err := s.list(p, u); err != nil {
				return err
			}
			if !s.query.Own && !dead.any() {
				s.ends = append(s.ends, len(s.all))
				found[i] += len(s.all) - from
				continue
			}
			kept := s.all[:from]
			for _, posting := range s.all[from:] {
				if !dead.has(posting.doc()) && (!s.query.Own || posting.own()) {
					kept = append(kept, posting)
				}
			}
			s.all = kept
			s.ends = append(s.ends, len(s.all))
			found[i] += len(s.all) - from
		}
	}
	if s.found = 0; len(found) > 0 {
		s.found = found[0]
	}
	n := float64(s.index.live)
	for i := range s.units {
		df := float64(found[i])
		s.units[i].count = float32(max(math.Log((n-df+0.5)/(df+0.5)), minCount))
	}
	return nil
}

// list appends the postings of a unit to all.
func (s *search) list(p part, u unit) (err error) {
	if !u.prefix {
		s.all, err = p.list(s.all, u.term)
		return err
	}
	terms, err := p.terms(nil, u.term, math.MaxInt, func([]byte) bool { return true })
	if err != nil {
		return err
	}
	s.some = s.some[:0]
	for _, t := range terms {
		if s.some, err = p.list(s.some, t); err != nil {
			return err
		}
	}
	slices.Sort(s.some)
	for i := 0; i < len(s.some); {
		doc, own, weight := s.some[i].doc(), posting(0), 0.0
		for ; i < len(s.some) && s.some[i].doc() == doc; i++ {
			own |= s.some[i] & ownBit
			weight += float64(s.some[i].weight())
		}
		s.all = append(s.all, posting(doc<<placeBit|stepOf(weight))|own)
	}
	return nil
}

// lists returns the list of a unit in a part.
func (s *search) listOf(part, unit int) []posting {
	i := part*len(s.units) + unit
	from := 0
	if i > 0 {
		from = s.ends[i-1]
	}
	return s.all[from:s.ends[i]]
}

// part scores the documents of a part and returns how many there are.
func (s *search) part(i int, best *top) (total int, err error) {
	d := s.parts[i].docs()
	if len(d.ids) == 0 {
		return 0, nil
	}
	mask, err := s.mask(i)
	if err != nil {
		return 0, err
	}
	s.sums = slices.Grow(s.sums[:0], len(d.ids))[:len(d.ids)] // all 0
	defer s.clear()
	timed := s.query.From != 0 || s.query.Before != 0
	see := func(place uint32) {
		if mask != nil && !mask.has(place) || timed && !s.query.during(d.at[place]) {
			return
		}
		total++
		if score := float64(s.sums[place]); score >= best.least {
			best.offer(Hit{Doc: d.ids[place], At: d.at[place], Score: score})
		}
	}
	if len(s.units) == 0 {
		for place := range uint32(len(d.ids)) {
			if !d.dead.has(place) {
				see(place)
			}
		}
		return total, nil
	}
	s.score(i, d)
	for _, place := range s.met {
		see(place)
	}
	return total, nil
}

// clear makes all sums 0 again, without looking at all of them if a few are not.
func (s *search) clear() {
	if len(s.met) > len(s.sums)/8 {
		clear(s.sums)
	} else {
		for _, place := range s.met {
			s.sums[place] = 0
		}
	}
	s.met = s.met[:0]
}

// score adds up what the units say, and notes which documents they are in.
func (s *search) score(part int, d *documents) {
	average := float32(s.index.size) / float32(max(s.index.live, 1))
	s.met = s.met[:0]
	for i, u := range s.units {
		for _, p := range s.listOf(part, i) {
			doc, weight := p.doc(), p.weight()
			norm := k1 * (1 - b + b*float32(d.sizes[doc])/average)
			if s.sums[doc] == 0 {
				s.met = append(s.met, doc)
			}
			s.sums[doc] += max(u.count*weight*(k1+1)/(weight+norm), math.SmallestNonzeroFloat32)
		}
	}
}

// mask returns the documents that are asked for beside what they are scored by;
// nil if all are.
func (s *search) mask(part int) (bits, error) {
	n := len(s.parts[part].docs().ids)
	var mask bits
	limit := func(to bits, but bool) {
		if mask == nil {
			mask = newBits(n)
			for i := range mask {
				mask[i] = math.MaxUint64
			}
		}
		for i := range mask {
			if but {
				mask[i] &^= to[i]
			} else {
				mask[i] &= to[i]
			}
		}
	}
	for _, group := range s.query.Scope {
		some, err := s.having(part, group, n)
		if err != nil {
			return nil, err
		}
		limit(some, false)
	}
	for group := range s.query.All {
		some := newBits(n)
		for i, u := range s.units {
			if u.group == group {
				mark(some, s.listOf(part, i))
			}
		}
		limit(some, false)
	}
	for _, group := range s.query.Not {
		var every bits
		for _, term := range group {
			one, err := s.having(part, []string{term}, n)
			if err != nil {
				return nil, err
			}
			if !one.any() { // nothing has them all
				every = nil
				break
			}
			if every == nil {
				every = one
			}
			for i := range every {
				every[i] &= one[i]
			}
		}
		if every != nil {
			limit(every, true)
		}
	}
	return mask, nil
}

// having returns the documents that have one of the terms.
func (s *search) having(part int, terms []string, n int) (bits, error) {
	out := newBits(n)
	for _, t := range terms {
		var err error
		if s.some, err = s.parts[part].list(s.some[:0], t); err != nil {
			return nil, err
		}
		mark(out, s.some)
	}
	return out, nil
}

func mark(to bits, list []posting) {
	for _, p := range list {
		to.set(p.doc())
	}
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
