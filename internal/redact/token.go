package redact

import (
	enc "encoding/base64"
	"strings"
)

// The matchers of this file are for secrets that show themselves by their form.

// fixed matches n bytes of chars after the keyword. It accepts half of them: a
// text may be cut off, and a made-up key is often short.
func fixed(chars class, n int) matcher {
	return func(x *scan, at, end int) bool {
		stop := x.token(end, chars, n)
		if stop < 0 {
			stop = skip(x.text, end, chars)
		}
		return stop-end >= min(n, max(n/2, 16)) && x.cut(at, stop)
	}
}

// atLeast matches n or more bytes of chars after the keyword.
func atLeast(chars class, n int) matcher {
	return func(x *scan, at, end int) bool {
		stop := x.token(end, chars, n)
		return stop >= 0 && x.cut(at, stop)
	}
}

// after matches like m, but keeps the keyword.
func after(chars class, n int) matcher {
	return func(x *scan, _, end int) bool {
		stop := x.token(end, chars, n)
		return stop >= 0 && x.cut(end, stop)
	}
}

// mixed matches like m where the n bytes after the keyword look random: words
// with underscores begin like some keys do.
func mixed(n int, m matcher) matcher {
	return func(x *scan, at, end int) bool {
		return random(x.text[end:min(len(x.text), end+n)]) && m(x, at, end)
	}
}

// begins reports whether a word may begin at i.
func (x *scan) begins(i int) bool {
	s := x.text
	if i == x.from || !is(s, i-1, alnum) || x.escapeLetter(i-1) || x.colourEnd(i-1) {
		return true
	}
	return i >= 3 && s[i-3] == '%' && is(s, i-2, hex) && is(s, i-1, hex)
}

// colourEnd reports whether a sequence such as ESC [ 1;31 m ends at i.
func (x *scan) colourEnd(i int) bool {
	if x.byte(i) != 'm' {
		return false
	}
	n := skipBack(x.text, i, max(0, i-8), digit)
	return n > 0 && (x.text[n-1] == '[' || x.text[n-1] == ';')
}

// token returns the end of a run of at least n chars that begins at i, or -1. A
// run that a line end broke goes on in the next line.
func (x *scan) token(i int, chars class, n int) int {
	end := skip(x.text, i, chars)
	have := end - i
	for have > 0 {
		next := x.nextLine(end)
		if next < 0 {
			break
		}
		stop := skip(x.text, next, chars)
		more := stop - next
		if !x.wrapped(next, stop, have, n) {
			break
		}
		have += more
		end = stop
		if more < 40 { // the last line of a wrapped text; others are full
			break
		}
	}
	if have < n {
		return -1
	}
	return end
}

// wrapped reports whether the bytes from next to stop are the rest of a token
// that has n bytes or more, of which the line before held have.
func (x *scan) wrapped(next, stop, have, n int) bool {
	more := stop - next
	if have < n && have+more < n || more == 0 {
		return false
	}
	if have >= n && !x.lineEnds(stop) {
		return false
	}
	return have < n && more < 6 || random(x.text[next:stop])
}

// openAI matches sk- keys. Words such as sk-learn and the classes of style
// sheets begin like them, but have no long part with digits in it.
func openAI(x *scan, at, end int) bool {
	stop := skipAtMost(x.text, end, 80, word)
	for i := end; i < stop; {
		part := skipAtMost(x.text[:stop], i, 80, alnum)
		n, digits := part-i, numbers(x.text[i:part])
		if n >= 20 || n >= 12 && random(x.text[i:part]) || n >= 8 && digits >= 4 && stop-end >= 12 {
			return x.cut(at, x.token(at, word, 1))
		}
		i = part + 1
	}
	return false
}

// jwt matches JSON web tokens, signed, encrypted or unfinished (RFC 7515, 7516).
func jwt(x *scan, at, end int) bool {
	if x.wordEnd <= at {
		x.wordEnd = skip(x.text, at, word)
	}
	head := x.text[at:x.wordEnd]
	dotted := is(x.text, x.wordEnd, dot) && skipAtMost(x.text, x.wordEnd+1, 8, word) == x.wordEnd+9
	known := strings.HasPrefix(head, "eyJhbGci") || strings.HasPrefix(head, "eyJ0eXAi") || strings.HasPrefix(head, "eyJraWQi")
	if len(head) < 12 || !dotted && !(known && len(head) >= 20) {
		return false
	}
	stop := x.token(at, word|dot, 12)
	for x.text[stop-1] == '.' {
		stop--
	}
	return x.cut(at, stop)
}

// telegram matches the colon and the A's in the middle of a bot token.
func telegram(x *scan, at, end int) bool {
	start := skipBack(x.text, at, max(x.from, at-12), digit)
	if at-start < 7 {
		return false
	}
	stop := x.token(end, word, 32)
	return stop >= 0 && x.cut(start, stop)
}

// discord matches a bot token: the id of the bot in base64, a time, a MAC.
func discord(x *scan, at, end int) bool {
	id := skipAtMost(x.text, at, 29, word)
	if id-at < 23 || !is(x.text, id, dot) || !is(x.text, id+7, dot) || skipAtMost(x.text, id+1, 6, word) != id+7 {
		return false
	}
	stop := x.token(id+8, word, 27)
	return stop >= 0 && x.cut(at, stop)
}

// before matches a token whose keyword stands after least to most bytes of
// chars and before n or more of others.
func before(chars class, least, most int, others class, n int) matcher {
	return func(x *scan, at, end int) bool {
		start := skipBack(x.text, at, max(x.from, at-most), chars)
		if at-start < least {
			return false
		}
		stop := x.token(end, others, n)
		return stop >= 0 && x.cut(start, stop)
	}
}

// amazon matches the id of an AWS key and the key itself where it follows.
func amazon(x *scan, at, end int) bool {
	stop := x.token(end, upper|digit, 16)
	if stop < 0 || is(x.text, stop, alnum) || !x.cut(at, stop) {
		return false
	}
	i := stop
	for limit := i + 32; i < min(limit, len(x.text)) && (!is(x.text, i, alnum|plus) || x.escapeLetter(i)); {
		i++
	}
	if end := skipAtMost(x.text, i, 41, alnum|plus); end-i == 40 && looksLikeKey(x.text[i:end]) {
		x.cut(i, end)
	}
	return true
}

// exactly matches n bytes of chars, keyword included, where a word
// begins and nothing like them follows.
func exactly(chars class, n int) matcher {
	return func(x *scan, at, _ int) bool {
		stop := skipAtMost(x.text, at, n+1, chars)
		return stop-at == n && !is(x.text, stop, base64) && x.begins(at) &&
			random(x.text[at:stop]) && x.cut(at, stop)
	}
}

// encodedPEM matches a private key whose PEM armour is in base64 again, as in a
// kubeconfig.
func encodedPEM(x *scan, at, end int) bool {
	armour, _ := enc.RawStdEncoding.DecodeString(x.text[at:min(len(x.text), at+44)])
	if !strings.Contains(string(armour), "PRIVATE") {
		return false
	}
	return x.cut(at, x.token(at, base64, 1))
}
