package redact

import (
	enc "encoding/base64"
	"math"
	"strings"
)

// authorization matches the header of RFC 9110, section 11.6.2, as a header, a
// member of an object or an argument: the name, perhaps a scheme, a credential.
func authorization(x *scan, _, end int) bool {
	i, ok := x.assigns(end)
	if !ok {
		return false
	}
	q, i := x.quote(i)
	for _, scheme := range schemes {
		if hasPrefixFold(x.text[i:], scheme) && is(x.text, i+len(scheme), blank) {
			start := x.blanks(i + len(scheme))
			return x.credential(start, 6, 20) || scheme == "Basic" && x.basic(start)
		}
	}
	// Without a scheme only a quoted value or a header's is one.
	return (q.mark != 0 || x.lineEnds(skipAtMost(x.text, i, 256, opaque))) && x.credential(i, 8, math.MaxInt)
}

var schemes = []string{"Bearer", "Basic", "Token", "ApiKey", "Api-Key", "Bot", "Digest", "Negotiate", "OAuth", "Key", "JWT"}

// credential cuts the token68 at i if it has n bytes and looks random, or if it
// is long.
func (x *scan) credential(i, n, long int) bool {
	stop := skipAtMost(x.text, i, 256, opaque)
	v := x.text[i:stop]
	if len(v) < n || placeholder(v) || !random(v) && len(v) < long || codeFollows(x.text, stop) {
		return false
	}
	return x.cut(i, x.token(i, opaque, 1))
}

// bearer matches a bearer token without the name of its header.
func bearer(x *scan, _, end int) bool { return x.credential(x.blanks(end), 16, math.MaxInt) }

// basic matches a user and password in base64 (RFC 7617) without the name of
// the header.
func basic(x *scan, _, end int) bool { return x.basic(x.blanks(end)) }

func (x *scan) basic(i int) bool {
	stop := skipAtMost(x.text, i, 512, base64)
	user, err := enc.RawStdEncoding.DecodeString(strings.TrimRight(x.text[i:stop], "="))
	if err != nil || len(user) < 4 || !strings.Contains(string(user), ":") || !printable(user) {
		return false
	}
	return x.cut(i, stop)
}

