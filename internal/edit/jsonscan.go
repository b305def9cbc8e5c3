package edit

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// parseJSON reads a JSON document with comments and trailing commas; with five
// all of JSON5. A document of blanks and comments alone is empty.
func parseJSON(text []byte, five bool) (*jsonDoc, error) {
	s := &scanner{text: text, five: five}
	if bytes.HasPrefix(text, bom) {
		s.at = len(bom)
	}
	d := &jsonDoc{text: text}
	if err := s.blanks(); err != nil {
		return nil, err
	}
	if s.at == len(text) {
		return d, nil
	}
	root, err := s.value(0)
	if err != nil {
		return nil, err
	}
	if err := s.blanks(); err != nil {
		return nil, err
	}
	if s.at < len(text) {
		return nil, s.fault("there is something after the end")
	}
	d.root = root
	return d, nil
}

type scanner struct {
	text []byte
	at   int
	five bool
}

func (s *scanner) fault(what string) error {
	return fmt.Errorf("%w: line %d: %s", ErrSyntax, 1+bytes.Count(s.text[:min(s.at, len(s.text))], []byte("\n")), what)
}

// peek is the next byte, 0 at the end.
func (s *scanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

// blanks skips white space and comments.
func (s *scanner) blanks() error {
	for s.at < len(s.text) {
		rest := s.text[s.at:]
		switch {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			s.at++
		case bytes.HasPrefix(rest, []byte("//")):
			s.at = nextLine(s.text, s.at)
		case bytes.HasPrefix(rest, []byte("/*")):
			n := bytes.Index(rest[2:], []byte("*/"))
			if n < 0 {
				return s.fault("a comment has no end")
			}
			s.at += n + 4
		default:
			r, size := utf8.DecodeRune(rest)
			if !s.five || r < utf8.RuneSelf && r != '\v' && r != '\f' || r >= utf8.RuneSelf && r != '\uFEFF' && !unicode.IsSpace(r) {
				return nil
			}
			s.at += size
		}
	}
	return nil
}

func (s *scanner) value(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, s.fault("it is nested too deep")
	}
	n := &node{from: s.at, kind: 'v'}
	var err error
	switch c := s.peek(); {
	case c == '{' || c == '[':
		n.kind = c
		err = s.parts(n, depth)
	case c == '"' || c == '\'' && s.five:
		n.kind = '"'
		n.value, err = s.quoted()
	default:
		n.value, err = s.word()
	}
	n.to = s.at
	return n, err
}

// parts reads the fields of an object, or the items of a list, with the braces.
func (s *scanner) parts(n *node, depth int) error {
	end := byte('}')
	if n.kind == '[' {
		end = ']'
	}
	s.at++
	for {
		if err := s.blanks(); err != nil {
			return err
		}
		if s.peek() == end {
			s.at++
			return nil
		}
		if len(n.parts) > 0 && !n.trailing {
			return s.fault("a comma is missing")
		}
		p := part{from: s.at, comma: -1}
		n.trailing = false
		if err := s.part(&p, n.kind == '{', depth); err != nil {
			return err
		}
		if s.peek() == ',' {
			p.comma, n.trailing = s.at, true
			s.at++
		}
		n.parts = append(n.parts, p)
	}
}

// part reads a field or an item, up to the comma after it.
func (s *scanner) part(p *part, named bool, depth int) (err error) {
	if named {
		if p.key, err = s.key(); err != nil {
			return err
		}
		if err := s.blanks(); err != nil {
			return err
		}
		if s.peek() != ':' {
			return s.fault("a colon is missing")
		}
		s.at++
		if err := s.blanks(); err != nil {
			return err
		}
	}
	if p.value, err = s.value(depth + 1); err != nil {
		return err
	}
	return s.blanks()
}

var identifier = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[\pL\p{Nl}$_][\pL\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}$\x{200c}\x{200d}]*`)
})

func (s *scanner) key() (string, error) {
	if c := s.peek(); c == '"' || c == '\'' && s.five {
		return s.quoted()
	}
	name := identifier().Find(s.text[s.at:])
	if !s.five || name == nil {
		return "", s.fault("a name in quotes is missing")
	}
	s.at += len(name)
	return string(name), nil
}

// quoted reads a text in quotes.
func (s *scanner) quoted() (string, error) {
	end := s.text[s.at]
	s.at++
	var b strings.Builder
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == end:
			s.at++
			return b.String(), nil
		case c == '\\':
			if err := s.escape(&b); err != nil {
				return "", err
			}
		case c < ' ' && !(s.five && c == '\t'):
			return "", s.fault("a text in quotes has no end on its line")
		default:
			b.WriteByte(c)
			s.at++
		}
	}
	return "", s.fault("a text in quotes has no end")
}

const escapes = "\"\"\\\\//b\bf\fn\nr\rt\t"

// escape reads what begins with a backslash.
func (s *scanner) escape(b *strings.Builder) error {
	s.at++
	c := s.peek()
	s.at++
	for i := 0; i < len(escapes); i += 2 {
		if escapes[i] == c {
			b.WriteByte(escapes[i+1])
			return nil
		}
	}
	switch {
	case c == 'u':
		r, err := s.hex(4)
		if err != nil {
			return err
		}
		if utf16.IsSurrogate(r) && bytes.HasPrefix(s.text[s.at:], []byte(`\u`)) {
			back := s.at
			s.at += 2
			low, err := s.hex(4)
			if err != nil {
				return err
			}
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				b.WriteRune(pair)
				return nil
			}
			s.at = back
		}
		b.WriteRune(r)
		return nil
	case !s.five || c == 0 || c >= '1' && c <= '9':
		return s.fault("there is an unknown escape")
	case c == 'x':
		r, err := s.hex(2)
		b.WriteRune(r)
		return err
	case c == '\r' && s.peek() == '\n':
		s.at++
	case c == '\n' || c == '\r':
	case c == '0':
		b.WriteByte(0)
	case c == 'v':
		b.WriteByte('\v')
	default:
		b.WriteByte(c)
	}
	return nil
}

func (s *scanner) hex(digits int) (rune, error) {
	if s.at+digits > len(s.text) {
		return 0, s.fault("an escape is too short")
	}
	n, err := strconv.ParseUint(string(s.text[s.at:s.at+digits]), 16, 32)
	if err != nil {
		return 0, s.fault("an escape has no number")
	}
	s.at += digits
	return rune(n), nil
}

var (
	numeral     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`) })
	fiveNumeral = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[+-]?(0[xX][0-9a-fA-F]+|Infinity|NaN|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)$`)
	})
)

// word reads null, true, false and numbers.
func (s *scanner) word() (any, error) {
	from := s.at
	for s.at < len(s.text) && strings.IndexByte(" \t\r\n,:[]{}\"'/", s.text[s.at]) < 0 {
		s.at++
	}
	switch word := string(s.text[from:s.at]); {
	case word == "null":
		return nil, nil
	case word == "true" || word == "false":
		return word == "true", nil
	case numeral().MatchString(word) || s.five && fiveNumeral().MatchString(word):
		return number(word), nil
	}
	s.at = from
	return nil, s.fault("a value is missing")
}
