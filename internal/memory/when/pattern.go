package when

import (
	"regexp"
	"sync"
)

// pattern is a regular expression that is compiled when it is first needed. Most
// runs of the program that holds this package never need it, and agents wait for
// the shortest of them. It is tried only where it can begin.
type pattern struct {
	compiled func() *regexp.Regexp
	begins   func() *beginnings    // nil: anywhere
	after    func() *regexp.Regexp // the same after one character, from the start of a text on
}

func lazily(text string) pattern {
	return pattern{
		compiled: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) }),
		begins:   sync.OnceValue(func() *beginnings { return beginningsOf(text) }),
		after:    sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^(?s:.)(?:" + text + ")") }),
	}
}

// FindStringSubmatch is that of the regular expression.
func (p pattern) FindStringSubmatch(s string) []string {
	if !p.MatchString(s) { // hardly any text has one, and to see that is cheaper
		return nil
	}
	return p.compiled().FindStringSubmatch(s)
}

// MatchString is that of the regular expression.
func (p pattern) MatchString(s string) bool {
	b := p.begins()
	if b == nil {
		return p.compiled().MatchString(s)
	}
	for i := b.next(s, 0); i >= 0; i = b.next(s, i+1) {
		if p.after().MatchString(before(s, i)) {
			return true
		}
	}
	return false
}
