package recall

import (
	"ambry.dev/ambry/internal/memory/words"
)

// matcher finds the units of a query in a text.
type matcher struct {
	cutter *words.Cutter
	unit   map[string]int // term → place in units; a part has that of its identifier
	exact  map[string]bool
	starts *words.Beginnings
	means  map[string]int   // term → unit that means about the same
	begin  map[string][]int // first bytes of a term → units
	asked  asked

	literal *needle // all that was asked

	// Room of one goroutine: for the spans of a text, for those of the best one so
	// far, and for numbers by unit.
	spans, best []span
	counts      []int
	seen        []float64
}

// span is a place in a text where a unit is.
type span struct {
	start, end int
	unit       int
	part       bool // only a part of the unit
	like       bool // another form of the unit, or a word that means about the same
}

func newMatcher(c *words.Cutter, a asked) *matcher {
	m := &matcher{cutter: c, unit: map[string]int{}, exact: map[string]bool{}, begin: map[string][]int{}, means: map[string]int{}, asked: a, starts: &words.Beginnings{}}
	m.literal = newNeedle(a.literal)
	m.makeRoom()
	for i, u := range a.units {
		m.add(u.term, i)
		m.exact[u.term] = true
		if varies(u.term) {
			m.begin[u.term[:beginsAlike]] = append(m.begin[u.term[:beginsAlike]], i)
		}
	}
	for i, u := range a.units {
		for _, p := range u.parts {
			if _, ok := m.unit[p]; !ok {
				m.add(p, i)
			}
		}
	}
	for i, u := range a.units {
		for _, term := range synonyms()[u.term] {
			if _, ok := m.unit[term]; !ok {
				m.means[term] = i
				m.starts.Add(term)
			}
		}
	}
	return m
}

// with returns a matcher of the same for another goroutine, which has its own
// cutter.
func (m *matcher) with(c *words.Cutter) *matcher {
	other := *m
	other.cutter = c
	other.makeRoom()
	return &other
}

func (m *matcher) makeRoom() {
	const most = 64 // spans, of nearly all texts
	both := make([]span, 2*most)
	m.spans, m.best = both[:0:most], both[most:most]
	m.counts, m.seen = make([]int, len(m.asked.units)), make([]float64, len(m.asked.units))
}

func (m *matcher) add(term string, unit int) {
	m.unit[term] = unit
	m.starts.Add(term)
}

// lower folds ASCII letters.
var lower = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
		if 'A' <= i && i <= 'Z' {
			t[i] += 'a' - 'A'
		}
	}
	return t
}()

// find appends the spans of text to out.
func (m *matcher) find(out []span, text string) []span {
	m.cutter.EachOf(text, m.starts, func(t words.Term) {
		u, ok := m.unit[string(t.Text)]
		if !ok {
			if u := m.like(t.Text); u >= 0 {
				out = append(out, span{start: t.Start, end: t.End, unit: u, like: true})
			}
			return
		}
		out = append(out, span{start: t.Start, end: t.End, unit: u, part: !m.exact[string(t.Text)]})
	})
	return out
}

// beginsAlike is how many bytes the forms of a word have in common at least.
const beginsAlike = 4

// varies reports whether a term is a word that may have other forms: letters,
// not too few, of a script that is written in words.
func varies(term string) bool {
	if len(term) <= beginsAlike {
		return false
	}
	for i := range len(term) {
		if c := term[i]; (c < 'a' || c > 'z') && (c < 0xc3 || c > 0xdf) && (c < 0x80 || c > 0xbf) {
			return false
		}
	}
	return true
}

// like returns the unit that a term may be another form of or means about the
// same as, or -1.
func (m *matcher) like(term []byte) int {
	if u, ok := m.means[string(term)]; ok {
		return u
	}
	if len(term) <= beginsAlike {
		return -1
	}
	for _, u := range m.begin[string(term[:beginsAlike])] {
		if related(m.asked.units[u].term, term) {
			return u
		}
	}
	return -1
}

// related reports whether two words have most of their letters in common, from
// the beginning on.
func related(a string, b []byte) bool {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n >= 5 && 4*n >= 3*min(len(a), len(b)) && max(len(a), len(b))-n <= 7 || n >= 4 && max(len(a), len(b))-n <= 2
}
