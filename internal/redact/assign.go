package redact

import (
	"strings"
	"unicode/utf8"
)

// field is a name and what is assigned to it, in one of the many ways that
// programs, settings, command lines and people have.
type field struct {
	name  string // all of it, such as DB_PASSWORD
	left  string // what of the name is before the keyword
	right string // and after it
	quote quote  // around the name
	op    op

	flag  bool // --name value
	query bool // ?name=value
	env   bool // NAME=value
	line  bool // the same, at the beginning of a line

	begin      int   // where the name begins
	start, end int   // the value
	in         quote // around the value
	ending     ending
	prefixed   bool // the quotes have a prefix, such as f"…"
	long       bool // more of the value follows
	after      int  // where the quote around the name ends
}

// op is what stands between a name and its value.
type op int

const (
	gap    op = iota // blanks only
	equals           // =, :=, ?=, =>
	colon            // : or its wide form
	comma            // , between quoted strings
	tag              // <name>value</name>
	said             // is, was, 是, 为
)

// assigned matches names in which the keyword stands, if judge takes the value
// for a secret.
func assigned(judge func(x *scan, f *field) bool) matcher {
	return func(x *scan, at, end int) bool {
		f := &x.field
		return x.read(f, at, end) && judge(x, f) && x.assign(f)
	}
}

// assign cuts the value of f.
func (x *scan) assign(f *field) bool {
	if f.long {
		f.end = x.rest(f.end, f.line)
	}
	if !x.cut(f.start, f.end) {
		return false
	}
	if f.quote.mark != 0 && f.in.mark == 0 && (f.op == colon || f.op == equals) {
		// "name": 12345 must become a string to stay JSON.
		last := &x.cuts[len(x.cuts)-1]
		last.quote, last.quoteEnd = f.after-1-depth(f.quote.level), f.after
	}
	return true
}

// read reads the field whose name has the keyword at text[at:end].
func (x *scan) read(f *field, at, end int) bool {
	s := x.text
	*f = field{}
	stop := end
	for stop < len(s) && stop-end < 32 && (is(s, stop, word) || s[stop] == '.' && is(s, stop+1, letter)) {
		stop++
	}
	i := stop
	f.quote, i = x.quote(i)
	f.after = i
	if f.quote.mark != 0 && x.byte(i) == ']' { // env["NAME"] = …
		i++
	}
	i, ok := x.operator(i, f)
	if !ok {
		return false
	}
	start := at
	for start > x.from && at-start < 64 && is(s, start-1, word|dot) && !x.escapeLetter(start-1) && !x.colourEnd(start-1) {
		start--
	}
	f.begin = start
	f.name, f.left, f.right = s[start:stop], s[start:at], s[end:stop]
	f.flag = strings.HasPrefix(f.left, "-") && x.argumentBegins(start)
	if start > 0 && f.op == equals && f.quote.mark == 0 {
		before := s[start-1]
		f.query = before == '?' || before == '&' || before == ';' && is(s, start, upper)
	}
	if f.op == equals && i == stop+1 && f.quote.mark == 0 && !is(s, i, blank) && upperCase(f.name) {
		f.env, f.line = true, x.lineBegins(start)
	}
	switch f.op {
	case comma:
		ok = f.flag
	case tag:
		ok = start > 0 && s[start-1] == '<'
	case gap:
		ok = f.flag || s[at] >= utf8.RuneSelf || x.beside(f, i)
	}
	return ok && x.value(i, f)
}

// beside reports whether the text at i, behind a blank, may be a secret: most
// words that follow the word token are not, and this is quick to see.
func (x *scan) beside(f *field, i int) bool {
	long := skipAtMost(x.text, i, 32, base64|minus|under) == i+32
	return long || x.byte(i) == '\'' || strings.EqualFold(f.name, "password")
}

// operator reads what stands between the name that ends at i and its value.
func (x *scan) operator(i int, f *field) (int, bool) {
	s := x.text
	for n := 0; x.byte(i) == '*' && n < 2; n++ { // **name**: in Markdown
		i++
	}
	next := x.blanks(i)
	rest := s[next:min(len(s), next+8)]
	switch {
	case rest == "":
		return 0, false
	case rest[0] == '=':
		f.op = equals
		if strings.HasPrefix(rest, "=>") {
			return next + 2, true
		}
		return next + 1, !strings.HasPrefix(rest, "==") && !strings.HasPrefix(rest, "=~")
	case strings.HasPrefix(rest, ":=") || strings.HasPrefix(rest, "?="):
		f.op = equals
		return next + 2, true
	case colonAt(rest) > 0:
		f.op = colon
		return next + colonAt(rest), !strings.HasPrefix(rest, "::")
	case rest[0] == ',' && f.quote.mark != 0:
		f.op = comma
		return next + 1, true
	case rest[0] == '>' && f.quote.mark == 0:
		f.op = tag
		return next + 1, true
	}
	for _, verb := range []string{"is ", "is:", "was ", "是", "为"} {
		if strings.HasPrefix(rest, verb) {
			f.op = said
			next = x.blanks(next + len(strings.TrimRight(verb, " :")))
			return next + colonAt(s[next:]), true
		}
	}
	f.op = gap
	return next, next > i
}

// colonAt returns the length of the colon that s begins with, or 0.
func colonAt(s string) int {
	for _, mark := range []string{":", "："} {
		if strings.HasPrefix(s, mark) {
			return len(mark)
		}
	}
	return 0
}

