package index

import (
	"hash/maphash"
	"strings"
	"sync"
)

// maxPlaces is how many terms of a file places remembers.
const maxPlaces = 1 << 10

// places remembers where in a file the lists of the terms are that were asked for
// last, or that there is none: to find one is to read a block of the dictionary,
// and a question asks for each of its words twice, first for how many memories
// have it. It forgets by overwriting, and ends with its file, so it tells of no
// term that is not in there. Its zero value is empty.
type places struct {
	mu    sync.Mutex
	slots []placed
}

type placed struct {
	term string // no term is empty
	at   word
}

var placeSeed = maphash.MakeSeed()

func (p *places) slot(term string) *placed {
	if p.slots == nil {
		p.slots = make([]placed, maxPlaces)
	}
	return &p.slots[maphash.String(placeSeed, term)%maxPlaces]
}

// get returns where the list of a term is, if that is remembered.
func (p *places) get(term string) (word, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.slot(term)
	return s.at, s.term == term && term != ""
}

// put remembers where the list of a term is.
func (p *places) put(term string, at word) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*p.slot(term) = placed{strings.Clone(term), at}
}
