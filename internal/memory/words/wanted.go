package words

import (
	"sync"

	"github.com/kljensen/snowball/english"
)

// EachOf is [Cutter.Each] for somebody who looks for certain terms: it passes over
// words of which no term begins as one of them, which is most of them.
func (c *Cutter) EachOf(text string, wanted *Beginnings, yield func(Term)) {
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
func (p *Beginnings) skim(text string, start int) (end int, may bool) {
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
			if (before == under || before == joint || class == large) && p.at(text[i:]) {
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

// Beginnings is a set of what terms begin with, and the words that they are the
// stems of: two bytes, and of words that begin with letters three.
type Beginnings struct {
	two   [1 << 16 / 64]uint64
	three [1 << 15 / 64]uint64
}

// minStem is the length from which on a stem has its first three letters from its
// word: "cries" and "cry" become "cri".
const minStem = 4

// Add adds what a term begins with.
func (p *Beginnings) Add(term string) {
	p.add(term)
	if len(term) > 1 && len(term) < minStem && letter(term[0]) && letter(term[1]) {
		for third := byte('a'); third <= 'z'; third++ {
			p.add(string([]byte{term[0], term[1], third}))
		}
	}
	for _, word := range beginOtherwise()[term] {
		p.add(word)
	}
}

func (p *Beginnings) add(word string) {
	if len(word) > 1 {
		n := uint16(word[0])<<8 | uint16(word[1])
		p.two[n/64] |= 1 << (n % 64)
	}
	if len(word) > 2 && letter(word[0]) && letter(word[1]) && letter(word[2]) {
		n := three(word[0], word[1], word[2])
		p.three[n/64] |= 1 << (n % 64)
	}
}

// Has reports whether a term may begin so.
func (p *Beginnings) Has(first, second byte) bool {
	n := uint16(first)<<8 | uint16(second)
	return p.two[n/64]&(1<<(n%64)) != 0
}

// HasWord reports whether a word in lower case may be one of the terms, or have one
// as its stem.
func (p *Beginnings) HasWord(word []byte) bool {
	if len(word) < 2 {
		return true
	}
	if len(word) < 3 || !letter(word[0]) || !letter(word[1]) || !letter(word[2]) {
		return p.Has(word[0], word[1])
	}
	n := three(word[0], word[1], word[2])
	return p.three[n/64]&(1<<(n%64)) != 0
}

// at reports whether a term may begin where text does. What a small letter follows
// goes on with it, so three letters are looked at then.
func (p *Beginnings) at(text string) bool {
	if len(text) < 2 {
		return false
	}
	first, second := folded[text[0]], folded[text[1]]
	if len(text) > 2 && classes[text[2]] == small && letter(first) && letter(second) {
		n := three(first, second, text[2])
		return p.three[n/64]&(1<<(n%64)) != 0
	}
	return p.Has(first, second)
}

func letter(b byte) bool { return 'a' <= b && b <= 'z' }

func three(a, b, c byte) uint16 { return uint16(a-'a')<<10 | uint16(b-'a')<<5 | uint16(c-'a') }

// beginOtherwise are the words that do not begin as their stems do, by stem. All
// others do (a test asks the stemmer).
var beginOtherwise = sync.OnceValue(func() map[string][]string {
	words := map[string][]string{"die": {"dying"}, "lie": {"lying"}, "tie": {"tying"}}
	for form, base := range irregular() {
		stem := base
		if len(form) > 2 {
			stem = english.Stem(base, true)
		}
		n := 2
		if len(stem) >= minStem {
			n = 3
		}
		if form[:min(n, len(form))] != stem[:n] {
			words[stem] = append(words[stem], form)
		}
	}
	return words
})
