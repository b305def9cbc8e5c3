package agent

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/valyala/fastjson"
)

const (
	// maxDepth is how deep a value is looked into; the JSON parser has its own
	// limit a little above.
	maxDepth = 200

	// maxValues is how many values a line may hold, and maxWholeValues a document.
	// A parsed value takes some hundred bytes, however short it was.
	maxValues      = 1 << 16
	maxWholeValues = 1 << 19

	resyncs = 8 // places that are tried for a good record in a bad line
)

// Decoder decodes records. The zero Decoder is ready; one serves one goroutine.
type Decoder struct {
	whole   bool // decodes documents instead of lines
	scanner fastjson.Scanner
	parser  fastjson.Parser
	scratch []byte
}

// Decode calls f for each JSON value of a line and returns how many there
// were. It changes the line. Lines of real histories hold several values, runs
// of NUL bytes after a power loss, the rest of a torn write before a good
// record, halves of surrogate pairs and very deep nesting; what is good in such
// a line is found, and ok is false if a part of it had to be given up.
func (d *Decoder) Decode(line []byte, f func(Value)) (n int, ok bool) {
	return d.decode(line, false, f)
}

// decode is Decode for a line that may be torn: one that is still being
// written, of which the beginning is good and the end is missing.
func (d *Decoder) decode(line []byte, torn bool, f func(Value)) (n int, ok bool) {
	line = bytes.Trim(line, "\x00 \t\r\n")
	if len(line) == 0 {
		return 0, true
	}
	fixSurrogates(line)
	if tooDeep(line) {
		d.scratch = flatten(d.scratch[:0], line)
		line = d.scratch
	}
	most := maxValues
	if d.whole {
		most = maxWholeValues
	}
	switch values := countValues(line, most/8); {
	case values > most:
		return 0, false
	case values > most/8 || len(line) > longLine:
		defer func() { *d = Decoder{whole: d.whole} }() // its memory is for usual lines
	}
	d.scanner.InitBytes(line)
	for d.scanner.Next() {
		f(Value{d.scanner.Value()})
		n++
	}
	if d.scanner.Error() == nil {
		return n, true
	}
	if !torn && d.resync(line, f) {
		n++
	}
	return n, false
}

// resync finds the record that was written behind the rest of a torn one: an
// object that ends where the line does, and is not a part of another.
func (d *Decoder) resync(line []byte, f func(Value)) bool {
	for tries, at := 0, len(line); tries < resyncs; {
		at = bytes.LastIndex(line[:at], []byte(`{"`))
		if at <= 0 {
			return false
		}
		if bytes.IndexByte([]byte(":,[ "), line[at-1]) >= 0 {
			continue
		}
		if v, err := d.parser.ParseBytes(line[at:]); err == nil {
			f(Value{v})
			return true
		}
		tries++
	}
	return false
}

// countValues returns how many values line holds if they are more than some.
// It need not be exact below.
func countValues(line []byte, some int) int {
	n := 1
	if len(line) <= 2*some { // a value and what separates it take two bytes
		return n
	}
	for _, c := range []byte("{[,") {
		n += bytes.Count(line, []byte{c})
	}
	if n <= some {
		return n
	}
	n = 1
	scanJSON(line, func(c byte, _ int) {
		if c != '}' && c != ']' {
			n++
		}
	})
	return n
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
		return dst
	}
	return append(dst, line[from:]...)
}

// scanJSON calls f for each bracket and comma outside of strings.
func scanJSON(line []byte, f func(c byte, i int)) {
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case '"':
			i = endOfString(line, i+1)
		case '{', '[', '}', ']', ',':
			f(c, i)
		}
	}
}

// endOfString returns where the string ends whose first byte is at i.
func endOfString(line []byte, i int) int {
	for {
		n := bytes.IndexByte(line[i:], '"')
		if n < 0 {
			return len(line)
		}
		i += n
		if !escaped(line, i) {
			return i
		}
		i++
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
