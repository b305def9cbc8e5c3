package index

import (
	"math"
	"slices"
)

// Bounds of the room that is kept for the next search, and of its pieces.
const (
	maxKept  = 1 << 21 // postings
	minPiece = 1 << 13
)

// room is where one goroutine of a search puts lists. What is taken stays as it
// is until the room is used anew.
type room struct {
	postings []posting // a piece, as far as it is taken
	some     []posting
}

// anew lets the room be taken again.
func (r *room) anew() { r.postings = r.postings[:0] }

// giveBack lets go of what is too large to be kept.
func (r *room) giveBack() {
	if cap(r.postings) > maxKept {
		r.postings = nil
	}
	if cap(r.some) > maxKept {
		r.some = nil
	}
}

// take returns an empty list with room for n postings.
func (r *room) take(n int) []posting {
	at := len(r.postings)
	if cap(r.postings)-at < n {
		// The lists before stay where they are.
		r.postings, at = make([]posting, 0, max(n, min(2*cap(r.postings), maxKept), minPiece)), 0
	}
	r.postings = r.postings[:at+n]
	return r.postings[at : at : at+n]
}

// list returns the postings of a unit.
func (r *room) list(p part, u unit) ([]posting, error) {
	if !u.prefix {
		return p.list(r, u.term)
	}
	terms, err := p.terms(nil, u.term, math.MaxInt, func([]byte) bool { return true })
	if err != nil {
		return nil, err
	}
	r.some = r.some[:0]
	for _, t := range terms {
		list, err := p.list(r, t)
		if err != nil {
			return nil, err
		}
		r.some = append(r.some, list...)
	}
	slices.Sort(r.some)
	out := r.take(len(r.some))
	for i := 0; i < len(r.some); {
		doc, own, weight := r.some[i].doc(), posting(0), 0.0
		for ; i < len(r.some) && r.some[i].doc() == doc; i++ {
			own |= r.some[i] & ownBit
			weight += float64(r.some[i].weight())
		}
		out = append(out, posting(doc<<placeBit|stepOf(weight))|own)
	}
	return out, nil
}
