package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"ambry.dev/ambry"
)

// Sizes of what is shown, in bytes of text; characters beyond ASCII count as
// more, which errs on the short side.
const (
	snippetBytes = 320
	leadingBytes = 80 // of it may stand before the first match
)

// passage is a place in a memory.
type passage struct {
	text   string // of the whole message
	said   int    // which message of the turn; -1 for a note
	source ambry.Source
	spans  []span
	at     int // where the densest part begins: a place in text
	cover  float64
	near   float64
	phrase bool

	snippet    string
	highlights [][2]int
}

// partGain is how much a part of an identifier counts, against the whole.
const partGain = 0.3

// likeGain is how much another form of a word counts, or one that means the same.
const likeGain = 0.5

// gain of a span is what it says of the question.
func (m *matcher) gain(s span) float64 {
	if s.like {
		return likeGain * m.asked.units[s.unit].weight
	}
	if s.part {
		return partGain * m.asked.units[s.unit].weight
	}
	return m.asked.units[s.unit].weight
}

// passageOf finds the densest part of a text. literal is where the very words of
// the query stand, or -1. Its spans are in the room of m.
func passageOf(m *matcher, text string, literal int) passage {
	spans := m.find(m.spans[:0], text)
	m.spans = spans
	if len(spans) == 0 && literal < 0 {
		return passage{}
	}
	p := passage{text: text, spans: spans, phrase: literal >= 0}
	counts, seen := m.counts, m.seen
	clear(counts)
	clear(seen)
	value, all := 0.0, 0.0
	for _, s := range spans {
		if s.like {
			continue
		}
		if g := m.gain(s); g > seen[s.unit] {
			all += g - seen[s.unit]
			seen[s.unit] = g
		}
	}
	best, from := 0.0, 0
	for i, s := range spans {
		if s.like {
			continue
		}
		if counts[s.unit]++; counts[s.unit] == 1 {
			value += m.gain(s)
		}
		for spans[from].start < s.end-snippetBytes+leadingBytes && from < i {
			if !spans[from].like {
				if counts[spans[from].unit]--; counts[spans[from].unit] == 0 {
					value -= m.gain(spans[from])
				}
			}
			from++
		}
		if value > best+1e-9 {
			best, p.at = value, spans[from].start
		}
	}
	if literal >= 0 {
		p.at = literal
	}
	weight := max(m.asked.weight, 1e-9)
	p.cover, p.near = all/weight, min(best/weight, all/weight)
	return p
}

// better reports whether p rather than o shows why a memory was found.
func (p *passage) better(o *passage) bool {
	if p.text == "" || o.text == "" {
		return p.text != ""
	}
	return p.value() > o.value()
}

func (p *passage) value() float64 {
	v := p.near + 0.03*p.cover
	if p.phrase {
		v++
	}
	return v
}

// finish cuts the snippet.
func (p *passage) finish() {
	start, end := p.window(snippetBytes)
	p.snippet = harmless(p.text[start:end])
	p.highlights = [][2]int{}
	last := 0
	for _, s := range p.spans {
		if s.start < start || s.end > end {
			continue
		}
		from, to := s.start-start, s.end-start
		if n := len(p.highlights); n > 0 && from <= last {
			p.highlights[n-1][1] = max(p.highlights[n-1][1], to)
		} else {
			p.highlights = append(p.highlights, [2]int{from, to})
		}
		last = p.highlights[len(p.highlights)-1][1]
	}
}

// window returns a range of about n bytes around the densest part, on whole
// characters and, if it can, whole lines and words.
func (p *passage) window(n int) (start, end int) {
	text := p.text
	start = max(p.at-n*leadingBytes/snippetBytes, 0)
	if len(text)-start < n {
		start = max(len(text)-n, 0)
	}
	if start > 0 {
		if i := strings.IndexByte(text[start:max(p.at, start)], '\n'); i >= 0 {
			start += i + 1
		} else if i := strings.IndexByte(text[start:max(p.at, start)], ' '); i >= 0 {
			start += i + 1
		}
	}
	for start > 0 && !utf8.RuneStart(text[start]) {
		start--
	}
	end = min(start+n, len(text))
	for end > start && end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	for start < end && (text[start] == ' ' || text[start] == '\n') {
		start++
	}
	for end > start && (text[end-1] == ' ' || text[end-1] == '\n') {
		end--
	}
	return start, end
}

// harmless replaces what can disturb a terminal or a reader by as many spaces:
// control characters, and invisible ones that reorder or hide text.
func harmless(s string) string {
	clean := true
	for _, r := range s {
		if harmful(r) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var out strings.Builder
	for i, r := range s {
		if !harmful(r) {
			out.WriteRune(r)
			continue
		}
		_, n := utf8.DecodeRuneInString(s[i:])
		for range n {
			out.WriteByte(' ')
		}
	}
	return out.String()
}

func harmful(r rune) bool {
	switch {
	case ' ' <= r && r < 0x7f, r == '\n', r == '\t':
		return false
	case r == utf8.RuneError:
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
}
