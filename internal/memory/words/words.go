// Package words cuts text into the terms that the index holds and that a query
// asks for: one function for both, so that they cannot drift apart. It knows no
// storage, no ranking and no stop words.
//
// The terms of a text are
//   - words of ASCII letters, lower-cased and stemmed (English Porter2);
//   - identifiers, numbers and error codes whole, and identifiers also in their
//     camelCase, snake_case, dotted and dashed parts; a path gives its elements;
//   - scripts written without spaces (Han, Kana, Hangul, Thai, …) as single
//     characters and as pairs of neighbours;
//   - words of every other script, lower-cased.
//
// A term holds lower-case ASCII letters, digits, '_', '.', '-' and bytes of
// 0x80 and above, never a space or a quote.
package words

import "unicode/utf8"

// Kind says what a term is of the text it was cut from.
type Kind uint8

// The kinds of terms.
const (
	Word   Kind = iota // a word, a number or a code that has no parts
	Whole              // an identifier or a compound, whole
	Part               // one of the parts of the Whole before it
	Single             // one character of a script without spaces
	Pair               // two neighbours of a script without spaces
)

// Term is one term, and where in the text it was found. Text is only valid
// until the function it was given to returns.
type Term struct {
	Text       []byte
	Start, End int
	Kind       Kind
}

// MaxTerm is the longest term in bytes. What is longer is data, not language.
const MaxTerm = 64

// Cutter cuts texts into terms. It is for one goroutine; its caches make the
// next text cheaper.
type Cutter struct {
	stems  stems
	lower  [MaxTerm]byte
	bounds []int
	seen   seen
	wanted *Beginnings // if not nil, other terms need be neither stemmed nor yielded
}

// NewCutter returns a Cutter. It holds about 600 KB once it is warm.
func NewCutter() *Cutter { return &Cutter{} }

// The classes of a byte.
const (
	space = iota // separates
	small        // a-z
	large        // A-Z
	digit        // 0-9
	under        // _
	joint        // . and -, which join when a word goes on right after them
	high         // part of a character beyond ASCII
)

var classes = func() (c [256]uint8) {
	for i := range c {
		switch b := byte(i); {
		case b >= utf8.RuneSelf:
			c[i] = high
		case 'a' <= b && b <= 'z':
			c[i] = small
		case 'A' <= b && b <= 'Z':
			c[i] = large
		case '0' <= b && b <= '9':
			c[i] = digit
		case b == '_':
			c[i] = under
		case b == '.' || b == '-':
			c[i] = joint
		}
	}
	return c
}()

// inWord reports whether a byte can stand in an ASCII word.
func inWord(b byte) bool { c := classes[b]; return small <= c && c <= under }

// Each calls yield with every term of text, in order: a Whole before its parts,
// a Single before the Pair it begins.
func (c *Cutter) Each(text string, yield func(Term)) {
	for i := 0; i < len(text); {
		switch class := classes[text[i]]; {
		case class == high:
			i = c.beyond(text, i, yield)
		case small <= class && class <= under:
			i = c.compound(text, i, yield)
		default:
			i++
		}
	}
}

// compound yields the terms of the run of words and joints that begins at
// start, and returns where it ends.
func (c *Cutter) compound(text string, start int, yield func(Term)) int {
	c.bounds = c.bounds[:0]
	i, from := start, start
	for {
		for i < len(text) && inWord(text[i]) {
			i++
		}
		if i < len(text) && classes[text[i]] == high && continuesWord(text, i) {
			// "naïve", "Überprüfe": the word goes on beyond ASCII.
			c.segments(text, start, from-1, yield)
			return c.foreignWord(text, from, yield)
		}
		c.bounds = append(c.bounds, from, i)
		if i+1 < len(text) && classes[text[i]] == joint && inWord(text[i+1]) {
			i++
			from = i
			continue
		}
		break
	}
	c.segments(text, start, i, yield)
	return i
}

// segments yields the compound text[start:end] whole, and each segment that
// bounds tells of.
func (c *Cutter) segments(text string, start, end int, yield func(Term)) {
	kind := Word
	if len(c.bounds) > 2 {
		kind = Part
		if end-start <= MaxTerm {
			yield(Term{Text: c.lowered(text[start:end]), Start: start, End: end, Kind: Whole})
		}
	}
	for i := 0; i < len(c.bounds); i += 2 {
		c.segment(text, c.bounds[i], c.bounds[i+1], kind, yield)
	}
}

// segment yields a word or identifier, and its parts if it has any.
func (c *Cutter) segment(text string, start, end int, kind Kind, yield func(Term)) {
	for start < end && text[start] == '_' {
		start++
	}
	for start < end && text[end-1] == '_' {
		end--
	}
	if end-start < 2 || end-start > MaxTerm {
		return
	}
	s := text[start:end]
	parts := countParts(s)
	if parts == 1 {
		yield(Term{Text: c.stemmed(s), Start: start, End: end, Kind: kind})
		return
	}
	yield(Term{Text: c.lowered(s), Start: start, End: end, Kind: Whole})
	if noise(s, parts) {
		return
	}
	for i := 0; i < len(s); {
		n := part(s[i:])
		if p := trimUnder(s[i : i+n]); len(p) >= 2 {
			yield(Term{Text: c.stemmed(p), Start: start + i, End: start + i + len(p), Kind: Part})
		}
		i += n
	}
}

// noise reports whether an identifier looks like encoded data, whose parts say
// nothing: base64, a random key.
func noise(s string, parts int) bool { return len(s) >= 20 && parts*4 > len(s) }

// countParts returns how many parts an identifier has.
func countParts(s string) int {
	n := 0
	for i := 0; i < len(s); n++ {
		i += part(s[i:])
	}
	return n
}

// part returns the length of the first part of an identifier with the
// underscores after it: "parse" of parseHTTPRequest, "HTTP" of HTTPRequest.
// Digits belong to the letters before them.
func part(s string) int {
	i := 1
	for i < len(s) {
		class, before := classes[s[i]], classes[s[i-1]]
		if class == large && before != large && before != under {
			return i
		}
		if class == large && before == large && i+1 < len(s) && classes[s[i+1]] == small {
			return i
		}
		if class == under {
			for i < len(s) && s[i] == '_' {
				i++
			}
			return i
		}
		i++
	}
	return i
}

func trimUnder(s string) string {
	for len(s) > 0 && s[len(s)-1] == '_' {
		s = s[:len(s)-1]
	}
	return s
}

// lowered returns s, which is ASCII and not longer than MaxTerm, in lower case.
func (c *Cutter) lowered(s string) []byte {
	b := c.lower[:len(s)]
	for i := range len(s) {
		ch := s[i]
		if 'A' <= ch && ch <= 'Z' {
			ch += 'a' - 'A'
		}
		b[i] = ch
	}
	return b
}

// stemmed returns the stem of s if it is a word, else s in lower case.
func (c *Cutter) stemmed(s string) []byte {
	low := c.lowered(s)
	for _, b := range low {
		if b < 'a' || b > 'z' {
			return low
		}
	}
	if c.wanted != nil && !c.wanted.HasWord(low) {
		return low
	}
	return c.stems.of(low)
}
