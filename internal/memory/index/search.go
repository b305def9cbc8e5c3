package index

import (
	"cmp"
	"math"
	"sync"
	"sync/atomic"
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

// compare orders hits: the better first, among equals the newer.
func (h Hit) compare(o Hit) int {
	return cmp.Or(cmp.Compare(o.Score, h.Score), cmp.Compare(o.At, h.At), cmp.Compare(h.Doc, o.Doc))
}

// Constants of BM25 (Robertson and Zaragoza, The Probabilistic Relevance
// Framework, 2009). A term that is in more than half of the documents counts
// next to nothing.
const (
	k1       = 1.2
	b        = 0.75
	minCount = 1e-3
)

// Found is the answer to a query.
type Found struct {
	Hits    []Hit // the best, at most as many as were asked for
	Total   int   // documents that are asked for
	AtLeast bool  // there may be more than Total
}

// Search returns the best documents, at most limit. The score does not depend on
// which file a document is in. If the lists of Any are long together, documents
// that cannot be among the best are passed over and not counted. How often there
// is a term with a long list is then told without looking at which of its
// documents were deleted: a share of them as large as that of all documents. And terms
// that are in more than half of the documents, which say next to nothing, are left
// out if the others find enough.
func (x *Index) Search(q Query, limit int) (Found, error) {
	s := x.lend()
	defer x.takeBack(s)
	x.mu.RLock()
	defer x.mu.RUnlock()
	s.begin(q)
	s.passes = limit > 0 && len(q.All) == 0 && len(s.units) > 1
	s.mutes = s.passes
	if err := s.read(); err != nil {
		return Found{}, err
	}
	hits, total, err := s.best(limit, s.scorers())
	if err == nil && s.mutes && len(hits) < limit {
		s.mutes = false
		if err = s.read(); err == nil {
			hits, total, err = s.best(limit, s.scorers())
		}
	}
	if s.passes && !s.masked && !q.timed() {
		total = max(total, s.mostOfOne())
	}
	return Found{Hits: hits, Total: total, AtLeast: s.passes}, err
}

// Among returns those of some documents that a query asks for, in their order,
// whatever they score.
func (x *Index) Among(q Query, docs []int64) (out []int64, err error) {
	s := x.lend()
	defer x.takeBack(s)
	x.mu.RLock()
	defer x.mu.RUnlock()
	s.begin(q)
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
			mark(scored, s.of(i, u).list)
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

// Frequencies tells in how many documents each of some terms is, in a column of its
// own. Of a term with a list of thousands it is not looked at which of them were deleted:
// as large a share as of all documents.
func (x *Index) Frequencies(terms []string) ([]int, error) {
	s := x.lend()
	defer x.takeBack(s)
	x.mu.RLock()
	defer x.mu.RUnlock()
	s.begin(Query{Any: terms, Own: true})
	s.counts = true
	if err := s.read(); err != nil {
		return nil, err
	}
	out := make([]int, len(terms))
	for i := range out {
		out[i] = s.units[i].found
	}
	return out, nil
}

func (q Query) timed() bool { return q.From != 0 || q.Before != 0 }

func (q Query) during(at int64) bool {
	return (q.From == 0 || at >= q.From) && (q.Before == 0 || at < q.Before)
}

// search is one search, with room that is used again.
type search struct {
	index  *Index
	query  Query
	parts  []part
	dead   []int // documents of each part
	units  []unit
	series []series // of all units, part after part
	all    int      // postings in them
	mean   float32  // of the sizes of all documents, in terms

	counts bool          // only how many documents have each unit is asked for
	passes bool          // documents that cannot be among the best are passed over
	mutes  bool          // units that say next to nothing are left out
	masked bool          // not all documents are asked for
	least  atomic.Uint32 // the sum that the best have at least
	taking sync.Mutex    // guards top
	top    top

	workers []*worker
}

// unit is a term that a document is scored by, or several that count as one.
type unit struct {
	term   string
	prefix bool
	group  int     // of All; -1 for none
	found  int     // documents that have it
	count  float32 // how much it counts
	mute   bool    // it is left out
}

// lent is for searches at the same time as others.
var lent = sync.Pool{New: func() any { return &search{} }}

// lend returns a search with room. That of one is kept by the index: a pool is
// emptied when garbage is collected, and beside a million documents the room is
// so large that making it anew is what there is to collect.
func (x *Index) lend() *search {
	s := x.spare.Swap(nil)
	if s == nil {
		s = lent.Get().(*search)
	}
	s.index = x
	return s
}

func (x *Index) takeBack(s *search) {
	clear(s.units)
	for i := range s.series {
		s.series[i].forget()
	}
	s.index, s.parts, s.units, s.query, s.counts, s.passes, s.mutes = nil, nil, s.units[:0], Query{}, false, false, false
	s.top.parts = nil
	for _, w := range s.workers {
		w.giveBack()
	}
	if !x.spare.CompareAndSwap(nil, s) {
		lent.Put(s)
	}
}

// Rest lets go of the room that is kept for the next search.
func (x *Index) Rest() { x.spare.Store(nil) }

func (s *search) begin(q Query) {
	x := s.index
	s.query, s.parts = q, x.parts()
	s.mean = max(float32(x.size)/float32(max(x.live, 1)), 1)
	s.dead = s.dead[:0]
	for _, p := range s.parts {
		s.dead = append(s.dead, p.docs().dead.count())
	}
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
		for i := range to {
			if but {
				mask[i] &^= to[i]
			} else {
				mask[i] &= to[i]
			}
		}
		if to == nil && !but {
			clear(mask)
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
				mark(some, s.of(part, i).list)
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

// having returns the documents that have one of the terms, nil for none.
func (s *search) having(part int, terms []string, n int) (bits, error) {
	var out bits
	for _, t := range terms {
		list, err := s.parts[part].list(&s.worker(0).room, t)
		if err != nil {
			return nil, err
		}
		if out == nil && len(list) > 0 {
			out = newBits(n)
		}
		mark(out, list)
	}
	return out, nil
}

func mark(to bits, list []posting) {
	for _, p := range list {
		to.set(p.doc())
	}
}
