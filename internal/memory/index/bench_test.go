package index

import (
	"fmt"
	"slices"
	"testing"
)

// BenchmarkSearch asks for fourteen words: with documents passed over, and without.
func BenchmarkSearch(b *testing.B) {
	for _, docs := range []int64{10_000, 100_000, 300_000} {
		x, word := shelf(b, docs)
		questions := make([]Query, 200)
		for i := range questions {
			for len(questions[i].Any) < 14 {
				if w := word(); !slices.Contains(questions[i].Any, w) {
					questions[i].Any = append(questions[i].Any, w)
				}
			}
		}
		for name, many := range map[string]int{"passing over": manyPostings, "all": 1 << 40} {
			b.Run(fmt.Sprintf("%d/%s", docs, name), func(b *testing.B) {
				x.many = many
				for i := 0; b.Loop(); i++ {
					if _, err := x.Search(questions[i%len(questions)], 100); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
