package recall

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/memory/words"
)

// ranked is a candidate that was looked at closely.
type ranked struct {
	text    *store.Text
	passage *passage
	look    *look
	meant   bool // found for what it means alone
	signs   [signs]float64
	short   float64 // how short the memories are that it was compared with
	score   float64
}

// timeGain is how much the time that a question is about counts where only the
// score of the index is known.
const timeGain = 2

// rank looks at the best candidates closely and orders them anew: at least so
// many, and more while they are short.
func (r *Recall) rank(ctx context.Context, c *words.Cutter, a asked, found []store.Candidate, like likeness, least int) ([]ranked, error) {
	best := 0.0
	for _, f := range found {
		best = max(best, f.Score)
	}
	first := func(f store.Candidate) float64 {
		return f.Score/max(best, 1e-9) + timeGain*a.during(f.At)
	}
	slices.SortStableFunc(found, func(x, y store.Candidate) int { return cmp.Compare(first(y), first(x)) })
	least = alikeFirst(found, like, least)
	rows := make([]int64, len(found))
	for i, f := range found {
		rows[i] = f.Row
	}
	budget := closeBytes
	if len(like) > 0 {
		budget = likeBytes
	}
	texts, err := r.store.Glance(ctx, rows, least, budget)
	if err != nil {
		return nil, err
	}
	// What was learned takes nobody's place among those that are looked at.
	if n := learnedOf(texts); n > 0 {
		rest := rows[slices.Index(rows, texts[len(texts)-1].Row)+1:]
		more, err := r.store.Glance(ctx, rest, n, 0)
		if err != nil {
			return nil, err
		}
		texts = append(texts, more...)
	}
	out := make([]ranked, 0, len(texts))
	looks := r.lookAtAll(newMatcher(c, a), texts)
	at := 0 // in found, which has the same order
	for i, t := range texts {
		for found[at].Row != t.Row {
			at++
		}
		if slices.Contains(looks[i].phrases, false) {
			continue
		}
		out = append(out, ranked{text: t, passage: &looks[i].best, look: &looks[i], meant: like[t.Row].only})
		out[len(out)-1].signs[byWords] = found[at].Score / max(best, 1e-9)
	}
	r.weighMeaning(a, out, like)
	judgeApart(c, a, out, r.now())
	return inOrder(out), nil
}

// inOrder returns memories with the best first, among equals the newest.
func inOrder(all []ranked) []ranked {
	best := pointers(all)
	slices.SortStableFunc(best, func(x, y *ranked) int {
		return cmp.Or(cmp.Compare(y.score, x.score), y.text.CreatedAt.Compare(x.text.CreatedAt))
	})
	out := make([]ranked, len(best))
	for i, r := range best {
		out[i] = *r
	}
	return out
}

// pointers are to all of some memories, which are large to sort.
func pointers(all []ranked) []*ranked {
	out := make([]*ranked, len(all))
	for i := range all {
		out[i] = &all[i]
	}
	return out
}

// described completes memories that were looked at, and leaves out those that were
// forgotten meanwhile.
func (r *Recall) described(ctx context.Context, best []ranked) ([]ranked, error) {
	texts := make([]*store.Text, len(best))
	for i := range best {
		texts[i] = best[i].text
	}
	if err := r.store.Describe(ctx, texts); err != nil {
		return nil, err
	}
	best = slices.DeleteFunc(best, func(r ranked) bool { return r.text.ID == "" })
	for i := range best {
		best[i].show()
	}
	return best, nil
}

// show makes of a passage what an answer shows.
func (r *ranked) show() {
	p := r.passage
	switch {
	case p.text == "": // found by its title, its tags or its neighbours
		*p = opening(r.text)
	case p.said < 0:
		p.source = r.text.Source
	default:
		p.source = r.text.Said[p.said].Source
	}
	p.finish()
}

// answers reports whether a memory says enough of the question to be put before
// a reader who has not asked to see it: words in it that are rare here, or the
// time that was asked about. It must say more of a question that names something
// nobody has heard of.
func (r *ranked) answers(a asked) bool {
	switch {
	case len(a.units) == 0 || r.signs[byPhrase] > 0 || r.signs[byTime] == 1:
		return true
	case r.unheard(a):
		return r.signs[byCover] >= minUnheard
	}
	return r.signs[byCover] >= minCover
}

// usualSigns is how many signs speak for a memory or against it, mostly.
const usualSigns = 16

// hit shows a ranked memory.
func (r *ranked) hit() ambry.Hit {
	t := r.text
	why, weights := make(map[string]float64, usualSigns), weights()
	for s, v := range r.signs {
		if v = round(weights.of(sign(s), r.short) * v); v != 0 {
			why[names[s]] = v
		}
	}
	return ambry.Hit{
		ID: t.ID, Kind: t.Kind, Layer: t.Layer, Status: t.Status, Title: t.Title, Tags: t.Tags,
		Snippet: r.passage.snippet, Highlights: r.passage.highlights,
		Score: round(r.score), Why: why,
		Agent: t.Agent, Project: t.Project, SessionID: t.SessionID, Source: r.passage.source,
		CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt, Tokens: estimate(t.Title) + estimate(r.passage.snippet),
	}
}

func round(v float64) float64 { return math.Round(v*1e4) / 1e4 }

// opening is the passage of a memory in which no word of the query stands.
func opening(t *store.Text) passage {
	p := passage{text: t.Body, source: t.Source}
	for _, s := range t.Said {
		if s.Text != "" {
			p.text, p.source = s.Text, s.Source
			break
		}
	}
	if p.text == "" {
		p.text = t.Title
	}
	return p
}

// indexFold is strings.Index for a needle in lower case, whatever the case of
// ASCII letters in text.
func indexFold(text, needle string) int {
	if needle == "" || len(needle) > len(text) {
		return -1
	}
	first := needle[0]
	for i := 0; i+len(needle) <= len(text); i++ {
		if lower[text[i]] == first && strings.EqualFold(text[i:i+len(needle)], needle) {
			return i
		}
	}
	return -1
}
