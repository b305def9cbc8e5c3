package recall

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"ambry.dev/ambry/internal/memory/words"
)

//go:embed synonyms.txt
var synonymText string

// synonyms are the terms that mean about the same as a term. A word that no
// memory has is looked for by them; among what was found they count less than the
// word itself.
var synonyms = sync.OnceValue(func() map[string][]string {
	c := words.NewCutter()
	out := map[string][]string{}
	for line := range strings.Lines(synonymText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var group []string
		for _, word := range strings.Fields(line) {
			last := ""
			n := 0
			c.Each(word, func(t words.Term) {
				if t.Kind != words.Single {
					last = string(t.Text)
					n++
				}
			})
			if n == 1 {
				group = append(group, last)
			}
		}
		for _, a := range group {
			for _, b := range group {
				if a != b && !slices.Contains(out[a], b) {
					out[a] = append(out[a], b)
				}
			}
		}
	}
	return out
})
