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
	f := table()
	cuts, escaped := f.scan(s, false)
	if !escaped {
		return cuts
	}
	plain, shifts := unescape(s)
	cuts, _ = f.scan(plain, true)
	for i, c := range cuts {
		cuts[i] = shifts.cut(c)
	}
	return cuts
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
	maxMark   = 48 // no replacement is longer
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
	filter    *filter
	unescaped bool // text is what unescape made

	rule    string // id of the rule being tried
	from    int    // end of the last cut; nothing before it is looked at
	cuts    []cut
	escaped bool  // text has escapes that may hide a secret
	wordEnd int   // end of the last run of word characters that was measured
	field   field // the last one that was read

	command    *string // flags of the last command that had no password
	commandEnd int     // and where its line ends
	cookieEnd  int     // end of the last list of cookies
}

// scan returns the cuts, or that the text must be unescaped first. The loop is
// where the time goes: it reads each byte once and does more only where the
// keyword of a rule may stand. Most texts have none, and then need no memory.
func (f *filter) scan(text string, unescaped bool) (cuts []cut, escaped bool) {
	var x *scan
	from, state := 0, f.start
	for i := 0; ; i++ {
		i, state = f.next(text, i, state)
		if i >= len(text) {
			break
		}
		for n := min(lanes, i+1-from); n >= 2; n-- {
			list := f.at(text, i+1, n)
			if x == nil {
				if !standsAny(list, text, i+1-n) {
					continue
				}
				x = &scan{text: text, filter: f, unescaped: unescaped}
			}
			if x.try(list, i+1-n) {
				from = x.from
				i, state = from-1, f.start
				break
			}
		}
		if x != nil && x.escaped {
			return nil, true
		}
	}
	if x == nil {
		return nil, false
	}
	return x.cuts, false
}

// try runs the rules of the keywords that stand at i, and reports whether one of
// them made a cut.
func (x *scan) try(list []keyword, i int) bool {
	for n := range list {
		k := &list[n]
		if !k.stands(x.text, i) || k.alone && !x.begins(i) {
			continue
		}
		x.rule = k.id
		if k.match(x, i, i+len(k.text)) {
			return true
		}
	}
	return false
}

func standsAny(list []keyword, s string, i int) bool {
	for n := range list {
		if list[n].stands(s, i) {
			return true
		}
	}
	return false
}

// cut takes the bytes from start to end out and reports whether it did. What is
// a replacement already stays, and none is left in part.
func (x *scan) cut(start, end int) bool {
	start = x.afterEscape(max(start, x.from))
	if open := max(0, start-maxMark); start < end {
		if n := strings.LastIndex(x.text[open:start+1], markStart[:1]); n >= 0 {
			start = max(start, x.filter.markEnd(x.text, open+n))
		}
	}
	if start < end {
		if n := strings.LastIndex(x.text[start:end], markStart); n >= 0 {
			end = max(end, x.filter.markEnd(x.text, start+n))
		}
	}
	if start >= end {
		return false
	}
	x.cuts = append(x.cuts, cut{start: start, end: end, rule: x.rule})
	x.from = end
	return true
}
