package redact

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// A rule finds one kind of secret.
type rule struct {
	// id stands in the replacement: lower-case letters, digits and hyphens.
	id string

	// Where one of the keywords stands, match is asked. With fold, ASCII letters
	// match in either case and the keyword is lower-case; with alone, a word must
	// begin there. Keywords have two bytes or more; short ones cost time.
	keywords []string
	fold     bool
	alone    bool

	match matcher
}

// A matcher looks around the keyword at text[at:end] and makes the cuts. It
// reports whether it made one. It may look at a bounded number of bytes, or at
// bytes that it cuts or that no later call looks at again: together the
// matchers must take linear time.
type matcher func(x *scan, at, end int) bool

// lanes is how many bytes of a keyword the filter looks at.
const lanes = 4

// filter finds the places where a keyword may stand, in two steps. The first
// is a shift-or automaton over the first bytes of all keywords, which share
// sixteen buckets (Baeza-Yates and Gonnet, 1992; the buckets are those of
// Hyperscan's FDR): bit 16·n+b of masks[c] is clear if c may be byte n of a
// keyword in bucket b. The second is a hash of the same bytes.
type filter struct {
	masks [256]uint64
	start uint64 // the state before the first byte
	slots [1 << slotBits]uint16
	lists [][]keyword // by slot; the first is empty
	ids   map[string]bool
}

const (
	buckets  = 16
	slotBits = 12
	noHit    = ^uint64(0)                                  // a state, or a mask, in which nothing matches
	anyHit   = (1<<buckets - 1) << (buckets * (lanes - 1)) // a state below has a hit
)

// keyword is one keyword of a rule.
type keyword struct {
	text string
	*rule
}

// next returns the first position from i on whose byte ends a hit, and the
// state there; or len(s). It takes four bytes at a time, so that one state need
// not wait for the one before.
func (f *filter) next(s string, i int, state uint64) (int, uint64) {
	for ; len(s)-i >= 4; i += 4 {
		b := s[i : i+4]
		m0, m1, m2, m3 := f.masks[b[0]], f.masks[b[1]], f.masks[b[2]], f.masks[b[3]]
		m01, m23 := m0<<buckets|m1, m2<<buckets|m3
		s0, s1 := state<<buckets|m0, state<<(2*buckets)|m01
		s2, s3 := state<<(3*buckets)|m01<<buckets|m2, m01<<(2*buckets)|m23
		if s0&s1&s2&s3 < anyHit {
			switch {
			case s0 < anyHit:
				return i, s0
			case s1 < anyHit:
				return i + 1, s1
			case s2 < anyHit:
				return i + 2, s2
			case s3 < anyHit:
				return i + 3, s3
			}
		}
		state = s3
	}
	for ; i < len(s); i++ {
		if state = state<<buckets | f.masks[s[i]]; state < anyHit {
			return i, state
		}
	}
	return i, state
}

// at returns keywords that may begin where the n bytes do that end before i, in
// the order of the rules.
func (f *filter) at(s string, i, n int) []keyword {
	if i < n {
		return nil
	}
	return f.lists[f.slots[slot(s[i-n:i])]]
}

// slot hashes up to four bytes, without regard to case.
func slot(s string) uint32 {
	h := uint32(len(s))
	for i := range len(s) {
		h = h<<8 | uint32(s[i]|0x20)
	}
	return h * 0x9e3779b1 >> (32 - slotBits)
}

// stands reports whether the keyword stands at s[i:].
func (k *keyword) stands(s string, i int) bool {
	if len(s)-i < len(k.text) {
		return false
	}
	if !k.fold {
		return s[i:i+len(k.text)] == k.text
	}
	for n := range len(k.text) {
		c := s[i+n]
		if c != k.text[n] && (c|0x20 != k.text[n] || classes[c]&upper == 0) {
			return false
		}
	}
	return true
}

// compile makes the filter of rules. Where several keywords stand at one place,
// longer ones go before shorter, then the rule listed first.
func compile(rules []rule) *filter {
	f := &filter{ids: make(map[string]bool, len(rules)), lists: make([][]keyword, 1)}
	every, outside := setOf(func(byte) bool { return true }), setOf(mayPrecede)
	prefixes := make([]prefix, 0, 4*len(rules))
	for i := range rules {
		r := &rules[i]
		f.ids[r.id] = true
		for _, text := range r.keywords {
			k := keyword{text: text, rule: r}
			f.add(k)
			prefixes = append(prefixes, k.prefix(every, outside))
		}
	}
	for c := range f.masks {
		f.masks[c] = noHit
	}
	for b, p := range share(prefixes) {
		for n := range p {
			for c := range p[n].all {
				f.masks[c] &^= 1 << (buckets*n + b)
			}
		}
	}
	// Any byte may stand before a keyword shorter than the lanes, also at the start.
	f.start = noHit
	for range lanes - 1 {
		f.start = f.start<<buckets | f.masks['\n']
	}
	return f
}

func (f *filter) add(k keyword) {
	at := &f.slots[slot(k.text[:min(len(k.text), lanes)])]
	if *at == 0 {
		*at = uint16(len(f.lists))
		f.lists = append(f.lists, nil)
	}
	f.lists[*at] = append(f.lists[*at], k)
}

// prefix says which bytes may stand in each lane.
type prefix [lanes]byteSet

