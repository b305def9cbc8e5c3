package recall

import (
	"strings"
	"time"
	"unicode"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/memory/when"
	"ambry.dev/ambry/internal/memory/words"
)

// maxUnits bounds the work of a query; a pasted log is searched by its first
// words.
const maxUnits = 32

// unit is one thing that is asked for: a word, an identifier with its parts, or
// a pair of characters.
type unit struct {
	term   string
	parts  []string // of an identifier
	known  int64    // in how many memories it is, as far as that was counted
	weight float64  // how much it says; rare words say more
	weak   bool     // a pair of characters that happen to be neighbours
	name   bool     // written like the name of something: CDN, WebAssembly, Switzerland
}

// asked is a query as it was understood.
type asked struct {
	units     []unit
	weight    float64    // of all units
	paths     []string   // of the operator path:, which are phrases too
	phrases   []string   // to be found literally, lower-cased
	literal   string     // all that was asked, lower-cased, for those who paste a line
	meant     string     // the same as it was written, without operators and words that say when
	not       [][]string // terms, of each word that is not wanted
	prefix    []string   // beginnings of hexadecimal names
	filter    store.Filter
	window    when.Window // which time it is about; zero if it does not tell
	tense     when.Tense
	forTime   bool // it asks when something was
	forNumber bool // it asks how many or how much
}

// parse understands a query. Beside words it knows "a phrase", -word,
// project:NAME, agent:ID, session:ID, layer:L2 (or kind:), tag:NAME, path:FILE,
// after:DATE and before:DATE. What does not
// make sense as one of these is taken as words.
//
// Words that say when, relative to now, are no words to look for. Without a now
// they are.
func parse(c *words.Cutter, q ambry.Query, now time.Time) asked {
	a := asked{filter: store.Filter{
		Layers: q.Layers, Tags: q.Tags, Agents: q.Agents, Project: q.Project, Session: q.InSession,
		After: q.After, Before: q.Before,
	}}
	oneLine := !q.Plain && !strings.Contains(strings.TrimSpace(q.Query), "\n")
	var text, not []string
	for rest := q.Query; ; {
		var field string
		var quoted bool
		field, quoted, rest = nextField(rest)
		if field == "" && rest == "" {
			break
		}
		switch {
		case quoted && q.Plain:
			text = append(text, field)
		case quoted:
			if p := strings.ToLower(strings.TrimSpace(field)); p != "" {
				a.phrases = append(a.phrases, p)
				text = append(text, field)
			}
		case oneLine && a.operator(field):
		case oneLine && negation(field):
			not = append(not, field[1:])
		default:
			text = append(text, field)
		}
	}
	literal := strings.Join(append(text, a.paths...), " ")
	if len(a.phrases) == 0 {
		a.literal = strings.ToLower(literal)
	}
	if !now.IsZero() {
		a.window, _ = when.Parse(literal, now)
	}
	a.tense, a.forTime, a.forNumber = when.TenseOf(literal), when.Asks(literal), when.AsksNumber(literal)
	a.meant = strings.TrimSpace(without(literal, a.window.Words))
	a.units, a.prefix = unitsOf(c, a.meant)
	for _, word := range not {
		var terms []string
		units, _ := unitsOf(c, word)
		for _, u := range units {
			terms = append(terms, u.term)
		}
		if len(terms) > 0 {
			a.not = append(a.not, terms)
		}
	}
	return a
}

// without cuts the words out of text that say when; they are in lower case.
func without(text, words string) string {
	lower := strings.ToLower(text)
	if words == "" || len(lower) != len(text) {
		return text
	}
	before, after, _ := strings.Cut(lower, words)
	return text[:len(before)] + " " + text[len(text)-len(after):]
}

// nextField returns the next word or quoted phrase of s, and what follows it.
func nextField(s string) (field string, quoted bool, rest string) {
	s = strings.TrimLeftFunc(s, unicode.IsSpace)
	if strings.HasPrefix(s, `"`) {
		if end := strings.IndexByte(s[1:], '"'); end > 0 {
			return s[1 : 1+end], true, s[2+end:]
		}
	}
	// The value of an operator may be quoted: project:"my work".
	inQuotes := false
	for i, r := range s {
		if r == '"' {
			inQuotes = !inQuotes && i > 0 && s[i-1] == ':' && strings.Contains(s[i+1:], `"`)
		}
		if unicode.IsSpace(r) && !inQuotes {
			return s[:i], false, s[i:]
		}
	}
	return s, false, ""
}

// minNegated is the shortest word that a dash excludes: shorter ones are options
// of a command line.
const minNegated = 3

func negation(field string) bool {
	if len(field) <= minNegated || field[0] != '-' {
		return false
	}
	for _, r := range field[1:] {
		if !unicode.IsLetter(r) {
			return false
		}
	}
	return true
}

