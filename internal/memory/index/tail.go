package index

import (
	"maps"
	"slices"
	"strings"
)

// tail is what was added since the last file was written.
type tail struct {
	documents
	place map[int64]uint32 // of the documents that are not dead
	lists map[string][]posting
	begin map[[2]byte][]string // the terms of lists by what they begin with
	n     int                  // postings
}

func newTail() *tail {
	return &tail{place: map[int64]uint32{}, lists: map[string][]posting{}, begin: map[[2]byte][]string{}}
}

func (t *tail) add(d document) {
	place := uint32(len(t.ids))
	t.ids, t.at, t.sizes = append(t.ids, d.id), append(t.at, d.at), append(t.sizes, d.size)
	t.dead = t.dead.grown(len(t.ids))
	t.place[d.id] = place
	t.n += len(d.terms)
	for _, c := range d.terms {
		p := posting(place<<placeBit | c.code)
		if list, ok := t.lists[c.term]; ok {
			t.lists[c.term] = append(list, p)
		} else {
			term := strings.Clone(c.term) // the text it is of need not be kept
			t.lists[term] = []posting{p}
			t.begin[firstTwo(term)] = append(t.begin[firstTwo(term)], term)
		}
	}
}

// remove takes a document out and returns its size, if it is there.
func (t *tail) remove(doc int64) (uint16, bool) {
	place, ok := t.place[doc]
	if !ok {
		return 0, false
	}
	delete(t.place, doc)
	t.dead.set(place)
	return t.sizes[place], true
}

func (t *tail) docs() *documents { return &t.documents }

func (t *tail) find(doc int64) (uint32, bool) {
	place, ok := t.place[doc]
	return place, ok
}

func (t *tail) lookUp(term string) (word, error) { return word{n: len(t.lists[term])}, nil }

func (t *tail) list(r *room, term string) ([]posting, error) {
	list := t.lists[term]
	return append(r.take(len(list)), list...), nil
}

// firstTwo returns what a term begins with, its first byte twice if it is alone.
func firstTwo(term string) [2]byte { return [2]byte{term[0], term[min(1, len(term)-1)]} }

func (t *tail) terms(to []string, beginning string, limit int, keep func([]byte) bool) ([]string, error) {
	var found []string
	look := func(terms []string) {
		for _, term := range terms {
			if strings.HasPrefix(term, beginning) {
				found = append(found, term)
			}
		}
	}
	if len(beginning) > 1 {
		look(t.begin[firstTwo(beginning)])
	} else {
		for _, terms := range t.begin {
			look(terms)
		}
	}
	slices.Sort(found)
	for _, term := range found[:min(limit, len(found))] {
		if keep([]byte(term)) {
			to = append(to, term)
		}
	}
	return to, nil
}

// sorted returns the documents that are not dead, by id, with the place that
// each had.
func (t *tail) sorted() (d documents, from []uint32) {
	from = slices.Collect(maps.Values(t.place))
	slices.SortFunc(from, func(a, b uint32) int { return int(t.ids[a] - t.ids[b]) })
	for _, place := range from {
		d.ids, d.at, d.sizes = append(d.ids, t.ids[place]), append(d.at, t.at[place]), append(d.sizes, t.sizes[place])
	}
	return d, from
}
