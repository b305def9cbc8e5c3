package when

import (
	"regexp"
	"sync"
)

// pattern is a regular expression that is compiled when it is first needed. Most
// runs of the program that holds this package never need it, and agents wait for
// the shortest of them.
type pattern struct{ compiled func() *regexp.Regexp }

func lazily(text string) pattern {
	return pattern{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

// FindStringSubmatch is that of the regular expression.
func (p pattern) FindStringSubmatch(s string) []string { return p.compiled().FindStringSubmatch(s) }

// MatchString is that of the regular expression.
func (p pattern) MatchString(s string) bool { return p.compiled().MatchString(s) }