func printable(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// cookie matches the headers of RFC 6265 and cuts the values that may be
// secrets, not attributes such as Path and not a theme or a language.
func cookie(x *scan, _, end int) bool {
	i, ok := x.assigns(end)
	if !ok {
		return false
	}
	_, i = x.quote(i)
	return x.cookies(i)
}

// assigns returns where the value of a header begins whose name ends at i: a
// header proper, a member of an object, an argument.
func (x *scan) assigns(i int) (int, bool) {
	_, i = x.quote(i)
	i = x.blanks(i)
	switch x.byte(i) {
	case ':', ',':
		return x.lines(i + 1), true
	case '=':
		if c := x.byte(i + 1); c == '=' || c == '>' {
			i++
		}
		return x.blanks(i + 1), true
	}
	return 0, false
}

// cookies cuts what is secret in the pairs name=value; name=value at i.
func (x *scan) cookies(i int) bool {
	if i < x.cookieEnd { // one of a list that has been looked at
		return false
	}
	made := false
	for limit := i + 8<<10; i < limit; {
		start := skipAtMost(x.text, i, 128, word|dot)
		if start == i || !strings.HasPrefix(x.text[start:], "=") {
			break
		}
		name := x.text[i:start]
		start++
		stop := start
		for stop < len(x.text) && strings.IndexByte(" \t\r\n;,\"'`\\<>{}$", x.text[stop]) < 0 {
			stop++
		}
		if session(name, x.text[start:stop]) {
			made = x.cut(start, stop) || made
		}
		x.cookieEnd = stop
		if !strings.HasPrefix(x.text[stop:], ";") {
			break
		}
		i = x.blanks(stop + 1)
	}
	return made
}

// session reports whether a cookie of that name and value may let one in.
func session(name, value string) bool {
	if placeholder(value) || len(value) < 4 {
		return false
	}
	for _, attribute := range []string{"Path", "Domain", "Expires", "Max-Age", "SameSite", "Version"} {
		if strings.EqualFold(name, attribute) {
			return false
		}
	}
	for _, part := range []string{"sess", "sid", "auth", "tok", "jwt", "csrf", "xsrf", "secret", "remember", "login", "key"} {
		if containsFold(name, part) {
			return true
		}
	}
	return len(value) >= 16 && random(value)
}

// userinfo matches the password in the authority of a URL (RFC 3986, section
// 3.2.1), and a user without password if it looks like a token.
func userinfo(x *scan, _, end int) bool {
	s := x.text
	colon, at, slash := -1, -1, false
	limit := min(len(s), end+512)
scan:
	for i := end; i < limit; i++ {
		switch c := s[i]; {
		case c == '@':
			at = i
			if slash {
				break scan
			}
		case c == ':' && strings.HasPrefix(s[i:], "://"): // the next URL
			break scan
		case c == ':' && colon < 0:
			colon = i
		case c == '/' || c == '?' || c == '#':
			// A password should encode these. It may not, but a port has none.
			if at >= 0 || colon < 0 || skipAtMost(s, colon+1, 6, digit) == i || i > end+128 {
				break scan
			}
			slash = true
		case c <= ' ' || strings.IndexByte("\"'`<>\\,;|)]}", c) >= 0 || c >= 0x80:
			break scan
		}
	}
	switch {
	case at < 0 || strings.HasPrefix(s[at:], "@sha256:"): // an image and its digest
		return false
	case colon >= 0 && colon < at:
		v := s[colon+1 : at]
		return v != "" && !placeholder(v) && (!slash || random(v)) && x.cut(colon+1, at)
	}
	v := s[end:at]
	return len(v) >= 20 && random(v) && x.cut(end, at)
}

// command matches the password in the arguments of the command that the keyword
// names, after one of the flags. A flag that ends with a colon takes
// user:password, one that ends with an equals sign has its value glued to it,
// and one that ends with a semicolon takes cookies.
func command(flags ...string) matcher {
	return func(x *scan, at, end int) bool {
		if !x.begins(at) || is(x.text, end, alnum) {
			return false
		}
		line := x.text[:min(len(x.text), end+400)]
		i := end
		if x.command == &flags[0] {
			i = max(i, x.commandEnd) // another name of the command in the same line
		}
		for ; i < len(line) && line[i] != '\n'; i++ {
			if line[i] != '-' || !is(line, i-1, blank) && strings.IndexByte("\"'", line[i-1]) < 0 {
				continue
			}
			for _, flag := range flags {
				name, how := flag[:len(flag)-1], flag[len(flag)-1]
				if strings.HasPrefix(line[i:], name) && x.argument(i+len(name), how) {
					return true
				}
			}
		}
		x.command, x.commandEnd = &flags[0], i
		return false
	}
}

// argument cuts the value of a flag that ends at i.
func (x *scan) argument(i int, how byte) bool {
	if how != '=' {
		_, next := x.quote(i)
		next = skipAtMost(x.text, next, 8, blank)
		if strings.HasPrefix(x.text[next:], ",") || strings.HasPrefix(x.text[next:], "=") {
			next = skipAtMost(x.text, next+1, 8, blank)
		}
		if next == i {
			return false
		}
		_, i = x.quote(next)
	}
	if how == ';' {
		return x.cookies(i)
	}
	stop := x.bare(i, false)
	if how == ':' {
		colon := strings.IndexByte(x.text[i:stop], ':')
		if colon < 0 || skip(x.text, i, digit) == i+colon { // uid:gid
			return false
		}
		i += colon + 1
	}
	v := x.text[i:stop]
	return len(v) >= 3 && v[0] != '-' && !placeholder(v) && x.cut(i, x.rest(stop, false))
}
