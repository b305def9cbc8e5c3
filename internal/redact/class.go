package redact

// class is a set of kinds of bytes.
type class uint16

const (
	digit class = 1 << iota
	lower
	upper
	hexLetter // a-f and A-F, beside lower and upper
	minus     // -
	under     // _
	dot       // .
	plus      // + and /
	equal     // =
	percent   // %
	tilde     // ~
	blank     // space and tab
	line      // CR and LF

	letter = lower | upper
	alnum  = digit | letter
	hex    = digit | hexLetter
	word   = alnum | minus | under // also the alphabet of base64url
	base64 = alnum | plus | equal  // RFC 4648, section 4
	urlish = word | dot | tilde    // unreserved characters of RFC 3986
	opaque = urlish | base64       // token68 of RFC 9110, section 11.2
	quoted = opaque | percent      // the same, perhaps percent-encoded
	space  = blank | line
)

var classes = func() (of [256]class) {
	for c := byte('0'); c <= '9'; c++ {
		of[c] = digit
	}
	for c := byte('a'); c <= 'z'; c++ {
		of[c], of[c-'a'+'A'] = lower, upper
	}
	for c := byte('a'); c <= 'f'; c++ {
		of[c] |= hexLetter
		of[c-'a'+'A'] |= hexLetter
	}
	for c, kind := range map[byte]class{
		'-': minus, '_': under, '.': dot, '+': plus, '/': plus, '=': equal, '%': percent,
		'~': tilde, ' ': blank, '\t': blank, '\r': line, '\n': line,
	} {
		of[c] = kind
	}
	return of
}()

// is reports whether the byte at i is of one of the kinds; none is at the end.
func is(s string, i int, kinds class) bool {
	return 0 <= i && i < len(s) && classes[s[i]]&kinds != 0
}

// skip returns the first position from i on that is of none of the kinds.
func skip(s string, i int, kinds class) int {
	for i < len(s) && classes[s[i]]&kinds != 0 {
		i++
	}
	return i
}

// skipAtMost is skip that stops after n bytes.
func skipAtMost(s string, i, n int, kinds class) int {
	return skip(s[:min(len(s), i+n)], i, kinds)
}

// skipBack returns the start of the run of the kinds that ends before i, not
// before from.
func skipBack(s string, i, from int, kinds class) int {
	for i > from && classes[s[i-1]]&kinds != 0 {
		i--
	}
	return i
}