// prefix returns the bytes of the keyword, behind every byte, or outside of a
// word.
func (k *keyword) prefix(every, outside byteSet) prefix {
	var p prefix
	seen := min(len(k.text), lanes)
	for n := range lanes - seen {
		p[n] = every
		if k.alone && n == lanes-seen-1 {
			p[n] = outside
		}
	}
	for n, c := range []byte(k.text[:seen]) {
		lane := &p[lanes-seen+n]
		lane.add(c)
		if k.fold && 'a' <= c && c <= 'z' {
			lane.add(c - 'a' + 'A')
		}
	}
	return p
}

// mayPrecede reports whether a word can begin behind c; see [scan.begins].
func mayPrecede(c byte) bool {
	return classes[c]&letter == 0 || strings.IndexByte("nrtbfum", c) >= 0 || classes[c]&upper != 0 && classes[c]&hexLetter != 0
}

// share puts each prefix into the bucket whose hits grow least, and returns what
// each bucket hits then. Those that hit most go first.
func share(prefixes []prefix) [buckets]prefix {
	type place struct {
		cost float64
		at   int
	}
	order := make([]place, len(prefixes))
	for i := range prefixes {
		order[i] = place{prefixes[i].cost(), i}
	}
	slices.SortStableFunc(order, func(a, b place) int { return cmp.Compare(b.cost, a.cost) })
	var shared [buckets]prefix
	var costs [buckets]float64
	for _, place := range order {
		p := &prefixes[place.at]
		best, least, cost := 0, math.Inf(1), 0.0
		for b := range shared {
			grown := shared[b].joined(p)
			if grown-costs[b] < least {
				best, least, cost = b, grown-costs[b], grown
			}
			if least == 0 {
				break
			}
		}
		for n := range p {
			shared[best][n].join(&p[n])
		}
		costs[best] = cost
	}
	return shared
}

// joined is the cost of both prefixes together.
func (p *prefix) joined(o *prefix) float64 {
	cost := 1.0
	for n := range p {
		cost *= p[n].joined(&o[n])
	}
	return cost
}

// cost is how often p hits in text, up to a factor.
func (p *prefix) cost() float64 {
	cost := 1.0
	for n := range p {
		cost *= p[n].weight
	}
	return cost
}

// byteSet is a set of bytes, and about how many of 10,000 bytes of text are in it.
type byteSet struct {
	bits   [4]uint64
	weight float64
	size   uint16
	first  [2]byte // that were added, if there are no more
}

func (s *byteSet) has(c byte) bool { return s.bits[c>>6]>>(c&63)&1 == 1 }

func setOf(has func(c byte) bool) (s byteSet) {
	for c := range 256 {
		if has(byte(c)) {
			s.add(byte(c))
		}
	}
	return s
}

func (s *byteSet) add(c byte) {
	if s.has(c) {
		return
	}
	s.bits[c>>6] |= 1 << (c & 63)
	s.weight += frequencies[c]
	if int(s.size) < len(s.first) {
		s.first[s.size] = c
	}
	s.size++
}

func (s *byteSet) join(o *byteSet) {
	if int(o.size) <= len(o.first) {
		for _, c := range o.first[:o.size] {
			s.add(c)
		}
		return
	}
	s.weight, s.size = s.joined(o), 0
	for i, w := range o.bits {
		s.bits[i] |= w
		s.size += uint16(bits.OnesCount64(s.bits[i]))
	}
}

// joined is the weight of both sets together. Most keywords have one byte or two
// in a lane, or any: hooks wait for this.
func (s *byteSet) joined(o *byteSet) float64 {
	sum := s.weight
	switch {
	case int(o.size) <= len(o.first):
		for _, c := range o.first[:o.size] {
			if !s.has(c) {
				sum += frequencies[c]
			}
		}
	case o.size == 256:
		return o.weight
	default:
		for i, w := range o.bits {
			for w &^= s.bits[i]; w != 0; w &= w - 1 {
				sum += frequencies[i<<6+bits.TrailingZeros64(w)]
			}
		}
	}
	return sum
}

// all yields the bytes of the set.
func (s *byteSet) all(yield func(byte) bool) {
	for i, w := range s.bits {
		for ; w != 0; w &= w - 1 {
			if !yield(byte(i<<6 + bits.TrailingZeros64(w))) {
				return
			}
		}
	}
}

// frequencies says how many of 10,000 bytes each byte is, roughly, in sources
// and documents.
var frequencies = func() (of [256]float64) {
	for c := range of {
		of[c] = 1
	}
	for c := byte('!'); c <= '~'; c++ {
		of[c] = 12
	}
	for n, bytes := range map[float64]string{
		1700: " ", 600: "e", 500: "t", 340: "rnaiso\n", 280: "\t", 190: "cldu", 150: "/p,.f", 120: "mh\"0g",
		90: "():b", 75: "_=yx", 60: "ST1vE2{}", 45: "-CIAwk4ORNP63D", 25: "LF*58M[]'UB97GH",
	} {
		for _, c := range []byte(bytes) {
			of[c] = n
		}
	}
	return of
}()

// markEnd returns the end of the replacement at s[i:], or 0 if there is none.
func (f *filter) markEnd(s string, i int) int {
	id, ok := strings.CutPrefix(s[min(i, len(s)):min(len(s), i+maxMark)], markStart)
	if n := strings.IndexByte(id, ']'); ok && n > 0 && f.ids[id[:n]] {
		return i + len(markStart) + n + len(markEnd)
	}
	return 0
}
