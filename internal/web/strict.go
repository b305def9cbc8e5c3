package web

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// MaxDepth is how deep JSON may nest.
const MaxDepth = 64

// maxNumber is the largest whole number that every JSON parser reads exactly.
const maxNumber = 1 << 53

// CheckJSON reports why data is not one JSON value that every parser reads
// alike (RFC 7493, and stricter): valid UTF-8, no NUL, no name twice in an
// object even in other case, no number beyond 2^53, at most [MaxDepth] deep,
// and nothing behind it. It goes over data once, and allocates little.
func CheckJSON(data []byte) error {
	if hasNUL(data) {
		return errors.New("a string holds a NUL character")
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true)) // checked below, with other cases
	var names nameStack
	for {
		if err := checkToken(d, &names); err != nil {
			return err
		}
		if d.StackDepth() == 0 {
			break
		}
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return fmt.Errorf("something follows the JSON value, at byte %d", d.InputOffset())
	}
	return nil
}

func checkToken(d *jsontext.Decoder, names *nameStack) error {
	switch d.PeekKind() {
	case '{':
		names.open()
	case '}':
		names.close()
	case '"':
		return checkString(d, names)
	case '0':
		return checkNumber(d)
	}
	if _, err := d.ReadToken(); err != nil {
		return notJSON(d, err)
	}
	if d.StackDepth() > MaxDepth {
		return fmt.Errorf("nested deeper than %d", MaxDepth)
	}
	return nil
}

func checkString(d *jsontext.Decoder, names *nameStack) error {
	kind, length := d.StackIndex(d.StackDepth())
	raw, err := d.ReadValue()
	if err != nil {
		return notJSON(d, err)
	}
	if kind != '{' || length%2 != 0 {
		return nil
	}
	if !names.add(raw) {
		return fmt.Errorf("the name at byte %d is there twice, or in another case", d.InputOffset()-int64(len(raw)))
	}
	return nil
}

func checkNumber(d *jsontext.Decoder) error {
	raw, err := d.ReadValue()
	if err != nil {
		return notJSON(d, err)
	}
	if len(raw) <= 15 && !bytes.ContainsAny(raw, "eE") {
		return nil
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || math.Abs(f) > maxNumber || math.Abs(f) == maxNumber && beyond(raw) {
		return fmt.Errorf("the number at byte %d is beyond 2^53", d.InputOffset()-int64(len(raw)))
	}
	return nil
}

// beyond reports whether a number that rounds to 2^53 is none.
func beyond(raw []byte) bool {
	return string(bytes.TrimPrefix(raw, []byte("-"))) != "9007199254740992"
}

// notJSON says where, but repeats nothing of, what is wrong.
func notJSON(d *jsontext.Decoder, err error) error {
	if wrong, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("not JSON at byte %d", wrong.ByteOffset)
	}
	return fmt.Errorf("not JSON at byte %d", d.InputOffset())
}

// hasNUL finds the escape \u0000 whose backslash is not itself escaped. A NUL
// that is not escaped is no JSON anyway.
func hasNUL(data []byte) bool {
	escape := []byte(`\u0000`)
	for from := 0; ; {
		i := bytes.Index(data[from:], escape)
		if i < 0 {
			return false
		}
		at := from + i
		slashes := 0
		for at-1-slashes >= 0 && data[at-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return true
		}
		from = at + len(escape)
	}
}

// nameStack knows the names of every object that is open, folded so that names
// that differ in case alone are the same.
type nameStack struct {
	text    []byte // folded names, one behind the other
	ends    []int  // where each ends in text
	objects []object
}

type object struct {
	first int // index in ends of its first name
	text  int // where its names begin in text
	many  map[string]struct{}
}

// fewNames is how many names are compared one by one before a map takes over.
const fewNames = 16

func (s *nameStack) open() {
	s.objects = append(s.objects, object{first: len(s.ends), text: len(s.text)})
}

func (s *nameStack) close() {
	if len(s.objects) == 0 {
		return // a syntax error, which the decoder reports
	}
	o := s.objects[len(s.objects)-1]
	s.objects = s.objects[:len(s.objects)-1]
	s.ends, s.text = s.ends[:o.first], s.text[:o.text]
}

// add reports whether the innermost object does not have the name, given as JSON.
func (s *nameStack) add(raw []byte) bool {
	o := &s.objects[len(s.objects)-1]
	begin := len(s.text)
	s.text = appendFolded(s.text, raw)
	name := s.text[begin:]
	if o.many != nil {
		_, dup := o.many[string(name)]
		o.many[string(name)] = struct{}{}
		s.text = s.text[:begin]
		return !dup
	}
	start := o.text
	for _, end := range s.ends[o.first:] {
		if bytes.Equal(s.text[start:end], name) {
			return false
		}
		start = end
	}
	s.ends = append(s.ends, len(s.text))
	if len(s.ends)-o.first > fewNames {
		o.many = map[string]struct{}{}
		start = o.text
		for _, end := range s.ends[o.first:] {
			o.many[string(s.text[start:end])] = struct{}{}
			start = end
		}
	}
	return true
}

// appendFolded appends the name in the form that encoding/json compares by:
// every rune replaced by the smallest that differs from it in case alone.
func appendFolded(dst, raw []byte) []byte {
	name := raw[1 : len(raw)-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		name, _ = jsontext.AppendUnquote(nil, raw) // the decoder has accepted it
	}
	for i := 0; i < len(name); {
		if c := name[i]; c < utf8.RuneSelf {
			if 'a' <= c && c <= 'z' {
				c -= 'a' - 'A'
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, size := utf8.DecodeRune(name[i:])
		dst = utf8.AppendRune(dst, foldRune(r))
		i += size
	}
	return dst
}

func foldRune(r rune) rune {
	for {
		next := unicode.SimpleFold(r)
		if next <= r {
			return next
		}
		r = next
	}
}