// operator takes field as a filter, if it is one.
func (a *asked) operator(field string) bool {
	name, value, ok := strings.Cut(field, ":")
	value = strings.Trim(value, `"`)
	if !ok || value == "" {
		return false
	}
	switch strings.ToLower(name) {
	case "project":
		a.filter.Project = value
	case "agent":
		a.filter.Agents = append(a.filter.Agents, strings.ToLower(value))
	case "layer", "kind":
		return a.layer(value)
	case "tag":
		a.filter.Tags = append(a.filter.Tags, value)
	case "path":
		a.phrases = append(a.phrases, strings.ToLower(value))
		a.paths = append(a.paths, value)
	case "session":
		a.filter.Session = value
	case "after":
		return date(&a.filter.After, value)
	case "before":
		return date(&a.filter.Before, value)
	default:
		return false
	}
	return true
}

// layer limits the search to a layer, if there is one of that name.
func (a *asked) layer(name string) bool {
	for _, l := range ambry.Layers {
		if strings.EqualFold(string(l), name) || strings.EqualFold(l.MemoryKind(), name) {
			a.filter.Layers = append(a.filter.Layers, l)
			return true
		}
	}
	return false
}

// date sets to from a day or a time; days are UTC.
func date(to *time.Time, value string) bool {
	for _, layout := range []string{time.RFC3339, time.DateOnly, "2006-01", "2006"} {
		if t, err := time.Parse(layout, value); err == nil {
			*to = t
			return true
		}
	}
	return false
}

// unitsOf cuts the words of a query, without those that say nothing unless there
// are no others.
func unitsOf(c *words.Cutter, text string) (units []unit, prefix []string) {
	b := builder{text: text, known: map[string]bool{}, whole: -1, nouns: german(text)}
	c.Each(text, b.term)
	b.single()
	if len(b.content) > 0 {
		return b.content, b.prefix
	}
	return b.all, b.prefix
}

// builder makes units of terms.
type builder struct {
	text    string
	known   map[string]bool
	all     []unit
	content []unit // without stop words
	prefix  []string
	whole   int    // where the identifier at hand ends
	again   bool   // it was there before
	lone    string // a character that may have no neighbour
	paired  int    // where the last pair ended
	nouns   bool   // capital letters begin any noun
}

func (b *builder) term(t words.Term) {
	term := string(t.Text)
	if t.Kind != words.Pair {
		b.single()
	}
	b.lone = ""
	switch {
	case t.Kind == words.Single:
		if t.End != b.paired {
			b.lone = term
		}
		return
	case t.Kind == words.Pair:
		b.paired = t.End
		b.add(unit{term: term, weak: isWeak(term)}, stopWords()[term])
	case t.End <= b.whole:
		b.part(term)
	case t.Kind == words.Whole:
		b.whole, b.again = t.End, !b.add(unit{term: term, name: true}, false)
	default:
		b.add(unit{term: term, name: b.named(t)}, stopWords()[strings.ToLower(b.text[t.Start:t.End])])
	}
	if abbreviatedHash(term) {
		b.prefix = append(b.prefix, term)
	}
}

// single adds the character that turned out to have no neighbour.
func (b *builder) single() {
	if b.lone != "" {
		b.add(unit{term: b.lone}, false)
		b.lone = ""
	}
}

func (b *builder) add(u unit, stop bool) bool {
	if b.known[u.term] || len(b.all) >= maxUnits {
		return false
	}
	b.known[u.term] = true
	b.all = append(b.all, u)
	if !stop {
		b.content = append(b.content, u)
	}
	return true
}

// part adds a part to the identifier that was added last.
func (b *builder) part(term string) {
	if b.again {
		return
	}
	for _, list := range [][]unit{b.all, b.content} {
		u := &list[len(list)-1]
		u.parts = append(u.parts, term)
	}
}

// abbreviatedHash reports whether a term looks like the beginning of a commit id.
func abbreviatedHash(term string) bool {
	if len(term) < 7 || len(term) >= 40 {
		return false
	}
	digits := 0
	for i := range len(term) {
		switch c := term[i]; {
		case '0' <= c && c <= '9':
			digits++
		case c < 'a' || c > 'f':
			return false
		}
	}
	return digits > 0
}

// unfiltered reports whether the query limits nothing.
func (a asked) unfiltered() bool {
	f := a.filter
	return len(f.Layers)+len(f.Tags)+len(f.Agents) == 0 && f.Project == "" && f.Session == "" && f.After.IsZero() && f.Before.IsZero()
}

// all asks for memories that have every unit.
func (a asked) all() store.Match {
	m := store.Match{Not: a.not, Filter: a.filter, Own: true}
	for _, u := range a.units {
		m.All = append(m.All, []string{u.term})
	}
	return m
}

// single reports whether one word is asked for. Then it is looked for itself, not
// what was said around it.
func (a asked) single() bool { return len(a.units) == 1 }

// any asks for memories that have any unit.
func (a asked) any() store.Match {
	m := store.Match{Not: a.not, Prefix: a.prefix, Filter: a.filter, Own: a.single()}
	for _, u := range a.units {
		m.Any = append(m.Any, u.term)
		if u.known == 0 {
			m.Any = append(m.Any, synonyms()[u.term]...)
		}
	}
	return m
}

// parts asks for memories that have any unit, or a part of one.
func (a asked) parts() store.Match {
	m := a.any()
	for _, u := range a.units {
		m.Any = append(m.Any, u.parts...)
	}
	return m
}
