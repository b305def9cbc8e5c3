package edit

import (
	"bytes"
	"strings"
)

// scan finds the sections and lines of a document that is known to be valid.
func (d *tomlDoc) scan() error {
	start := len(d.text) - len(trimBOM(d.text))
	d.sections = []section{{from: start, to: start}}
	s := &tomlScanner{text: d.text, at: start}
	for {
		s.skip(true)
		if s.at >= len(s.text) {
			return nil
		}
		from := s.at
		if s.text[s.at] == '[' {
			list := bytes.HasPrefix(s.text[s.at:], []byte("[["))
			s.at++
			if list {
				s.at++
			}
			keys, ok := s.keys(']')
			if !ok {
				return ErrShape
			}
			d.sections = append(d.sections, section{path: keys, list: list, from: lineStart(s.text, from), to: nextLine(s.text, s.at)})
			s.at = nextLine(s.text, s.at)
			continue
		}
		keys, ok := s.keys('=')
		if !ok {
			return ErrShape
		}
		s.at++
		s.skip(false)
		value := s.value(0)
		if value == nil {
			return ErrShape
		}
		last := &d.sections[len(d.sections)-1]
		last.pairs = append(last.pairs, pair{keys, from, value})
		s.at = nextLine(s.text, s.at)
		last.to = s.at
	}
}

type tomlScanner struct {
	text []byte
	at   int
}

// skip skips blanks; with lines also line breaks and comments.
func (s *tomlScanner) skip(lines bool) {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == ' ' || c == '\t' || lines && (c == '\n' || c == '\r'):
			s.at++
		case lines && c == '#':
			s.at = nextLine(s.text, s.at)
		default:
			return
		}
	}
}

// keys reads the keys up to an end, which it does not skip.
func (s *tomlScanner) keys(end byte) (keys []string, ok bool) {
	for s.at < len(s.text) {
		s.skip(false)
		from := s.at
		if s.at == len(s.text) {
			return nil, false
		}
		switch c := s.text[s.at]; c {
		case end:
			return keys, len(keys) > 0
		case '.':
			s.at++
		case '"', '\'':
			if !s.quoted() {
				return nil, false
			}
			key, ok := unquoteTOML(string(s.text[from:s.at]))
			if !ok {
				return nil, false
			}
			keys = append(keys, key)
		default:
			for s.at < len(s.text) && bareKey().Match(s.text[s.at:s.at+1]) {
				s.at++
			}
			if s.at == from {
				return nil, false
			}
			keys = append(keys, string(s.text[from:s.at]))
		}
	}
	return nil, false
}

// unquoteTOML returns the text of a quoted key.
func unquoteTOML(s string) (string, bool) {
	if s[0] == '\'' {
		return s[1 : len(s)-1], true
	}
	d, err := parseTOMLTree("k = " + s)
	if err != nil {
		return "", false
	}
	key, ok := d["k"].(string)
	return key, ok
}

// quoted skips a text in quotes.
func (s *tomlScanner) quoted() bool {
	quote := s.text[s.at : s.at+1]
	if triple := bytes.Repeat(quote, 3); bytes.HasPrefix(s.text[s.at:], triple) {
		quote = triple
	}
	s.at += len(quote)
	for s.at < len(s.text) {
		switch {
		case s.text[s.at] == '\\' && quote[0] == '"':
			s.at += 2
		case bytes.HasPrefix(s.text[s.at:], quote):
			s.at += len(quote)
			for n := 0; len(quote) == 3 && n < 2 && s.at < len(s.text) && s.text[s.at] == quote[0]; n++ {
				s.at++ // quotes of the text itself before those that end it
			}
			return true
		default:
			s.at++
		}
	}
	return false
}

func (s *tomlScanner) value(depth int) *node {
	if s.at >= len(s.text) || depth > maxDepth {
		return nil
	}
	n := &node{kind: 'v', from: s.at}
	switch c := s.text[s.at]; c {
	case '"', '\'':
		if !s.quoted() {
			return nil
		}
	case '[', '{':
		n.kind = c
		if !s.parts(n, depth) {
			return nil
		}
	default:
		for s.at < len(s.text) && strings.IndexByte(",]}#\r\n", s.text[s.at]) < 0 {
			s.at++
		}
		s.at = n.from + len(bytes.TrimRight(s.text[n.from:s.at], " \t"))
	}
	n.to = s.at
	return n
}

// parts reads an inline table, or an array, with its braces.
func (s *tomlScanner) parts(n *node, depth int) bool {
	s.at++
	for {
		s.skip(true)
		if s.at >= len(s.text) {
			return false
		}
		if c := s.text[s.at]; c == ']' || c == '}' {
			s.at++
			return true
		}
		p := part{from: s.at, comma: -1}
		if n.kind == '{' {
			keys, ok := s.keys('=')
			if !ok {
				return false
			}
			s.at++
			s.skip(true)
			p.key = keys[0]
			if len(keys) > 1 {
				p.key = "\x00" // a dotted one, which nothing looks for
			}
		}
		if p.value = s.value(depth + 1); p.value == nil {
			return false
		}
		s.skip(true)
		n.trailing = s.at < len(s.text) && s.text[s.at] == ','
		if n.trailing {
			p.comma = s.at
			s.at++
		}
		n.parts = append(n.parts, p)
	}
}
