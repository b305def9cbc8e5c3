package agent

import (
	"bytes"
	"iter"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/valyala/fastjson"
)

// Value is a JSON value of a record. Everything it returns is a copy, valid
// UTF-8, and stays good after the record is gone; a Value itself is good only
// until the function it was given to returns. The zero Value is absent: its
// texts are empty, its numbers 0, its lists without elements.
type Value struct{ v *fastjson.Value }

// Exists reports whether there is a value that is not null.
func (v Value) Exists() bool { return v.v != nil && v.v.Type() != fastjson.TypeNull }

// Get returns the value at a path of object keys.
func (v Value) Get(path ...string) Value {
	if v.v == nil {
		return Value{}
	}
	return Value{v.v.Get(path...)}
}

// Text returns the string at path, "" if there is none.
func (v Value) Text(path ...string) string {
	w := v.Get(path...)
	if w.v == nil || w.v.Type() != fastjson.TypeString {
		return ""
	}
	return strings.ToValidUTF8(string(w.v.GetStringBytes()), "\ufffd")
}

// Is reports whether the value at path is the string want.
func (v Value) Is(want string, path ...string) bool {
	w := v.Get(path...)
	return w.v != nil && w.v.Type() == fastjson.TypeString && string(w.v.GetStringBytes()) == want
}

// Bytes returns the string at path without a copy. It dies with the record.
func (v Value) Bytes(path ...string) []byte {
	w := v.Get(path...)
	if w.v == nil {
		return nil
	}
	return w.v.GetStringBytes()
}

// Int returns the number at path, also one that is written as a string.
func (v Value) Int(path ...string) int64 {
	w := v.Get(path...)
	if w.v == nil {
		return 0
	}
	switch w.v.Type() {
	case fastjson.TypeNumber:
		if f := w.v.GetFloat64(); f > -1<<62 && f < 1<<62 {
			return int64(f)
		}
	case fastjson.TypeString:
		return parseInt(string(w.v.GetStringBytes()))
	}
	return 0
}

// Bool reports whether the value at path is true.
func (v Value) Bool(path ...string) bool {
	w := v.Get(path...)
	return w.v != nil && w.v.Type() == fastjson.TypeTrue
}

// IsText, IsObject and IsList tell the type of the value.
func (v Value) IsText() bool { return v.v != nil && v.v.Type() == fastjson.TypeString }

// IsObject reports whether the value is an object.
func (v Value) IsObject() bool { return v.v != nil && v.v.Type() == fastjson.TypeObject }

// IsList reports whether the value is an array.
func (v Value) IsList() bool { return v.v != nil && v.v.Type() == fastjson.TypeArray }

// List yields the elements of the array at path.
func (v Value) List(path ...string) iter.Seq[Value] {
	return func(yield func(Value) bool) {
		w := v.Get(path...)
		if w.v == nil {
			return
		}
		for _, e := range w.v.GetArray() {
			if !yield(Value{e}) {
				return
			}
		}
	}
}

// Fields yields the members of the object at path in their order.
func (v Value) Fields(path ...string) iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		w := v.Get(path...)
		if w.v == nil {
			return
		}
		o, err := w.v.Object()
		if err != nil {
			return
		}
		stop := false
		o.Visit(func(key []byte, e *fastjson.Value) {
			if !stop && !yield(strings.ToValidUTF8(string(key), "\ufffd"), Value{e}) {
				stop = true
			}
		})
	}
}

// JSON returns the value at path as JSON text, at most limit bytes of it. A
// string is returned as it is, without quotes.
func (v Value) JSON(limit int, path ...string) string {
	w := v.Get(path...)
	if !w.Exists() {
		return ""
	}
	if w.IsText() {
		return Cap(w.Text(), limit)
	}
	return Cap(strings.ToValidUTF8(string(w.v.MarshalTo(nil)), "\ufffd"), limit)
}

func parseInt(s string) int64 {
	n, neg := int64(0), false
	for i, c := range []byte(s) {
		switch {
		case i == 0 && c == '-':
			neg = true
		case c < '0' || c > '9' || n > 1<<58:
			return 0
		default:
			n = n*10 + int64(c-'0')
		}
	}
	if neg {
		return -n
	}
	return n
}

