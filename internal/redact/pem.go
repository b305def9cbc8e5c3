package redact

import "strings"

// privateKey matches the words in the first and the last line of an armoured
// private key (RFC 7468, RFC 4880 section 6.2, OpenSSH, SSH2) and takes out all
// from one to the other. The first or the last line may be missing.
func privateKey(x *scan, at, end int) bool {
	start, kind := x.armour(at)
	if kind == "" {
		return false
	}
	stop := skipAtMost(x.text, end, len(" BLOCK-----"), upper|minus|blank)
	if kind == "END" {
		key := x.keyBefore(start)
		return key < start && x.cut(key, stop)
	}
	return x.cutKey(start, stop)
}

// putty matches the private part of a PuTTY key file.
func putty(x *scan, _, end int) bool {
	key, _ := x.between(skip(x.text, end, digit))
	return x.cutKey(key, key)
}

// armour returns where the dashes before the words PRIVATE KEY at i begin, and
// whether the line is a BEGIN or an END.
func (x *scan) armour(i int) (start int, kind string) {
	start = skipBack(x.text, i, max(x.from, i-40), upper|digit|blank)
	line := strings.TrimLeft(x.text[start:i], " ")
	for _, kind := range []string{"BEGIN", "END"} {
		if dashes := skipBack(x.text, start, max(x.from, start-5), minus); start-dashes >= 4 && strings.HasPrefix(line, kind) {
			return dashes, kind
		}
	}
	return 0, ""
}

// cutKey takes out the armour from start to end and the key that follows, if
// one does. Where it is spread over several quoted strings, each is a cut.
func (x *scan) cutKey(start, end int) bool {
	made, lines := false, 0
	for last := false; !last; lines++ {
		var stop int
		next, quotes := x.between(end)
		if stop, last = x.keyLine(next, quotes); stop < 0 {
			break
		}
		if quotes {
			made = x.cut(start, end) || made
			start = next
		}
		end = stop
	}
	return lines > 0 && x.cut(start, end) || made
}

// between skips what may stand between the lines of a key: line ends, escaped
// or not, the marks of diffs, comments and listings, quotes and what joins
// strings. It reports whether there were quotes.
func (x *scan) between(i int) (next int, quotes bool) {
	s := x.text
	lines := false
	for limit := i + 64; i < min(limit, len(s)); {
		switch c := s[i]; {
		case c == '"' || c == '\'' || c == '`':
			quotes = true
			i++
		case c == '\\':
			i = x.backslashes(i)
			if i < len(s) && strings.IndexByte("nrt", s[i]) >= 0 {
				lines = lines || s[i] != 't'
				i++
			}
		case is(s, i, line):
			lines = true
			i++
		case is(s, i, blank) || strings.IndexByte(">|#*,;", c) >= 0:
			i++
		case lines && (c == '+' || c == '-') && !strings.HasPrefix(s[i:], "----"):
			i++
		case quotes && c == '+':
			i++
		case lines && is(s, i, digit) && x.lineNumber(i) > i:
			i = x.lineNumber(i)
		default:
			return i, quotes
		}
	}
	return i, quotes
}

// lineNumber returns the end of a line number of a listing, such as 12→, at i,
// or i.
func (x *scan) lineNumber(i int) int {
	end := skipAtMost(x.text, i, 7, digit)
	for _, mark := range []string{"→", ":", "\t", " |"} {
		if strings.HasPrefix(x.text[end:], mark) {
			return end + len(mark)
		}
	}
	return i
}

// keyLine returns the end of a line of a key that begins at i, or -1, and
// whether it is the END line.
func (x *scan) keyLine(i int, quotes bool) (end int, last bool) {
	s := x.text
	if strings.HasPrefix(s[i:], "----") {
		if tail := skipAtMost(s, i, 5, minus); strings.HasPrefix(strings.TrimLeft(s[tail:min(len(s), tail+4)], " "), "END") {
			return skipAtMost(s, tail, 48, upper|digit|minus|blank), true
		}
		return -1, false
	}
	for _, header := range []string{"Proc-Type:", "DEK-Info:", "Comment:", "Version:", "Hash:", "Charset:", "MessageID:"} {
		if strings.HasPrefix(s[i:], header) {
			end := i
			for end < len(s) && strings.IndexByte("\r\n\\\"'`", s[end]) < 0 {
				end++
			}
			return end, false
		}
	}
	end = skip(s, i, base64)
	long := end-i >= 24
	switch {
	case end == i, is(s, i-1, alnum) && !x.escapeLetter(i-1):
		return -1, false
	case quotes:
		if !long || !random(s[i:end]) || strings.IndexByte("\"'`", s[i-1]) < 0 {
			return -1, false
		}
	case !long && !x.lineEnds(end) && !strings.HasPrefix(s[skipAtMost(s, end, 8, blank):], "----"):
		return -1, false
	}
	return end, false
}

// keyBefore returns where the lines of a key begin that end before i, for an
// END line whose BEGIN is not in the text; or i.
func (x *scan) keyBefore(i int) int {
	const most = 16 << 10
	from := max(x.from, i-most)
	start := i
	for at := i; ; {
		end := x.lineBreakBefore(at, from)
		begin := skipBack(x.text, end, from, base64)
		if x.escapeLetter(begin) {
			begin++
		}
		full := end-begin >= 40
		if begin >= end || !full && at != i {
			return start
		}
		if full {
			start = begin
		}
		at = begin
	}
}

// lineBreakBefore returns the end of the line before i, which may end with an
// escape; or from, where the text before i is on the same line.
func (x *scan) lineBreakBefore(i, from int) int {
	s := x.text
	if end := skipBack(s, i, from, space); end < i && is(s, skip(s, end, blank), line) {
		return end
	}
	i = skipBack(s, i, from, blank)
	end := i
	for end >= from+2 && x.escapeLetter(end-1) {
		end--
		for end > from && s[end-1] == '\\' {
			end--
		}
	}
	if end == i {
		return from
	}
	return end
}
