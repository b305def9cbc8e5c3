package redact

import (
	"sort"
	"strconv"
	"strings"
)

// shifts maps positions of an unescaped text to the text it was made from: from
// position plain on, the original is at original + (position - plain).
type shifts []shift

type shift struct{ plain, original int }

func (s shifts) position(i int) int {
	n := sort.Search(len(s), func(n int) bool { return s[n].plain > i })
	if n == 0 {
		return i
	}
	return s[n-1].original + i - s[n-1].plain
}

func (s shifts) cut(c cut) cut {
	c.start, c.end = s.position(c.start), s.position(c.end)
	c.quote, c.quoteEnd = s.position(c.quote), s.position(c.quoteEnd)
	return c
}

// unescape resolves the JSON escapes that may stand inside or beside a secret:
// \/ and \u00XX for printable ASCII, tab and line ends. How many backslashes
// there are, that is how deep JSON is nested in JSON, makes no difference. The
// backslash itself stays escaped, \" and \n stay as they are and \u0022 becomes
// \", so that what quotes what can still be seen.
func unescape(s string) (string, shifts) {
	var b strings.Builder
	b.Grow(len(s))
	var moved shifts
	done := 0
	for i := strings.IndexByte(s, '\\'); i >= 0 && i < len(s); {
		end := i
		for end < len(s) && s[end] == '\\' {
			end++
		}
		if c, n := escaped(s[end:]); n > 0 {
			b.WriteString(s[done:i])
			end += n
			done = end
			if c == '"' {
				b.WriteByte('\\') // it is a mark inside a string, and must look like one
				moved = append(moved, shift{plain: b.Len(), original: end})
			}
			b.WriteByte(c)
			moved = append(moved, shift{plain: b.Len(), original: end})
		}
		next := strings.IndexByte(s[end:], '\\')
		if next < 0 {
			break
		}
		i = end + next
	}
	b.WriteString(s[done:])
	return b.String(), moved
}

// escaped returns the character that s, the rest of an escape after its
// backslashes, stands for and the length of that rest; 0 if it is not resolved.
func escaped(s string) (byte, int) {
	switch {
	case strings.HasPrefix(s, "/"):
		return '/', 1
	case len(s) < 5 || s[:3] != "u00":
		return 0, 0
	}
	c, err := strconv.ParseUint(s[3:5], 16, 8)
	if err != nil {
		return 0, 0
	}
	printable := ' ' <= c && c <= '~' && c != '\\'
	if !printable && c != '\t' && c != '\n' && c != '\r' {
		return 0, 0
	}
	return byte(c), 5
}

// escapes is the matcher of what unescape resolves.
func escapes(x *scan, at, _ int) bool {
	if _, n := escaped(x.text[at+1:]); n > 0 && !x.unescaped {
		x.escaped = true
	}
	return false
}

// afterEscape returns i, or the end of the escape that i stands in: a
// replacement must not leave half of one behind.
func (x *scan) afterEscape(i int) int {
	s := x.text
	for j := i - 1; j >= max(0, i-5); j-- {
		switch {
		case s[j] != '\\':
		case strings.HasPrefix(s[j+1:], "u"):
			return min(max(i, j+6), len(s))
		case j == i-1 && x.escapeLetter(i):
			return i + 1
		default:
			return i
		}
	}
	return i
}

// escapeLetter reports whether the byte at i is the letter of an escape such as
// \n, which belongs to no word.
func (x *scan) escapeLetter(i int) bool {
	return 0 < i && i < len(x.text) && x.text[i-1] == '\\' && strings.IndexByte("bfnrtu", x.text[i]) >= 0
}

// lineBreak returns the position after the line end at i, which may be escaped
// or continued as in a shell, or -1.
func (x *scan) lineBreak(i int) int {
	s := x.text
	i = skipAtMost(s, min(i, len(s)), 64, blank)
	end := x.backslashes(i)
	for _, eol := range []string{"\r\n", "\n"} {
		if strings.HasPrefix(s[end:], eol) {
			return end + len(eol)
		}
	}
	if end == i || end == len(s) || s[end] != 'n' && s[end] != 'r' {
		return -1
	}
	if lf := x.backslashes(end + 1); s[end] == 'r' && lf > end+1 && strings.HasPrefix(s[lf:], "n") {
		return lf + 1
	}
	return end + 1
}

// continues reports whether the line is continued at i, with a backslash before
// its end; in a JSON string that is \\\n.
func (x *scan) continues(i int) bool {
	end := x.backslashes(i)
	switch x.byte(end) {
	case '\n', '\r':
		return end > i
	case 'n', 'r':
		return end-i >= 3 && (end-i)%2 == 1
	}
	return false
}

// nextLine returns where the text of the next line begins if the line ends at
// i, after what may stand before it: blanks, escaped tabs, quotation marks of
// mail. Otherwise it returns -1.
func (x *scan) nextLine(i int) int {
	i = x.lineBreak(i)
	if i < 0 {
		return -1
	}
	for limit := i + 64; i < min(limit, len(x.text)); i++ {
		if end := x.backslashes(i); end > i && end < len(x.text) && x.text[end] == 't' {
			i = end
			continue
		}
		if !is(x.text, i, blank) && x.text[i] != '>' && x.text[i] != '|' {
			break
		}
	}
	return i
}

// lineEnds reports whether nothing but blanks follows i on its line, in the
// quotes it stands in, or in its colour.
func (x *scan) lineEnds(i int) bool {
	i = skipAtMost(x.text, i, 64, blank)
	return i == len(x.text) || x.text[i] < ' ' || strings.IndexByte("\\\"'`", x.text[i]) >= 0
}

// backslashes returns the end of the run of backslashes at i.
func (x *scan) backslashes(i int) int {
	for i < len(x.text) && x.text[i] == '\\' {
		i++
	}
	return i
}