// maxDepth is how deep a value is looked into; the JSON parser has its own
// limit a little above.
const maxDepth = 200

// Decoder decodes records. The zero Decoder is ready; one serves one goroutine.
type Decoder struct {
	scanner fastjson.Scanner
	scratch []byte
}

// Decode calls f for each JSON value of a line and returns how many there
// were. Lines of real histories hold several values, runs of NUL bytes after a
// power loss, the rest of a torn write before a good record, halves of
// surrogate pairs and very deep nesting; what is good in such a line is found,
// and ok is false if a part of it had to be given up.
func (d *Decoder) Decode(line []byte, f func(Value)) (n int, ok bool) {
	line = bytes.Trim(line, "\x00 \t\r\n")
	if len(line) == 0 {
		return 0, true
	}
	fixSurrogates(line)
	n, ok = d.decode(line, f)
	if ok || n > 0 {
		return n, ok
	}
	// A record that was written into the rest of a torn one: the last opening of
	// an object that is good up to the end of the line.
	for tries, at := 0, len(line); tries < 8; tries++ {
		at = bytes.LastIndex(line[:at], []byte(`{"`))
		if at <= 0 {
			break
		}
		if m, good := d.decode(line[at:], f); good {
			return m, false
		}
	}
	return 0, false
}

// decode calls f for the values of line until one is bad. With the resync in
// mind it calls f for nothing unless the first value is good.
func (d *Decoder) decode(line []byte, f func(Value)) (n int, ok bool) {
	if tooDeep(line) {
		d.scratch = flatten(d.scratch[:0], line)
		line = d.scratch
	}
	d.scanner.InitBytes(line)
	for d.scanner.Next() {
		f(Value{d.scanner.Value()})
		n++
	}
	return n, d.scanner.Error() == nil
}

func tooDeep(line []byte) bool {
	if len(line) < 2*maxDepth {
		return false
	}
	if bytes.Count(line, []byte{'{'})+bytes.Count(line, []byte{'['}) < maxDepth {
		return false
	}
	depth, deep := 0, false
	scanJSON(line, func(c byte, _ int) {
		switch c {
		case '{', '[':
			depth++
			deep = deep || depth > maxDepth
		case '}', ']':
			depth--
		}
	})
	return deep
}

// flatten appends line to dst with everything nested deeper than maxDepth
// replaced by null.
func flatten(dst, line []byte) []byte {
	depth, from := 0, 0
	scanJSON(line, func(c byte, i int) {
		switch c {
		case '{', '[':
			if depth++; depth == maxDepth+1 {
				dst = append(append(dst, line[from:i]...), "null"...)
			}
		case '}', ']':
			if depth--; depth == maxDepth {
				from = i + 1
			}
		}
	})
	if depth > maxDepth {
		return append(dst, " "...)
	}
	return append(dst, line[from:]...)
}

// scanJSON calls f for each bracket outside of strings.
func scanJSON(line []byte, f func(c byte, i int)) {
	inString := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case !inString && (c == '{' || c == '[' || c == '}' || c == ']'):
			f(c, i)
		}
	}
}

// fixSurrogates replaces halves of surrogate pairs by \ufffd, in place. They
// are what is left when text is cut between two UTF-16 units.
func fixSurrogates(line []byte) {
	for i := 0; ; {
		j := bytes.Index(line[i:], []byte(`\u`))
		if j < 0 {
			return
		}
		i += j
		if escaped(line, i) {
			i += 2
			continue
		}
		r, ok := unit(line, i)
		if !ok || !utf16.IsSurrogate(r) {
			i += 2
			continue
		}
		if low, ok := unit(line, i+6); ok && utf16.DecodeRune(r, low) != utf8.RuneError {
			i += 12
			continue
		}
		copy(line[i:], `\ufffd`)
		i += 6
	}
}

// escaped reports whether the backslash at i is itself escaped.
func escaped(line []byte, i int) bool {
	n := 0
	for i--; i >= 0 && line[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}

// unit returns the UTF-16 unit of the \uXXXX at i.
func unit(line []byte, i int) (rune, bool) {
	if i+6 > len(line) || line[i] != '\\' || line[i+1] != 'u' {
		return 0, false
	}
	r := rune(0)
	for _, c := range line[i+2 : i+6] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
