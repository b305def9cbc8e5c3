package email

import (
	"regexp"
	"strings"

	"github.com/emersion/go-message"
)

// dmarcPassed reports whether a server that we trust says that DMARC has passed
// for a domain. Headers are from the top. The first one of the server counts
// alone: it writes its own above what a mail has brought along.
func dmarcPassed(headers []string, server, domain string) bool {
	for _, h := range headers {
		results := resultsOf(h)
		if len(results) == 0 || len(results[0]) == 0 || !strings.EqualFold(results[0][0], server) {
			continue
		}
		passed := false
		for _, r := range results[1:] {
			if len(r) == 0 || !isMethod(r[0], "dmarc") {
				continue
			}
			if passed || !strings.EqualFold(r[0], "dmarc=pass") {
				return false // it did not, or there are two opinions
			}
			for _, property := range r[1:] {
				if key, value, _ := strings.Cut(property, "="); strings.EqualFold(key, "header.from") && strings.EqualFold(strings.TrimSuffix(value, "."), domain) {
					passed = true
				}
			}
			if !passed {
				return false
			}
		}
		return passed
	}
	return false
}

// isMethod reports whether a word is the result of a method.
func isMethod(word, method string) bool {
	key, _, ok := strings.Cut(word, "=")
	name, _, _ := strings.Cut(key, "/") // it may have a version
	return ok && strings.EqualFold(name, method)
}

// resultsOf divides the header Authentication-Results at its semicolons into
// words, as key=value without the spaces that may be around the sign. Comments
// are left out, and what is quoted is one word: both can hold what a sender has
// chosen.
func resultsOf(header string) [][]string {
	all := [][]string{nil}
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			all[len(all)-1] = append(all[len(all)-1], word.String())
			word.Reset()
		}
	}
	depth, quoted := 0, false
	for i := 0; i < len(header); i++ {
		c := header[i]
		switch {
		case c == '\\' && (depth > 0 || quoted):
			if i++; quoted && i < len(header) {
				word.WriteByte(header[i])
			}
		case depth > 0:
			switch c {
			case '(':
				depth++
			case ')':
				depth--
			}
		case quoted && c == '"':
			quoted = false
		case quoted:
			word.WriteByte(c)
		case c == '"':
			quoted = true
		case c == '(':
			end()
			depth = 1
		case c == ';':
			end()
			all = append(all, nil)
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			end()
		default:
			word.WriteByte(c)
		}
	}
	if depth > 0 || quoted {
		return nil // it has no end, so nobody knows what was meant
	}
	end()
	for i := range all {
		all[i] = joined(all[i])
	}
	return all
}

// joined puts together what stands around a sign with spaces.
func joined(words []string) (all []string) {
	for i := 0; i < len(words); i++ {
		switch w := words[i]; {
		case w == "=" && len(all) > 0 && i+1 < len(words):
			i++
			all[len(all)-1] += "=" + words[i]
		case strings.HasSuffix(w, "=") && i+1 < len(words):
			i++
			all = append(all, w+words[i])
		case strings.HasPrefix(w, "=") && len(all) > 0:
			all[len(all)-1] += w
		default:
			all = append(all, w)
		}
	}
	return all
}

// worded reports whether a mail has the secret word, in the subject or in our
// address as it was written, which it then returns.
func (l *link) worded(h message.Header, subject string) (address string, ok bool) {
	local, domain, _ := strings.Cut(l.own, "@")
	with := local + "+" + l.word + "@" + domain
	for _, key := range []string{"To", "Cc", "Delivered-To", "X-Original-To", "Envelope-To"} {
		for _, v := range values(h, key) {
			all, err := parser().ParseList(v)
			if err != nil {
				continue
			}
			for _, a := range all {
				if strings.EqualFold(a.Address, with) {
					return with, true
				}
			}
		}
	}
	for _, word := range strings.FieldsFunc(strings.ToLower(subject), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		if word == l.word {
			return "", true
		}
	}
	return "", false
}

// topic is a subject as a question: without the word, and the marks of answers.
func (l *link) topic(subject string) string {
	if l.word != "" {
		subject = regexp.MustCompile(`(?i)`+l.word).ReplaceAllString(subject, "") // it is letters and digits
		subject = strings.NewReplacer("[]", "", "()", "").Replace(subject)
	}
	for {
		subject = strings.TrimSpace(subject)
		before := subject
		for _, mark := range []string{"re:", "aw:", "fw:", "fwd:", "wg:", "sv:", "回复:", "回复：", "答复:", "答复："} {
			if len(subject) >= len(mark) && strings.EqualFold(subject[:len(mark)], mark) {
				subject = subject[len(mark):]
			}
		}
		if subject == before {
			return subject
		}
	}
}
