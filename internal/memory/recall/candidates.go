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

// candidates asks the index for memories with all words, and then, if these are
// few, for those with some. It also counts the matches.
func (r *Recall) candidates(ctx context.Context, a asked, limit int) ([]candidate, int, error) {
	if len(a.units) == 0 && len(a.prefix) == 0 && a.unfiltered() {
		return nil, 0, nil
	}
	pruned, err := r.prune(ctx, a)
	if err != nil {
		return nil, 0, err
	}
	match := pruned.all()
	found, err := r.store.Candidates(ctx, match, maxCandidates)
	if err != nil {
		return nil, 0, err
	}
	out := make([]candidate, 0, maxCandidates)
	seen := make(map[int64]bool, maxCandidates)
	for _, c := range found {
		out, seen[c.Row] = append(out, candidate{Candidate: c, all: true}), true
	}
	if len(a.units) > 0 && len(found) < max(limit, enoughForAll) && pruned.hasMore() {
		match = pruned.any()
		some, err := r.store.Candidates(ctx, match, maxCandidates)
		if err != nil {
			return nil, 0, err
		}
		for _, c := range some {
			if !seen[c.Row] {
				out = append(out, candidate{Candidate: c})
			}
		}
	}
	total := len(out)
	if total >= maxCandidates && a.filter.After.IsZero() && a.filter.Before.IsZero() {
		if total, err = r.store.Count(ctx, match, maxTotal); err != nil {
			return nil, 0, err
		}
	}
	return out, total, nil
}

// hasMore reports whether asking for any of the words can find more than asking
// for all of them.
func (a asked) hasMore() bool {
	return len(a.units) > 1 || len(a.prefix) > 0 || len(a.units) == 1 && len(a.units[0].parts) > 0
}

// prune leaves common words out while two rarer ones remain. In a small memory
// nothing is gained by it.
func (r *Recall) prune(ctx context.Context, a asked) (asked, error) {
	if len(a.units) < 3 {
		return a, nil
	}
	h, err := r.store.Health(ctx)
	if err != nil || h.Memories < commonFrom {
		return a, err
	}
	var rare []unit
	for _, u := range a.units {
		n, err := r.frequency(ctx, u.term, h.Memories)
		if err != nil {
			return asked{}, err
		}
		if n <= h.Memories/commonFraction {
			rare = append(rare, u)
		}
	}
	if len(rare) >= 2 {
		a.units = rare
	}
	return a, nil
}

// frequencies remembers in how many memories a word is. It is guarded by mu.
type frequencies struct {
	mu    sync.Mutex
	known map[string]int64
	total int64 // memories when it was started
}

// maxFrequencies bounds the words that are remembered.
const maxFrequencies = 4096

// frequency returns in how many memories a term is, counting only as far as it
// matters. It is good enough for a while: until the memory has grown by a
// quarter.
func (r *Recall) frequency(ctx context.Context, term string, total int64) (int64, error) {
	f := &r.common
	f.mu.Lock()
	if f.known == nil || len(f.known) >= maxFrequencies || total > f.total+f.total/4 {
		f.known, f.total = map[string]int64{}, total
	}
	n, ok := f.known[term]
	f.mu.Unlock()
	if ok {
		return n, nil
	}
	counted, err := r.store.Count(ctx, store.Match{Any: []string{term}, Filter: store.Filter{Archived: true}}, int(total/commonFraction)+1)
	if err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known[term] = int64(counted)
	return int64(counted), nil
}
