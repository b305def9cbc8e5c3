package redact

import (
	"math/bits"
	"strings"
)

// quote is a quotation mark and how deep in JSON strings it stands: \" is on
// level 1, \\\" on level 2. The zero quote is none.
type quote struct {
	mark  byte
	level int
}

// quote returns the quotation mark at i and the position after it; or no quote
// and i.
func (x *scan) quote(i int) (quote, int) {
	end := x.backslashes(i)
	if c := x.byte(end); c == '"' || c == '\'' || c == '`' {
		return quote{mark: c, level: level(end - i)}, end + 1
	}
	return quote{}, i
}

// level returns how deep a mark with n backslashes before it stands. Escaping
// turns n backslashes into 2n+1, so marks have 0, 1, 3, 7; what is over are
// backslashes of the text itself.
func level(n int) int { return bits.TrailingZeros(^uint(n)) }

// depth is the number of backslashes of a mark on the level.
func depth(level int) int { return 1<<level - 1 }

// ending says how a quoted value ends.
type ending int

const (
	closed  ending = iota // by its own mark
	cutOff                // with the text or the string around it
	unended               // not in this line, or too far away
)

// closing returns where the value that q opened before i ends.
func (x *scan) closing(i int, q quote) (int, ending) {
	const most = 8 << 10
	s := x.text
	for limit := i + most; i < min(limit, len(s)); i++ {
		start := i
		i = x.backslashes(i)
		switch c := x.byte(i); {
		case i == len(s):
			return start, cutOff
		case c == '\n':
			return start, unended
		case c == q.mark:
			if l := level(i - start); l <= q.level {
				return i - depth(l), how(l == q.level)
			}
		case c == '"':
			// Marks of other kinds stand inside a string of JSON, not around its end.
			if l := level(i - start); l == 0 && x.json() || l < q.level {
				return i - depth(l), cutOff
			}
		}
	}
	if i >= len(s) {
		return len(s), cutOff
	}
	return i, unended
}

func how(own bool) ending {
	if own {
		return closed
	}
	return cutOff
}

// json reports whether the text begins as JSON does. Then nothing may go from
// one of its strings into another.
func (x *scan) json() bool {
	s := strings.TrimLeft(x.text[:min(len(x.text), 64)], " \t\r\n")
	return s != "" && strings.IndexByte(`{["`, s[0]) >= 0
}

// byte returns the byte at i, or 0 at the end.
func (x *scan) byte(i int) byte {
	if i < len(x.text) {
		return x.text[i]
	}
	return 0
}

// blanks skips a few blanks.
func (x *scan) blanks(i int) int { return skipAtMost(x.text, i, 64, blank) }

// lines skips blanks and line ends, escaped or not.
func (x *scan) lines(i int) int {
	for range 4 {
		next := x.nextLine(i)
		if next < 0 {
			break
		}
		i = next
	}
	return x.blanks(i)
}
