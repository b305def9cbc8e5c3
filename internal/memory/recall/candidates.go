package recall

import (
	"context"
	"math"
	"sync"

	"ambry.dev/ambry/internal/memory/store"
)

// candidates asks the index for memories that have any of the words, best first,
// and counts the matches. Parts of identifiers and common words are asked for
// when the others find little.
func (r *Recall) candidates(ctx context.Context, a asked, limit int) ([]store.Candidate, total, error) {
	if len(a.units) == 0 && len(a.prefix) == 0 && a.unfiltered() && a.window.From.IsZero() {
		return nil, total{}, nil
	}
	found := pool{best: make([]store.Candidate, 0, maxCandidates+maxNear), known: make(map[int64]bool, maxCandidates)}
	if a.window.Days() > 0 {
		m := a.any()
		m.During = store.Days{From: a.window.From, To: a.window.To}
		if err := found.ask(ctx, r.store, m, maxInWindow, 1); err != nil {
			return nil, total{}, err
		}
		if len(found.best) < maxInWindow && a.window.Days() <= maxWholeDays {
			m.Any, m.Prefix = nil, nil // it may have happened in other words
			if err := found.ask(ctx, r.store, m, maxInWindow-len(found.best), 1); err != nil {
				return nil, total{}, err
			}
		}
	}
	if len(a.units) == 0 && len(a.prefix) == 0 && a.unfiltered() {
		return found.best, total{n: len(found.best)}, nil
	}
	counts := 1.0
	for _, m := range r.matches(a) {
		if counts < 1 && len(found.best) >= limit {
			break
		}
		if err := found.ask(ctx, r.store, m, maxCandidates, counts); err != nil {
			return nil, total{}, err
		}
		counts = partGain
	}
	found.matching.n = max(len(found.best), found.matching.n)
	return found.best, found.matching, nil
}

// pool gathers what several questions to the index find.
type pool struct {
	best     []store.Candidate
	known    map[int64]bool
	matching total   // of the last question
	top      float64 // the best score
}

// ask asks for n more. What is found counts as it scores, or so much less than
// what was found before, whose scores are of another question.
func (p *pool) ask(ctx context.Context, s *store.Store, m store.Match, n int, counts float64) error {
	found, err := s.Candidates(ctx, m, n)
	if err != nil {
		return err
	}
	scale := 1.0
	if counts < 1 && p.top > 0 && len(found.Best) > 0 {
		scale = counts * p.top / max(found.Best[0].Score, 1e-9)
	}
	for _, c := range found.Best {
		c.Score *= scale
		p.top = max(p.top, c.Score)
		if !p.known[c.Row] {
			p.best, p.known[c.Row] = append(p.best, c), true
		}
	}
	p.matching = total{n: found.Total, atLeast: found.AtLeast}
	return nil
}

// matches lists what to ask the index for, until there is enough.
func (r *Recall) matches(a asked) []store.Match {
	out := []store.Match{a.any()}
	for _, u := range a.units {
		if len(u.parts) > 0 {
			return append(out, a.parts())
		}
	}
	return out
}

// weigh tells how much each unit says: the rarer it is in this memory, the more.
func (r *Recall) weigh(ctx context.Context, a *asked) error {
	memories := r.store.Indexed()
	var terms []string
	for _, u := range a.units {
		terms = append(append(terms, u.term), u.parts...)
	}
	known, err := r.frequencies(terms, memories)
	if err != nil {
		return err
	}
	for i := range a.units {
		u := &a.units[i]
		u.known, u.weight = known[0], rarity(known[0], memories)
		if u.weak {
			u.weight *= weakPair
		}
		a.weight += u.weight
		kept := u.parts[:0:0]
		for i, p := range u.parts {
			if !isCommon(known[1+i], memories) {
				kept = append(kept, p)
			}
		}
		known, u.parts = known[1+len(u.parts):], kept
	}
	return r.spell(ctx, a, memories)
}

// rarity is the weight of a word that is in n of total memories, as in BM25.
func rarity(n, total int64) float64 {
	return math.Log1p((float64(total-min(n, total)) + 0.5) / (float64(n) + 0.5))
}

func isCommon(n, total int64) bool { return total >= commonFrom && n > total/commonFraction }

// frequencies remembers in how many memories a word is. It is guarded by mu.
type frequencies struct {
	mu    sync.Mutex
	known map[string]int64
	total int64 // memories when it was started
}

// maxFrequencies bounds the words that are remembered.
const maxFrequencies = 4096

// frequencies tells in how many memories each of some terms is. What it found is good
// enough until the memory has grown by a quarter.
func (r *Recall) frequencies(terms []string, total int64) ([]int64, error) {
	f := &r.common
	out := make([]int64, len(terms))
	var unknown []string
	var places []int
	f.mu.Lock()
	if f.known == nil || len(f.known) >= maxFrequencies || total > f.total+f.total/4 || total < f.total {
		f.known, f.total = map[string]int64{}, total
	}
	for i, term := range terms {
		n, ok := f.known[term]
		if out[i] = n; !ok {
			unknown, places = append(unknown, term), append(places, i)
		}
	}
	f.mu.Unlock()
	if len(unknown) == 0 {
		return out, nil
	}
	counted, err := r.store.Frequencies(unknown)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, n := range counted {
		out[places[i]], f.known[unknown[i]] = int64(n), int64(n)
	}
	return out, nil
}
