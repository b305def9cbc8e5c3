package web

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxPath = 2048

// canonical reports whether a request's target is a path in the one spelling
// that everybody reads alike, with any query: no empty, . or .. segment, no
// backslash or semicolon, and an escape only where a path needs one, for text
// that is neither a delimiter nor a control character.
func canonical(target string) bool {
	path, _, _ := strings.Cut(target, "?")
	if len(path) > maxPath || !strings.HasPrefix(path, "/") {
		return false
	}
	segments := strings.Split(path[1:], "/")
	for i, segment := range segments {
		if segment == "" && i < len(segments)-1 || !plainSegment(segment) {
			return false
		}
	}
	return true
}

func plainSegment(s string) bool {
	if s == "." || s == ".." {
		return false
	}
	if !strings.ContainsAny(s, `%\;#`) {
		return printable(s)
	}
	text, ok := unescape(s)
	return ok && utf8.ValidString(text)
}

// printable holds for a segment without escapes: it must be ASCII, as any other
// byte has to be escaped.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// unescape decodes a segment, and refuses escapes that could be written without.
func unescape(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			if s[i] == '\\' || s[i] == ';' || s[i] == '#' || !printable(s[i:i+1]) {
				return "", false
			}
			b.WriteByte(s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", false
		}
		high, ok1 := unhex(s[i+1])
		low, ok2 := unhex(s[i+2])
		c := high<<4 | low
		if !ok1 || !ok2 || c < utf8.RuneSelf && !strings.ContainsRune(` "<>^`+"`"+`{|}`, rune(c)) {
			return "", false
		}
		b.WriteByte(c)
		i += 2
	}
	text := b.String()
	return text, !strings.ContainsFunc(text, unicode.IsControl)
}

func unhex(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
