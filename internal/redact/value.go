package redact

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// placeholder reports whether v only stands for a value: a variable, a
// template, a mask, a hint what to put there, nothing at all.
func placeholder(v string) bool {
	if v == "" || strings.Trim(v, v[:1]) == "" && !is(v, 0, digit) && (len(v) >= 3 || !is(v, 0, letter)) {
		return true
	}
	rest := v[1:]
	switch v[0] {
	case markStart[0]:
		if strings.HasPrefix(v, markStart) {
			return true
		}
		return words(rest) || strings.ContainsAny(rest, ">}])")
	case '$':
		return strings.HasPrefix(rest, "{") || strings.HasPrefix(rest, "(") || skip(rest, 0, word|opaque|blank) == len(rest)
	case '%':
		return strings.HasPrefix(rest, "(") || strings.HasSuffix(rest, "%") || len(rest) == 1
	case '<', '{', '(':
		return words(rest) || strings.ContainsAny(rest, ">}])")
	}
	for _, part := range []string{"${", "{{", "#{", "$(", "<%", "%s", "%v", "%q", "{}", "***", "...", "…", "•••", "xxxx", "XXXX"} {
		if strings.Contains(v, part) {
			return true
		}
	}
	return in(emptyNames, v) || in(typeNames, v) || len(v) <= 48 && words(v) && hint(v)
}

// hint reports whether a text of words says what to put in its place.
func hint(v string) bool {
	for _, part := range []string{"your", "placeholder", "redacted", "changeme", "change-me", "change_me", "example", "insert"} {
		if containsFold(v, part) {
			return true
		}
	}
	return hasSuffixFold(v, "here") || hasPrefixFold(v, "enter")
}

// in reports whether the set has v, which may be in any case.
func in(set func() map[string]bool, v string) bool {
	var lowered [24]byte
	if len(v) > len(lowered) {
		return false
	}
	for i := range len(v) {
		lowered[i] = v[i]
		if is(v, i, upper) {
			lowered[i] += 'a' - 'A'
		}
	}
	return set()[string(lowered[:len(v)])]
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func hasSuffixFold(s, suffix string) bool {
	return len(s) >= len(suffix) && strings.EqualFold(s[len(s)-len(suffix):], suffix)
}

func containsFold(s, part string) bool {
	for i := range len(s) - len(part) + 1 {
		if s[i]|0x20 == part[0] && strings.EqualFold(s[i:i+len(part)], part) {
			return true
		}
	}
	return false
}

var emptyNames = names(`null nil none undefined true false yes no on off empty unset unknown missing invalid default
	required optional hidden masked todo tbd n/a void redacted inherit`)

var typeNames = names(`string str text varchar char char[] bytes []byte byte int integer number float bool boolean any
	object unknown never secretstr password securestring z.string string! string? uuid buffer`)

// names makes a set of the words of s, when it is first needed.
func names(s string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for word := range strings.FieldsSeq(s) {
			set[word] = true
		}
		return set
	})
}

// words reports whether v has only letters, digits and what joins them in
// names and texts.
func words(v string) bool { return skip(v, 0, word|dot|blank) == len(v) }

func digits(v string) bool { return skip(v, 0, digit) == len(v) }

func upperCase(v string) bool {
	return len(v) >= 3 && skip(v, 0, upper|digit|under) == len(v) && is(v, 0, upper)
}

// random reports whether v looks made by a machine or for a machine: letters
// and digits mixed, or letters of both cases in a row that no word has. A word
// with a number behind it, a date, a version and a path do not.
func random(v string) bool {
	if len(v) < 6 {
		return false
	}
	var numbers, lowers, uppers int
	for i := range len(v) {
		switch c := classes[v[i]]; {
		case c&digit != 0:
			numbers++
		case c&lower != 0:
			lowers++
		case c&upper != 0:
			uppers++
		}
	}
	switch {
	case lowers+uppers == 0:
		return false
	case numbers == 0:
		return len(v) >= 16 && 3*lowers >= len(v) && 3*uppers >= len(v)
	}
	return !numbered(v) && !dated(v) && !version(v) && !path(v) && !located(v) && !constant(v)
}

