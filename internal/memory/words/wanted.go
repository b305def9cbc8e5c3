package words

import (
	"sync"

	"github.com/kljensen/snowball/english"
)

// EachOf is [Cutter.Each] for somebody who looks for certain terms: it passes over
// words of which no term begins as one of them, which is most of them.
func (c *Cutter) EachOf(text string, wanted *Pairs, yield func(Term)) {
	c.wanted = wanted
	defer func() { c.wanted = nil }()
	for i := 0; i < len(text); {
		switch class := classes[text[i]]; {
		case class == high:
			i = c.beyond(text, i, yield)
		case small <= class && class <= under:
			if end, may := wanted.skim(text, i); may {
				i = c.compound(text, i, yield)
			} else {
				i = end
			}
		default:
			i++
		}
	}
}

// skim returns where the run of words and joints ends that begins at start, and
// whether one of its terms may be wanted; then it need not read to the end.
func (p *Pairs) skim(text string, start int) (end int, may bool) {
	before := uint8(under) // a term may begin at the start, too
	for i := start; i < len(text); i++ {
		class := classes[text[i]]
		switch class {
		case space:
			return i, false
		case high:
			// The word may go on beyond ASCII, in another case than it is wanted in.
			return i, true
		case joint:
			if i+1 == len(text) || !inWord(text[i+1]) && classes[text[i+1]] != high {
				return i, false
			}
		default:
			if (before == under || before == joint || class == large) && i+1 < len(text) && p.Has(folded[text[i]], folded[text[i+1]]) {
				return i, true
			}
			for class != large && class != under && i+1 < len(text) && plain[text[i+1]] { // most letters begin nothing
				i++
				class = small
			}
		}
		before = class
	}
	return len(text), false
}

// plain are the bytes that only go on with a word.
var plain = func() (t [256]bool) {
	for i, class := range classes {
		t[i] = class == small || class == digit
	}
	return t
}()

// folded is every byte, ASCII letters in lower case.
var folded = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
		if 'A' <= i && i <= 'Z' {
			t[i] += 'a' - 'A'
		}
	}
	return t
}()

// Pairs is a set of first two bytes of terms, and of the words that they are the
// stems of.
type Pairs [1 << 16 / 64]uint64

// Add adds what a term begins with.
func (p *Pairs) Add(term string) {
	p.add(term)
	for _, word := range beginOtherwise()[term] {
		p.add(word)
	}
}

func (p *Pairs) add(word string) {
	if len(word) > 1 {
		n := uint16(word[0])<<8 | uint16(word[1])
		p[n/64] |= 1 << (n % 64)
	}
}

// Has reports whether a term may begin so.
func (p *Pairs) Has(first, second byte) bool {
	n := uint16(first)<<8 | uint16(second)
	return p[n/64]&(1<<(n%64)) != 0
}

// beginOtherwise are the words that do not begin as their stems do, by stem. All
// others do (a test asks the stemmer).
var beginOtherwise = sync.OnceValue(func() map[string][]string {
	words := map[string][]string{"die": {"dying"}, "lie": {"lying"}, "tie": {"tying"}}
	for form, base := range irregular() {
		stem := base
		if len(form) > 2 {
			stem = english.Stem(base, true)
		}
		if form[:2] != stem[:2] {
			words[stem] = append(words[stem], form)
		}
	}
	return words
})
