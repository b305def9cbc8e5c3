package web

import (
	"net/url"
	"path"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// FuzzCanonical: a path that passes is the only spelling of what it means, and
// means the same to everybody who cleans, decodes or decodes again.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{"/api/list", "/a%20b/%E4%BD%A0", "/..", "/a/%2e%2e/b", "/a//b", "/a;b", "/%252e", "/a?b=%00", "*", "http://h/x", "/a\\b", "/a/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, target string) {
		if !canonical(target) {
			return
		}
		raw, _, _ := strings.Cut(target, "?")
		text, err := url.PathUnescape(raw)
		if err != nil {
			t.Fatalf("%q passed, and cannot be decoded", raw)
		}
		again, err := url.PathUnescape(text)
		if err != nil || again != text {
			t.Fatalf("%q decodes twice, to %q", raw, again)
		}
		if clean := path.Clean(text); clean != strings.TrimSuffix(text, "/") && text != "/" {
			t.Fatalf("%q cleans to %q", raw, clean)
		}
		if !utf8.ValidString(text) || strings.ContainsAny(text, `\;?#`) || strings.ContainsFunc(text, unicode.IsControl) {
			t.Fatalf("%q holds what may be read otherwise", text)
		}
		if strings.Count(text, "/") != strings.Count(raw, "/") {
			t.Fatalf("%q hides a slash", raw)
		}
	})
}
