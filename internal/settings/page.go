package settings

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/token"
)

// page is a text as lines that keep what they end with, so that what is not
// edited stays as it is to the byte.
type page struct {
	mark  string // byte order mark, if there is one
	lines []line
	ends  string // what new lines end with: the same as the first
}

type line struct{ text, end string }

// place is a position in a page: a line, and a byte of its text, both from 0.
type place struct{ line, at int }

// span is the part of a page from one place up to another.
type span struct{ from, to place }

const byteOrderMark = "\uFEFF"

func newPage(data []byte) *page {
	p := &page{ends: "\n"}
	rest := string(data)
	if cut, ok := strings.CutPrefix(rest, byteOrderMark); ok {
		p.mark, rest = byteOrderMark, cut
	}
	for raw := range strings.Lines(rest) {
		l := line{text: raw}
		for _, end := range []string{"\r\n", "\n"} {
			if text, ok := strings.CutSuffix(raw, end); ok {
				l = line{text, end}
				break
			}
		}
		p.lines = append(p.lines, l)
	}
	if len(p.lines) > 0 && p.lines[0].end != "" {
		p.ends = p.lines[0].end
	}
	return p
}

// bytes is the page as it is written to a file.
func (p *page) bytes() []byte {
	var b strings.Builder
	b.WriteString(p.mark)
	for _, l := range p.lines {
		b.WriteString(l.text + l.end)
	}
	return []byte(b.String())
}

// text is the page as it is parsed: its places are those of the tokens.
func (p *page) text() string {
	var b strings.Builder
	for _, l := range p.lines {
		b.WriteString(l.text)
		if l.end != "" {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// place returns where a token is; its column counts characters.
func (p *page) place(t *token.Token) place {
	at := place{line: min(max(t.Position.Line-1, 0), max(len(p.lines)-1, 0))}
	text := p.line(at.line)
	for range t.Position.Column - 1 {
		_, size := utf8.DecodeRuneInString(text[at.at:])
		at.at += size
	}
	return at
}

func (p *page) line(i int) string {
	if i < len(p.lines) {
		return p.lines[i].text
	}
	return ""
}

// after returns the text of the line from a place on.
func (p *page) after(at place) string { return p.line(at.line)[at.at:] }

// put replaces a part by text, which has no line break.
func (p *page) put(s span, text string) error {
	if !s.valid() || s.to.line >= len(p.lines) {
		return errShape
	}
	first, last := p.lines[s.from.line], p.lines[s.to.line]
	p.lines[s.from.line] = line{first.text[:s.from.at] + text + last.text[s.to.at:], last.end}
	p.lines = slices.Delete(p.lines, s.from.line+1, s.to.line+1)
	return nil
}

func (s span) valid() bool {
	return s.from.line < s.to.line || s.from.line == s.to.line && s.from.at <= s.to.at
}

// between returns the text of a part, its lines run together.
func (p *page) between(s span) string {
	if !s.valid() {
		return ""
	}
	if s.from.line == s.to.line {
		return p.line(s.from.line)[s.from.at:s.to.at]
	}
	text := p.after(s.from)
	for i := s.from.line + 1; i < s.to.line; i++ {
		text += p.line(i)
	}
	return text + p.line(s.to.line)[:s.to.at]
}

// insert puts new lines before line i.
func (p *page) insert(i int, texts ...string) {
	if i > 0 && p.lines[i-1].end == "" {
		p.lines[i-1].end = p.ends
	}
	for n, text := range texts {
		p.lines = slices.Insert(p.lines, i+n, line{text, p.ends})
	}
}

// remove takes out the lines from first to last.
func (p *page) remove(first, last int) { p.lines = slices.Delete(p.lines, first, last+1) }

// indent returns how far the text of a line is indented.
func indent(text string) int { return len(text) - len(strings.TrimLeft(text, " ")) }

// quiet reports whether a line says nothing: it is empty or a comment.
func quiet(text string) bool {
	text = strings.TrimLeft(text, " \t")
	return text == "" || text[0] == '#'
}
