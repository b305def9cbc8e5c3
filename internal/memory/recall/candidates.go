package recall

import (
	"context"
	"sync"

	"ambry.dev/ambry/internal/memory/store"
)

// candidate is a memory that the index gave, and whether it has all words.
type candidate struct {
	store.Candidate
	all bool
}

// candidates asks the index for memories with all words; if these are few, for
// those with some; and if these are few too, for those with the common words that
// were left out. It also counts the matches, of the last question it asked.
func (r *Recall) candidates(ctx context.Context, a asked, limit int) ([]candidate, int, error) {
	if len(a.units) == 0 && len(a.prefix) == 0 && a.unfiltered() {
		return nil, 0, nil
	}
	matches, err := r.matches(ctx, a)
	if err != nil {
		return nil, 0, err
	}
	var last store.Match
	out := make([]candidate, 0, maxCandidates)
	seen := make(map[int64]bool, maxCandidates)
	for i, m := range matches {
		if i > 0 && len(out) >= limit {
			break
		}
		last = m
		found, err := r.store.Candidates(ctx, m, maxCandidates)
		if err != nil {
			return nil, 0, err
		}
		for _, c := range found {
			if !seen[c.Row] {
				out, seen[c.Row] = append(out, candidate{Candidate: c, all: len(m.All) > 0}), true
			}
		}
	}
	total := len(out)
	if total >= maxCandidates && a.filter.After.IsZero() && a.filter.Before.IsZero() {
		if total, err = r.store.Count(ctx, last, maxTotal); err != nil {
			return nil, 0, err
		}
	}
	return out, total, nil
}

// matches lists what to ask the index for, until there is enough. Common words
// are asked for only when fewer than two rarer ones remain, and then only among
// the latest of their many matches: which of these says a word once more does
// not matter. In a small memory no word is common.
func (r *Recall) matches(ctx context.Context, a asked) ([]store.Match, error) {
	rare, err := r.rare(ctx, a.units)
	if err != nil {
		return nil, err
	}
	all := a
	if len(rare) >= 2 {
		all.units = rare
	}
	out := []store.Match{all.all()}
	if len(rare) == 0 && len(a.units) > 0 {
		out[0].Latest = maxScored
	}
	some := a
	some.units = rare
	if some.hasMore() || len(rare) < len(all.units) && len(rare) > 0 {
		out = append(out, some.any())
	}
	if len(rare) < len(a.units) && len(a.units) > 1 {
		any := a.any()
		any.Latest = maxScored
		out = append(out, any)
	}
	return out, nil
}

// hasMore reports whether asking for any of the words can find more than asking
// for all of them.
func (a asked) hasMore() bool {
	return len(a.units) > 1 || len(a.prefix) > 0 || len(a.units) == 1 && len(a.units[0].parts) > 0
}

// rare returns the units, and their parts, that are not common.
func (r *Recall) rare(ctx context.Context, units []unit) ([]unit, error) {
	h, err := r.store.Health(ctx)
	if err != nil || h.Memories < commonFrom {
		return units, err
	}
	var out []unit
	for _, u := range units {
		common, err := r.isCommon(ctx, u.term, h.Memories)
		if err != nil {
			return nil, err
		}
		if common {
			continue
		}
		parts := u.parts
		u.parts = nil
		for _, p := range parts {
			if common, err = r.isCommon(ctx, p, h.Memories); err != nil {
				return nil, err
			}
			if !common {
				u.parts = append(u.parts, p)
			}
		}
		out = append(out, u)
	}
	return out, nil
}

// frequencies remembers in how many memories a word is. It is guarded by mu.
type frequencies struct {
	mu    sync.Mutex
	known map[string]int64
	total int64 // memories when it was started
}

// maxFrequencies bounds the words that are remembered.
const maxFrequencies = 4096

// isCommon reports whether a term is in more than a tenth of all memories. What
// it found is good enough until the memory has grown by a quarter.
func (r *Recall) isCommon(ctx context.Context, term string, total int64) (bool, error) {
	f := &r.common
	f.mu.Lock()
	if f.known == nil || len(f.known) >= maxFrequencies || total > f.total+f.total/4 {
		f.known, f.total = map[string]int64{}, total
	}
	n, ok := f.known[term]
	f.mu.Unlock()
	if ok {
		return n > total/commonFraction, nil
	}
	counted, err := r.store.Count(ctx, store.Match{Any: []string{term}, Filter: store.Filter{Archived: true}}, int(total/commonFraction)+1)
	if err != nil {
		return false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known[term] = int64(counted)
	return int64(counted) > total/commonFraction, nil
}