// numbered reports whether v is a word with a short number behind it.
func numbered(v string) bool {
	i := skip(v, 0, letter|under|minus|dot)
	return len(v)-i <= 2 && digits(v[i:])
}

// constant reports whether v is a number in hexadecimal notation.
func constant(v string) bool {
	v = strings.TrimPrefix(v, "-")
	return len(v) <= 18 && (strings.HasPrefix(v, "0x") || strings.HasPrefix(v, "0X"))
}

// located reports whether v begins with a line number, as in file:12:text.
func located(v string) bool {
	n := skipAtMost(v, 0, 7, digit)
	return n > 0 && strings.HasPrefix(v[n:], ":")
}

// dated reports whether v begins as a date of ISO 8601 does.
func dated(v string) bool {
	return len(v) >= 10 && digits(v[:4]) && v[4] == '-' && digits(v[5:7]) && v[7] == '-' && digits(v[8:10])
}

// version reports whether v is a version such as v1.2.3-rc.1.
func version(v string) bool {
	i := skipAtMost(v, 0, 1, letter)
	n := skip(v, i, digit)
	return n > i && n-i <= 4 && is(v, n, dot) && is(v, n+1, digit)
}

// path reports whether v is a path or the address of something.
func path(v string) bool {
	if strings.Contains(v, "://") {
		return true
	}
	slash := strings.IndexAny(v, `/\`)
	if slash < 0 || strings.ContainsAny(v, "+=!$^*") {
		return false
	}
	return slash == 0 || slash == 1 && strings.IndexByte(".~", v[0]) >= 0 || slash == 2 && v[1] == ':' ||
		strings.HasPrefix(v, "../") || skip(v, 0, ^upper) == len(v)
}

// digest reports whether v says what hash it is, or is a public key.
func digest(v string) bool {
	for _, p := range []string{"sha1", "sha256", "sha384", "sha512", "md5", "h1:", "ssh-", "ecdsa-", "bcrypt", "argon2", "scrypt", "pbkdf2"} {
		if hasPrefixFold(v, p) {
			return true
		}
	}
	return false
}

// codec reports whether v names a way to encode text, with a number in it as a
// password may have one.
func codec(v string) bool { return hasPrefixFold(v, "base") || hasPrefixFold(v, "utf") }

// looksLikeKey reports whether v has what forty random bytes of base64 have.
func looksLikeKey(v string) bool {
	has := func(c class) bool {
		return strings.ContainsFunc(v, func(r rune) bool { return classes[byte(r)]&c != 0 })
	}
	return has(upper) && has(lower) && has(digit)
}

// label reports whether v names something, as what programs and forms assign
// to a password field does: userPassword, DB_PASSWORD, #password, Password.
func label(v string) bool {
	letters := skip(v, 0, letter)
	switch {
	case letters == len(v) && is(v, 0, upper) && skip(v, 1, lower) == len(v):
		return true
	case upperCase(v) && strings.Contains(v, "_") && numbers(v) <= 2:
		return true
	case (v[0] == '#' || v[0] == '.') && skip(v, 1, word) == len(v):
		return true
	case v[0] >= utf8.RuneSelf && !strings.ContainsAny(v, "0123456789"):
		return true
	case path(v) || digest(v):
		return true
	}
	return identifier(v) && secretWords(v)
}

// secretWords reports whether v has a word in it that names a secret.
func secretWords(v string) bool {
	for _, w := range []string{"pass", "pwd", "secret", "token", "key", "cred"} {
		if containsFold(v, w) {
			return true
		}
	}
	return false
}

// identifier reports whether v is made of several words, as identifiers are.
func identifier(v string) bool {
	if skip(v, 0, word|dot) != len(v) || numbers(v) > 4 {
		return false
	}
	return strings.ContainsAny(v, "_-.") || skip(v, 0, lower) < len(v) && is(v, 0, lower)
}

// numbers counts the digits of v.
func numbers(v string) int {
	n := 0
	for i := range len(v) {
		if is(v, i, digit) {
			n++
		}
	}
	return n
}
