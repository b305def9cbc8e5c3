package recall

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/memory/words"
)

// Weights of the second stage. The index's own score counts from 0 to 1; the
// others are small against it, so that they decide among near ties.
const (
	weighAll    = 0.25 // has all words
	weighCover  = 0.35 // share of the words that stand in one message
	weighNear   = 0.20 // share that stands in one passage
	weighPhrase = 0.30 // has what was asked, literally
	weighRecent = 0.05 // new rather than a year old
)

// ranked is a candidate that was looked at closely.
type ranked struct {
	text    store.Text
	passage passage
	why     map[string]float64
	score   float64
}

// rank looks at the best candidates closely and orders them anew.
func (r *Recall) rank(ctx context.Context, c *words.Cutter, a asked, found []candidate, n int) ([]ranked, error) {
	best := 0.0
	for _, f := range found {
		best = max(best, f.Score)
	}
	slices.SortStableFunc(found, func(x, y candidate) int {
		switch sx, sy := first(x, best), first(y, best); {
		case sx > sy:
			return -1
		case sx < sy:
			return 1
		}
		return 0
	})
	found = found[:min(n, len(found))]
	rows := make([]int64, len(found))
	for i, f := range found {
		rows[i] = f.Row
	}
	texts, err := r.store.Texts(ctx, rows)
	if err != nil {
		return nil, err
	}
	byRow := make(map[int64]store.Text, len(texts))
	for _, t := range texts {
		byRow[t.Row] = t
	}
	m, now := newMatcher(c, a), r.now()
	out := make([]ranked, 0, len(found))
	for _, f := range found {
		t, ok := byRow[f.Row]
		if !ok {
			continue
		}
		p, ok := bestPassage(m, a, t)
		if !ok {
			continue
		}
		out = append(out, score(t, p, f, best, now))
	}
	slices.SortStableFunc(out, func(x, y ranked) int {
		switch {
		case x.score > y.score:
			return -1
		case x.score < y.score:
			return 1
		}
		return y.text.CreatedAt.Compare(x.text.CreatedAt)
	})
	return out, nil
}

// first orders candidates before anybody has looked at them.
func first(c candidate, best float64) float64 {
	s := c.Score / max(best, 1e-9)
	if c.all {
		s += weighAll
	}
	return s
}

func score(t store.Text, p passage, f candidate, best float64, now time.Time) ranked {
	why := map[string]float64{"words": f.Score / max(best, 1e-9)}
	add := func(name string, value float64) {
		if value > 0 {
			why[name] = value
		}
	}
	if f.all {
		add("all", weighAll)
	}
	add("cover", weighCover*p.cover)
	add("near", weighNear*p.near)
	if p.phrase {
		add("phrase", weighPhrase)
	}
	add("recent", weighRecent*recent(t.CreatedAt, now))
	out := ranked{text: t, passage: p, why: why}
	for name, v := range why {
		v = math.Round(v*1e4) / 1e4
		why[name] = v
		out.score += v
	}
	return out
}

// recent is 1 for now and falls by half each 90 days.
func recent(at, now time.Time) float64 {
	days := now.Sub(at).Hours() / 24
	return math.Exp2(-max(days, 0) / 90)
}

// hit shows a ranked memory.
func (r ranked) hit() ambry.Hit {
	t := r.text
	return ambry.Hit{
		ID: t.ID, Kind: t.Kind, Layer: t.Layer, Status: t.Status, Title: t.Title, Tags: t.Tags,
		Snippet: r.passage.snippet, Highlights: r.passage.highlights,
		Score: math.Round(r.score*1e4) / 1e4, Why: r.why,
		Agent: t.Agent, Project: t.Project, SessionID: t.SessionID, Source: r.passage.source,
		CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt, Tokens: estimate(t.Title) + estimate(r.passage.snippet),
	}
}

// bestPassage finds the place in a memory that answers best. It is false when a
// quoted phrase is nowhere in it.
func bestPassage(m *matcher, a asked, t store.Text) (passage, bool) {
	var best passage
	phrases := make([]bool, len(a.phrases))
	try := func(text string, at ambry.Source) {
		literal := -1
		for i, p := range a.phrases {
			if at := indexFold(text, p); at >= 0 {
				phrases[i], literal = true, at
			}
		}
		if len(a.phrases) == 0 && len(a.units) > 1 {
			literal = indexFold(text, a.literal)
		}
		p := passageOf(m, text, literal)
		p.source = at
		if p.better(best) {
			best = p
		}
	}
	if len(t.Said) == 0 {
		try(t.Body, t.Source)
	}
	for _, s := range t.Said {
		try(s.Text, s.Source)
		for _, c := range s.Calls {
			try(c.Input, s.Source)
			try(c.Output, s.Source)
		}
	}
	if best.text == "" { // found by its title, its tags or the name of a tool
		best = opening(t)
	}
	best.finish()
	return best, !slices.Contains(phrases, false)
}

// opening is the passage of a memory in which no word of the query stands.
func opening(t store.Text) passage {
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
