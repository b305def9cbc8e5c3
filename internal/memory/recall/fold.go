package recall

import (
	"cmp"
	"slices"
	"time"

	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/memory/words"
)

// What was learned from a turn says in few words what the turn says in many, so
// the index thinks too much of it.
const (
	nearTrace = 0.85 // share of its turn's score at which it goes before the turn
	noTrace   = 0.75 // what its score counts if its turn was not found

	// saidTwice makes up for what a turn loses by it: its words stand in two
	// memories, so they count as less rare.
	saidTwice = 1.05
)

// folded puts one memory of each turn first: the turn itself, or what was learned
// from it, in the place of the turn. The others of the turn say nothing new, so
// they go to the end, where they show only if there is room.
func folded(best []ranked) []ranked {
	type turn struct {
		agent, session int64
		id             string
	}
	of := func(r *ranked) turn {
		return turn{r.text.In.Agent, r.text.In.Session, r.text.TurnID}
	}
	isTrace := func(r *ranked) bool { return len(r.text.Said) > 0 }
	traces, twice, learned := map[turn]int{}, map[turn]bool{}, 0
	for i := range best {
		if isTrace(&best[i]) {
			traces[of(&best[i])] = i
		} else if best[i].text.Rule != "" {
			learned++
			twice[of(&best[i])] = true
		}
	}
	if learned == 0 || len(traces) == 0 {
		return best
	}
	out, alone, rest := slices.Clone(best), []ranked{}, []ranked{}
	for i := range out {
		if isTrace(&out[i]) && twice[of(&out[i])] {
			out[i].score = round(saidTwice * out[i].score)
		}
	}
	for _, r := range best {
		if r.text.Rule == "" {
			continue
		}
		switch i, found := traces[of(&r)]; {
		case !found:
			r.score = round(noTrace * r.score)
			alone = append(alone, r)
		case isTrace(&out[i]) && r.score >= nearTrace*best[i].score:
			rest = append(rest, out[i])
			r.score = out[i].score
			out[i] = r
		default:
			rest = append(rest, r)
		}
	}
	kept := make([]ranked, 0, len(best))
	for i := range out {
		if best[i].text.Rule == "" {
			kept = append(kept, out[i])
		}
	}
	kept = append(kept, alone...)
	slices.SortStableFunc(kept, func(x, y ranked) int { return cmp.Compare(y.score, x.score) })
	return append(kept, rest...)
}

func learnedOf(texts []*store.Text) int {
	n := 0
	for _, t := range texts {
		if t.Rule != "" {
			n++
		}
	}
	return n
}

// judgeApart judges what was said as if nothing had been learned from it: scores
// are shares of the best one, and short texts would make the rest look poor.
func judgeApart(c *words.Cutter, a asked, all []ranked, now time.Time) {
	judge(c, a, all, now)
	learned := false
	for i := range all {
		learned = learned || all[i].text.Rule != ""
	}
	if !learned {
		return
	}
	said, at := make([]ranked, 0, len(all)), make([]int, 0, len(all))
	best := 0.0
	for i := range all {
		if r := &all[i]; r.text.Rule == "" {
			said, at = append(said, *r), append(at, i)
			best = max(best, r.signs[byWords])
		}
	}
	if len(said) == 0 {
		return
	}
	for i := range said {
		said[i].signs[byWords] /= max(best, 1e-9)
	}
	judge(c, a, said, now)
	for i, r := range said {
		all[at[i]] = r
	}
}
