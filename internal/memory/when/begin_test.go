package when

import (
	"regexp"
	"testing"
)

// expressions are those of this package that are tried on whole messages, and
// some that are harder.
var expressions = []string{
	changesText, tellsText, countWordsText, pastText, presentText, `(?i)\b(kiss|ßtraße|über)\b|ändern`, `\d月|[一二]x+`, `(a|bc)?d\b`, `(?:ab){2}c`, `\w+ x`, `x*y`,
}

// FuzzPattern compares where an expression is tried with trying it everywhere.
func FuzzPattern(f *testing.F) {
	for _, s := range []string{
		"from now on use 5", "no longermade", "Ändern wir das", "STRAẞE über Überall kiſs", "12月 一xx", "bcd d", "xababc", "a xy y", "改成 30",
		"we moved the old thing to it", "ab 3x", "\xffnow\xff is", "set the port to", "tomorrow, 2nd", "１２月",
	} {
		f.Add(s)
	}
	all := make([]pattern, len(expressions))
	for i, e := range expressions {
		all[i] = lazily(e)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for i, e := range expressions {
			re := regexp.MustCompile(e)
			if got, want := all[i].MatchString(text), re.MatchString(text); got != want {
				t.Errorf("%.40q in %q: %v, not %v", e, text, got, want)
			}
			if got, want := all[i].FindStringSubmatch(text) != nil, re.MatchString(text); got != want {
				t.Errorf("%.40q is found in %q: %v, not %v", e, text, got, want)
			}
		}
	})
}

func TestMostExpressionsAreTriedInFewPlaces(t *testing.T) {
	for _, e := range []string{changesText, tellsText, countWordsText, pastText, presentText} {
		if beginningsOf(e) == nil {
			t.Errorf("%.40q is tried everywhere", e)
		}
	}
}

func BenchmarkChanged(b *testing.B) {
	const text = "The handler of the pool returns early when the context is done, so that nobody waits for a connection that was closed by the other side; " +
		"see internal/pool/pool.go:120 for how it was found. I ran the tests and they pass; the flaky one was a timeout of the container that the build runs in."
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Changed(text)
	}
}
