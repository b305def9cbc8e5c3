package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"ambry.dev/ambry/internal/memory/recall"
)

// What is tried for a model: how much its sign counts always, and how much more
// when the words of a question are nowhere.
var (
	meaningWeights = []float64{0, 0.15, 0.3}
	meaningUnsaid  = []float64{0, 8, 12, 20, 30}
)

// fitMeaning measures the sets with all these numbers. Words alone are the first
// line; what is chosen goes into recall/meaning.json by hand.
func fitMeaning(ctx context.Context, w io.Writer, o options) error {
	o.half = fit
	for _, s := range sets {
		if importance[s.name] == 0 || len(o.sets) > 0 && !slices.Contains(o.sets, s.name) || s.public && o.data == "" {
			continue
		}
		corpora, err := s.load(o)
		if err != nil {
			return fmt.Errorf("load %s: %w", s.name, err)
		}
		fmt.Fprintf(w, "%s\n  %6s %6s %7s %7s %7s\n", s.name, "weight", "unsaid", "R@10", "nDCG@10", "MRR")
		for _, weight := range meaningWeights {
			for _, unsaid := range meaningUnsaid {
				for i := range corpora {
					corpora[i].model, corpora[i].fit = o.model, &recall.Fit{Weight: weight, Unsaid: unsaid}
				}
				r, err := measure(ctx, s.name, corpora)
				if err != nil {
					return fmt.Errorf("measure %s: %w", s.name, err)
				}
				t := r.group(all)
				fmt.Fprintf(w, "  %6.1f %6.1f %7.1f %7.1f %7.1f\n", weight, unsaid, t.percent(t.r10), t.percent(t.ndcg10), t.percent(t.mrr))
			}
		}
	}
	return nil
}
