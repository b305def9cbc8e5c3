package main

import (
	"math"
	"slices"
)

// tally sums the measures of some questions. They are defined over turns (or
// sessions) that are evidence, as shared/retrieval benchmarks do: recall at k is
// the share of a question's evidence among the first k, averaged over questions.
type tally struct {
	n                int
	r1, r5, r10      float64
	hit1, hit5       float64 // any evidence among the first
	ndcg10, mrr      float64
	stale, outranked int // questions with a stale turn; of which it came before all evidence
}

// add scores a ranking of ids, best first, each once.
func (t *tally) add(ranking, want, stale []string) {
	t.n++
	hits, gain := 0, 0.0
	first := len(ranking)
	at := [11]int{} // hits among the first so many
	for i, id := range ranking {
		if slices.Contains(want, id) {
			hits++
			first = min(first, i)
			if i < 10 {
				gain += discount(i)
			}
		}
		if i < 10 {
			at[i+1] = hits
		}
	}
	for k := min(len(ranking), 10) + 1; k < len(at); k++ {
		at[k] = hits
	}
	n := float64(len(want))
	t.r1 += float64(at[1]) / n
	t.r5 += float64(at[5]) / n
	t.r10 += float64(at[10]) / n
	t.hit1 += float64(min(at[1], 1))
	t.hit5 += float64(min(at[5], 1))
	ideal := 0.0
	for i := range min(len(want), 10) {
		ideal += discount(i)
	}
	t.ndcg10 += gain / ideal
	if first < len(ranking) {
		t.mrr += 1 / float64(first+1)
	}
	if len(stale) > 0 {
		t.stale++
		if old := slices.IndexFunc(ranking, func(id string) bool { return slices.Contains(stale, id) }); old >= 0 && old < first {
			t.outranked++
		}
	}
}

// discount is the worth of place i, counted from 0, in nDCG.
func discount(i int) float64 { return 1 / math.Log2(float64(i)+2) }

// percent is a sum as a share of the questions, in percent.
func (t *tally) percent(sum float64) float64 {
	if t.n == 0 {
		return 0
	}
	return 100 * sum / float64(t.n)
}
