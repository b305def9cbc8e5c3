package recall

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/memory/words"
)

// What memories are alike by.
const (
	maxAlikeText  = 2 << 10 // bytes of the memory that are looked at
	maxAlikeTerms = 48      // different words of it
	maxRare       = 100     // a word that more memories have says too little
	maxShared     = 8       // rarest words that are asked for
)

// Alike is a memory that shares rare words with another one.
type Alike struct {
	ambry.Memory
	Score float64
}

// Alike returns the memories of the same project that share the rarest words
// with m, closest first, at most limit. except are left out.
func (r *Recall) Alike(ctx context.Context, m ambry.Detail, limit int, except map[string]bool) ([]Alike, error) {
	rare, err := r.rarest(m)
	if err != nil || len(rare) == 0 {
		return nil, err
	}
	found, err := r.store.Candidates(ctx, store.Match{Any: rare, Own: true, Filter: store.Filter{Project: m.Project}}, limit+len(except))
	if err != nil {
		return nil, err
	}
	scores, rows := make(map[int64]float64, len(found.Best)), make([]int64, len(found.Best))
	for i, c := range found.Best {
		scores[c.Row], rows[i] = c.Score, c.Row
	}
	texts, err := r.store.Texts(ctx, rows, len(rows), 0)
	if err != nil {
		return nil, err
	}
	var out []Alike
	for _, t := range texts {
		if !except[t.ID] {
			out = append(out, Alike{Memory: t.Memory, Score: scores[t.Row]})
		}
	}
	slices.SortFunc(out, func(a, b Alike) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), b.CreatedAt.Compare(a.CreatedAt), strings.Compare(a.ID, b.ID))
	})
	return out[:min(limit, len(out))], nil
}

// rarest returns the words of m that the fewest other memories have, of any
// project: to count within one takes longer than to count no further than maxRare.
func (r *Recall) rarest(m ambry.Detail) ([]string, error) {
	text := m.Title + "\n" + m.Summary + "\n" + m.Body
	cutter := r.borrow()
	defer r.cutters.Put(cutter)
	type word struct {
		term string
		n    int
	}
	var all []string
	seen := map[string]bool{}
	cutter.Each(strings.ToValidUTF8(text[:min(len(text), maxAlikeText)], ""), func(t words.Term) {
		term := string(t.Text)
		if len(all) < maxAlikeTerms && t.Kind != words.Part && t.Kind != words.Single && !seen[term] && !stopWords()[term] && len(term) > 1 {
			seen[term] = true
			all = append(all, term)
		}
	})
	found, err := r.store.Frequencies(all)
	if err != nil {
		return nil, err
	}
	var rare []word
	for i, n := range found {
		if n > 1 && n <= maxRare { // it is one of them itself
			rare = append(rare, word{all[i], n})
		}
	}
	slices.SortStableFunc(rare, func(a, b word) int { return cmp.Compare(a.n, b.n) })
	var out []string
	for _, w := range rare[:min(len(rare), maxShared)] {
		out = append(out, w.term)
	}
	return out, nil
}
