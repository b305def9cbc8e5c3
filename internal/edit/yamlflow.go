package edit

import (
	"bytes"
	"strings"
)

// flowScanner finds the places in a value between braces of a document that is
// known to be valid.
type flowScanner struct {
	text []byte
	at   int
}

// skip skips blanks, line breaks and comments.
func (s *flowScanner) skip() {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case strings.IndexByte(" \t\r\n", c) >= 0:
			s.at++
		case c == '#' && s.at > 0 && strings.IndexByte(" \t\r\n", s.text[s.at-1]) >= 0:
			s.at = nextLine(s.text, s.at)
		default:
			return
		}
	}
}

func (s *flowScanner) value(depth int) *node {
	s.skip()
	if s.at >= len(s.text) || depth > maxDepth {
		return nil
	}
	n := &node{kind: 'v', from: s.at}
	switch c := s.text[s.at]; c {
	case '{', '[':
		n.kind = c
		if !s.parts(n, depth) {
			return nil
		}
	case '"', '\'':
		if !s.quoted() {
			return nil
		}
	case '&', '*', '!':
		return nil // names, aliases and tags: not ours to touch
	default:
		for s.at < len(s.text) && !s.ends() {
			s.at++
		}
		s.at = n.from + len(bytes.TrimRight(s.text[n.from:s.at], " \t\r\n"))
	}
	n.to = s.at
	return n
}

// ends reports whether a plain text ends here.
func (s *flowScanner) ends() bool {
	switch c := s.text[s.at]; c {
	case ',', ']', '}', '[', '{':
		return true
	case ':':
		return s.at+1 >= len(s.text) || strings.IndexByte(" \t\r\n,]}", s.text[s.at+1]) >= 0
	case '#':
		return s.at > 0 && strings.IndexByte(" \t\r\n", s.text[s.at-1]) >= 0
	}
	return false
}

func (s *flowScanner) quoted() bool {
	quote := s.text[s.at]
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '\\' && quote == '"':
			s.at++
		case c == quote && quote == '\'' && s.at+1 < len(s.text) && s.text[s.at+1] == quote:
			s.at++
		case c == quote:
			s.at++
			return true
		}
	}
	return false
}

func (s *flowScanner) parts(n *node, depth int) bool {
	s.at++
	for {
		s.skip()
		if s.at >= len(s.text) {
			return false
		}
		if c := s.text[s.at]; c == ']' || c == '}' {
			s.at++
			return true
		}
		p := part{from: s.at, comma: -1}
		first := s.value(depth + 1)
		if first == nil {
			return false
		}
		p.value = first
		s.skip()
		if s.at < len(s.text) && s.text[s.at] == ':' {
			s.at++
			p.key = s.key(first)
			if p.value = s.value(depth + 1); p.value == nil {
				return false
			}
			s.skip()
		}
		n.trailing = s.at < len(s.text) && s.text[s.at] == ','
		if n.trailing {
			p.comma = s.at
			s.at++
		}
		n.parts = append(n.parts, p)
	}
}

func (s *flowScanner) key(n *node) string {
	said := string(s.text[n.from:n.to])
	if m := yamlKey().FindStringSubmatch(said + ":"); m != nil {
		return yamlKeyText(m)
	}
	return said
}
