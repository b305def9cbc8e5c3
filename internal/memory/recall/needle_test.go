package recall

import "testing"

// FuzzNeedle compares with looking at each place.
func FuzzNeedle(f *testing.F) {
	for _, s := range [][2]string{{"return retry", "we Return RETRY now"}, {"aab", "aaaab"}, {"", "x"}, {"x", ""}, {"größe", "die Größe"}, {"abab", "abaABAB"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, needle, text string) {
		for i := range len(needle) {
			if lower[needle[i]] != needle[i] {
				t.Skip("queries are put in lower case before; this needle cannot be one")
			}
		}
		for i := range len(text) {
			if text[i] >= 0x80 {
				t.Skip("a letter beyond ASCII may be an ASCII one in another case")
			}
		}
		if got, want := newNeedle(needle).index(text), indexFold(text, needle); got != want {
			t.Errorf("%q in %q at %d, not %d", needle, text, got, want)
		}
	})
}
