package recall_test

import (
	"testing"

	"ambry.dev/ambry"
)

// FuzzQuery checks that no text makes a search fail but by its own fault.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{"a", `"x`, "path: layer:L9 tag:", `(?i)a+`, "(", "-a agent:", "\xff\x00", "缓存 layer:l2"} {
		f.Add(q)
	}
	r, s := open(f)
	add(f, s, "a note about the cache in pool/client.go", now)
	f.Fuzz(func(t *testing.T, q string) {
		for _, mode := range []ambry.Mode{"", ambry.ModeSubstring, ambry.ModeRegex} {
			if _, err := r.Search(t.Context(), ambry.Query{Query: q, Mode: mode}); err != nil && ambry.KindOf(err) != ambry.InvalidArgument {
				t.Errorf("%q as %q: %v", q, mode, err)
			}
		}
	})
}
