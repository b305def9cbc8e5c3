package irc

import (
	"strings"

	"ambry.dev/ambry"
)

// line is what a server says at a time.
type line struct {
	tags    map[string]string
	nick    string // who says it; a server has no user
	user    string // with the host, as user@host
	command string // in upper case
	params  []string
}

// param returns a parameter, "" if there are not so many.
func (l line) param(n int) string {
	if n >= 0 && n < len(l.params) {
		return l.params[n]
	}
	return ""
}

func (l line) last() string { return l.param(len(l.params) - 1) }

// maxParams is how many parameters are read; the protocol has fifteen.
const maxParams = 64

// parse reads a line, without its end. It is false for one without a command.
func parse(raw string) (l line, ok bool) {
	rest := strings.TrimRight(raw, "\r\n")
	if tags, found := strings.CutPrefix(rest, "@"); found {
		tags, rest, _ = strings.Cut(tags, " ")
		l.tags = map[string]string{}
		for tag := range strings.SplitSeq(tags, ";") {
			if key, value, _ := strings.Cut(tag, "="); key != "" {
				l.tags[key] = unescape(value)
			}
		}
	}
	rest = strings.TrimLeft(rest, " ")
	if source, found := strings.CutPrefix(rest, ":"); found {
		source, rest, _ = strings.Cut(source, " ")
		l.nick, l.user, _ = strings.Cut(source, "!")
	}
	rest = strings.TrimLeft(rest, " ")
	l.command, rest, _ = strings.Cut(rest, " ")
	l.command = strings.ToUpper(l.command)
	for rest = strings.TrimLeft(rest, " "); rest != "" && len(l.params) < maxParams; rest = strings.TrimLeft(rest, " ") {
		if trailing, found := strings.CutPrefix(rest, ":"); found {
			l.params = append(l.params, trailing)
			break
		}
		var p string
		p, rest, _ = strings.Cut(rest, " ")
		l.params = append(l.params, p)
	}
	return l, l.command != ""
}

// unescape reads the value of a tag.
func unescape(value string) string {
	if !strings.Contains(value, `\`) {
		return value
	}
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] != '\\' {
			b.WriteByte(value[i])
			continue
		}
		if i++; i == len(value) {
			break
		}
		switch value[i] {
		case ':':
			b.WriteByte(';')
		case 's':
			b.WriteByte(' ')
		case 'r':
			b.WriteByte('\r')
		case 'n':
			b.WriteByte('\n')
		default:
			b.WriteByte(value[i])
		}
	}
	return b.String()
}

// bare takes colours and other dress from what somebody says.
func bare(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case 0x03: // a colour: up to two digits, and perhaps a second one
			i += digits(text[i+1:], 2, "0123456789")
			if rest := text[i+1:]; len(rest) > 1 && rest[0] == ',' {
				if n := digits(rest[1:], 2, "0123456789"); n > 0 {
					i += 1 + n
				}
			}
		case 0x04:
			if digits(text[i+1:], 6, "0123456789abcdefABCDEF") == 6 {
				i += 6
			}
		default:
			b.WriteByte(text[i])
		}
	}
	return strings.TrimSpace(ambry.Plain(b.String()))
}

// digits returns how many characters of set a text begins with, at most limit.
func digits(text string, limit int, set string) int {
	n := 0
	for n < len(text) && n < limit && strings.IndexByte(set, text[n]) >= 0 {
		n++
	}
	return n
}

// fold is a name as the server compares it.
func fold(name, casemapping string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case casemapping == "ascii":
			return r
		case r >= '[' && r <= ']', r == '^' && casemapping != "strict-rfc1459":
			return r + '{' - '['
		}
		return r
	}, name)
}