// value reads the value at i.
func (x *scan) value(i int, f *field) bool {
	if f.op == tag {
		f.start, f.end = i, skipTo(x.text, i, "<>\"'`\\\r\n")
		return f.start < f.end && strings.HasPrefix(x.text[f.end:], "</")
	}
	i = x.open(i, f)
	if f.in.mark == 0 {
		f.start, f.end = i, x.bare(i, f.line)
		f.long = f.end-i >= 64
		if f.in, i = x.typed(f.end, x.text[f.start:f.end]); f.in.mark == 0 {
			return f.start < f.end && f.op != comma
		}
	}
	if f.in.mark == '"' && !x.opens(f) {
		return false
	}
	f.start = i
	f.end, f.ending = x.closing(i, f.in)
	switch {
	case f.ending == unended:
		f.end = x.bare(i, false)
		f.long = f.end-i >= 64
	case f.op == comma:
		// What a colon follows is the name of a member.
		return f.start < f.end && x.byte(x.lines(f.end+depth(f.in.level)+1)) != ':'
	}
	return f.start < f.end
}

// opens reports whether the mark before the value opens a string, and does not
// close the one that the name stands in.
func (x *scan) opens(f *field) bool {
	if f.quote.mark == '"' {
		return f.quote.level == f.in.level
	}
	return f.in.level > 0 || !x.json()
}

// skipTo returns the first position from i on, within a line of some length,
// that has one of the bytes.
func skipTo(s string, i int, bytes string) int {
	for limit := i + 512; i < min(limit, len(s)) && strings.IndexByte(bytes, s[i]) < 0; {
		i++
	}
	return i
}

// open skips what stands before a value and notes the quote that opens it.
func (x *scan) open(i int, f *field) int {
	i = x.blanks(i)
	for n := 0; x.byte(i) == '*' && n < 2 && f.op == colon; n++ {
		i++
	}
	i = x.blanks(i)
	if next := x.lines(i); next > i && (f.op != gap || f.flag) {
		// Without quotes, only the argument of a command may be in the next line.
		if q, _ := x.quote(next); q.mark != 0 || f.flag && x.continues(i) {
			i = next
		}
	}
	if f.op == colon && (x.byte(i) == '|' || x.byte(i) == '>') { // a block of YAML
		if next := x.nextLine(skipAtMost(x.text, i+1, 2, plus|minus|digit)); next >= 0 {
			return next
		}
	}
	letters := skipAtMost(x.text, i, 2, letter)
	if x.byte(i) == '$' || x.byte(i) == '@' {
		letters = i + 1
	}
	if q, next := x.quote(letters); q.mark != 0 {
		f.in, f.prefixed = q, letters > i
		return next
	}
	return i
}

// typed returns the quote that opens a value after a type, in fields such as
// password: str = "…"; or none.
func (x *scan) typed(i int, v string) (quote, int) {
	if !in(typeNames, v) {
		return quote{}, i
	}
	i = x.blanks(i)
	if x.byte(i) != '=' {
		return quote{}, i
	}
	return x.quote(x.blanks(i + 1))
}

// bare returns the end of the value without quotes that begins at i, or a
// position in it when it is long. With all, the value goes to the next blank or
// quote, as in the lines of an env file.
func (x *scan) bare(i int, all bool) int {
	const most = 96
	stops := " \"'`,;)]}<>|"
	if all {
		stops = " \"'`<"
	}
	s := x.text
	for limit := i + most; i < min(limit, len(s)); {
		c := s[i]
		switch {
		case c < ' ' || c == '&' && !all && x.parameter(i):
			return i
		case c == '\\':
			if is(s, i+1, letter|digit) || i+1 == len(s) || s[i+1] < ' ' || strings.IndexByte("\"\\/'`", s[i+1]) >= 0 {
				return i
			}
			i++
		case strings.IndexByte(stops, c) >= 0:
			return i
		case c < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			if r >= 0x2e80 || 0x2000 <= r && r < 0x2070 { // CJK, wide forms, punctuation
				return i
			}
			i += n
		}
	}
	return i
}

// rest returns the end of a value of which bare returned end.
func (x *scan) rest(end int, all bool) int {
	for {
		next := x.bare(end, all)
		if next == end {
			return end
		}
		end = next
	}
}

// parameter reports whether the & at i begins the next parameter of a query, or
// ends a command.
func (x *scan) parameter(i int) bool {
	next := skipAtMost(x.text, i+1, 40, word|dot)
	return next == len(x.text) || strings.IndexByte("=;& \"'`\\\n", x.text[next]) >= 0
}

// argumentBegins reports whether an argument of a command can begin at i.
func (x *scan) argumentBegins(i int) bool {
	return i == 0 || x.text[i-1] <= ' ' || strings.IndexByte("\"'`,=([|;&", x.text[i-1]) >= 0 || x.escapeLetter(i-1) || x.colourEnd(i-1)
}

// lineStarts reports whether only blanks, or marks of a list or a comment, are
// before i in its line.
func (x *scan) lineStarts(i int) bool {
	for limit := i - 64; i > max(0, limit); i-- {
		if c := x.text[i-1]; c < ' ' && c != '\t' || x.escapeLetter(i-1) || strings.IndexByte("\"'`", c) >= 0 {
			return true
		} else if strings.IndexByte(" \t-#/*>|+;", c) < 0 {
			return false
		}
	}
	return i == 0
}

// lineBegins reports whether a line begins at i, or the argument of a command
// that sets variables.
func (x *scan) lineBegins(i int) bool {
	before := x.text[max(0, i-8):i]
	return before == "" || is(before, len(before)-1, line) || x.escapeLetter(i-1) || strings.HasSuffix(before, "export ")
}
