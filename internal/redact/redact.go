package redact

import (
	"strings"
	"sync"
)

// rounds bounds how often a text is searched. What one replacement uncovers,
// such as a token that touched the one before it, the next round takes; two
// rounds do for all text seen so far.
const rounds = 6

// Text returns s with every secret it recognises replaced by [REDACTED:rule],
// and how many it replaced. A text without secrets is returned as it is, not
// copied. Redacting twice is redacting once; valid UTF-8 stays valid, and so
// does JSON, also JSON inside the strings of JSON. The time it takes grows with
// the length of s alone.
//
// It errs on the side of taking too much only next to words like password;
// hashes, ids, paths and code that merely handles secrets stay.
func Text(s string) (clean string, found int) {
	for range rounds {
		cuts := search(s)
		if len(cuts) == 0 {
			break
		}
		s = replace(s, cuts)
		found += len(cuts)
	}
	return s, found
}

// table is made when it is first needed: most commands never redact.
var table = sync.OnceValue(func() *filter { return compile(rules) })

// search returns the secrets of s in their order, none touching another's bytes.
func search(s string) []cut {
	table := table()
	x := scan{text: s, filter: table}
	if x.run(); !x.escaped {
		return x.cuts
	}
	plain, shifts := unescape(s)
	x = scan{text: plain, unescaped: true, filter: table}
	x.run()
	for i, c := range x.cuts {
		x.cuts[i] = shifts.cut(c)
	}
	return x.cuts
}

func replace(s string, cuts []cut) string {
	var b strings.Builder
	b.Grow(len(s) + len(cuts)*len("[REDACTED:authorization]"))
	from := 0
	for _, c := range cuts {
		quote := s[c.quote:c.quoteEnd]
		b.WriteString(s[from:c.start])
		b.WriteString(quote)
		b.WriteString(markStart)
		b.WriteString(c.rule)
		b.WriteString(markEnd)
		b.WriteString(quote)
		from = c.end
	}
	b.WriteString(s[from:])
	return b.String()
}

const (
	markStart = "[REDACTED:"
	markEnd   = "]"
)

// cut is a secret: the bytes from start to end, and the rule that found it.
// The bytes from quote to quoteEnd, if any, are put around the replacement: a
// bare number in JSON becomes a string.
type cut struct {
	start, end      int
	quote, quoteEnd int
	rule            string
}

// scan is one search through a text.
type scan struct {
	text      string
	unescaped bool // text is what unescape made
	filter    *filter

	rule    string // id of the rule being tried
	from    int    // end of the last cut; nothing before it is looked at
	cuts    []cut
	escaped bool // text has escapes that may hide a secret
	wordEnd int  // end of the last run of word characters that was measured
}

// run finds the cuts. The loop is where the time goes: it reads each byte once
// and calls a matcher only where the keyword of a rule stands.
func (x *scan) run() {
	state := x.filter.start
	for i := 0; ; i++ {
		i, state = x.filter.next(x.text, i, state)
		if i >= len(x.text) || x.escaped {
			return
		}
		if x.try(i + 1) {
			i, state = x.from-1, x.filter.start
		}
	}
}

// try runs the rules whose keywords begin just before i, and reports whether
// one of them made a cut.
func (x *scan) try(i int) bool {
	for n := lanes; n >= 2; n-- {
		at := i - n
		if at < x.from {
			continue
		}
		list := x.filter.at(x.text, i, n)
		for l := range list {
			k := &list[l]
			if !k.stands(x.text, at) || k.alone && !x.begins(at) {
				continue
			}
			x.rule = k.id
			if k.match(x, at, at+len(k.text)) {
				return true
			}
		}
	}
	return false
}

// cut takes the bytes from start to end out and reports whether it did. What is
// a replacement already stays, and none is left in part.
func (x *scan) cut(start, end int) bool {
	start = x.afterEscape(max(start, x.from))
	if mark := x.filter.markEnd(x.text, start); mark >= end {
		return false
	}
	if open := strings.LastIndex(x.text[start:max(start, end)], markStart); open >= 0 {
		end = max(end, x.filter.markEnd(x.text, start+open))
	}
	if start >= end {
		return false
	}
	x.cuts = append(x.cuts, cut{start: start, end: end, rule: x.rule})
	x.from = end
	return true
}
