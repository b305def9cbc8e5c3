package redact

import (
	"math"
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
	slots [1 << slotBits]uint8
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
// state there; or len(s).
func (f *filter) next(s string, i int, state uint64) (int, uint64) {
	for ; i < len(s); i++ {
		state = state<<buckets | f.masks[s[i]]
		if state < anyHit {
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
	var sets [buckets]prefix
	for i := range rules {
		r := &rules[i]
		f.ids[r.id] = true
		for _, text := range r.keywords {
			k := keyword{text: text, rule: r}
			f.add(k)
			k.join(&sets)
		}
	}
	for c := range f.masks {
		f.masks[c] = noHit
		for b, set := range sets {
			for n, bytes := range set {
				if bytes.has(byte(c)) {
					f.masks[c] &^= 1 << (buckets*n + b)
				}
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
		*at = uint8(len(f.lists))
		f.lists = append(f.lists, nil)
	}
	f.lists[*at] = append(f.lists[*at], k)
}

// join adds k to the set whose hits grow least.
func (k *keyword) join(sets *[buckets]prefix) {
	own := k.prefix()
	best, least := 0, math.Inf(1)
	for b, set := range sets {
		joined := set.union(own)
		if grows := joined.cost() - set.cost(); grows < least {
			best, least = b, grows
		}
	}
	sets[best] = sets[best].union(own)
}

// prefix says which bytes may stand in each lane.
type prefix [lanes]byteSet

func (k *keyword) prefix() prefix {
	var p prefix
	seen := min(len(k.text), lanes)
	for n := range lanes - seen {
		for c := range 256 {
			if !k.alone || n < lanes-seen-1 || mayPrecede(byte(c)) {
				p[n].add(byte(c))
			}
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

func (p prefix) union(o prefix) prefix {
	for n := range p {
		for i := range p[n] {
			p[n][i] |= o[n][i]
		}
	}
	return p
}

// cost is how often p hits in text, up to a factor.
func (p prefix) cost() float64 {
	cost := 1.0
	for _, lane := range p {
		sum := 0.0
		for c := range 256 {
			if lane.has(byte(c)) {
				sum += frequency(byte(c))
			}
		}
		cost *= sum
	}
	return cost
}

// frequency is a rough guess at how often c stands in prose and code.
func frequency(c byte) float64 {
	const common = "zqxjkvbpygfwmucldrhsnioate "
	switch i := strings.IndexByte(common, c); {
	case i >= 0:
		return float64(2 + i)
	case classes[c]&(digit|upper) != 0 || c < 0x80 && c > ' ':
		return 2
	}
	return 0.5
}

// byteSet is a set of bytes.
type byteSet [4]uint64

func (s *byteSet) add(c byte)      { s[c>>6] |= 1 << (c & 63) }
func (s *byteSet) has(c byte) bool { return s[c>>6]&(1<<(c&63)) != 0 }

// markEnd returns the end of the replacement at s[i:], or 0 if there is none.
func (f *filter) markEnd(s string, i int) int {
	id, ok := strings.CutPrefix(s[min(i, len(s)):min(len(s), i+64)], markStart)
	if n := strings.IndexByte(id, ']'); ok && n > 0 && f.ids[id[:n]] {
		return i + len(markStart) + n + len(markEnd)
	}
	return 0
}
