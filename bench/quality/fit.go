package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"ambry.dev/ambry/internal/memory/recall"
)

// candidates is how many hits of a question are ordered anew while weights are
// tried.
const candidates = 100

// sample is a question with what the memory looked at closely.
type sample struct {
	question question
	turns    []string
	sessions []string    // by turn
	want     []string    // sessions
	signs    [][]float64 // by turn; what a weight is multiplied with
}

// importance of the sets in what is made as large as possible.
var importance = map[string]float64{"own": 0.5, "locomo": 0.3, "beam": 0.2}

// fitWeights looks for the weights of the second stage that order the hits of
// the given sets best, and prints them. It turns one weight after the other
// until none gets better.
func fitWeights(ctx context.Context, w io.Writer, o options) error {
	o.half = fit
	names := slices.Sorted(maps.Keys(recall.Weights()))
	samples := map[string][]sample{}
	for _, s := range sets {
		if importance[s.name] == 0 || len(o.sets) > 0 && !slices.Contains(o.sets, s.name) || s.public && o.data == "" {
			continue
		}
		corpora, err := s.load(o)
		if err != nil {
			return fmt.Errorf("load %s: %w", s.name, err)
		}
		for _, c := range corpora {
			c.model = o.model
			some, err := samplesOf(ctx, c, names)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			samples[s.name] = append(samples[s.name], some...)
		}
	}
	weights := make([]float64, len(names))
	for i, name := range names {
		weights[i] = recall.Weights()[name]
	}
	fmt.Fprintf(w, "before: %.4f\n", worth(samples, weights))
	describe(w, samples, weights)
	ascend(samples, names, weights, slices.Index(names, "words"))
	fmt.Fprintf(w, "after:  %.4f\n", worth(samples, weights))
	describe(w, samples, weights)
	for i, name := range names {
		fmt.Fprintf(w, "  %-10s %6.3f (was %.3f)\n", name, weights[i], recall.Weights()[name])
	}
	return nil
}

// describe prints what weights give for each set, and the share of the evidence
// that is among what was looked at.
func describe(w io.Writer, samples map[string][]sample, weights []float64) {
	for _, set := range slices.Sorted(maps.Keys(samples)) {
		there := 0.0
		t, sessions := measured(samples[set], weights)
		for _, s := range samples[set] {
			n := 0
			for _, id := range s.question.want {
				if slices.Contains(s.turns, id) {
					n++
				}
			}
			there += float64(n) / float64(len(s.question.want))
		}
		fmt.Fprintf(w, "  %-8s %5d R@1 %.1f R@10 %.1f nDCG@10 %.1f MRR %.1f, looked at %.1f, stale first %d of %d, sessions hit@1 %.1f hit@5 %.1f\n",
			set, t.n, t.percent(t.r1), t.percent(t.r10), t.percent(t.ndcg10), t.percent(t.mrr), 100*there/float64(len(samples[set])), t.outranked, t.stale, sessions.percent(sessions.hit1), sessions.percent(sessions.hit5))
	}
}

// steps are what a weight is multiplied with.
var steps = []float64{0, 0.5, 0.7, 0.85, 1.15, 1.35, 1.7, 2.5}

// ascend changes all weights but one, which gives the scale, and that of fresh,
// which is no share of anything.
func ascend(samples map[string][]sample, names []string, weights []float64, fixed int) {
	best := worth(samples, weights)
	for better := true; better; {
		better = false
		for i := range weights {
			if i == fixed || names[i] == "fresh" {
				continue
			}
			was, kept := weights[i], weights[i]
			for _, s := range steps {
				weights[i] = was * s
				if v := worth(samples, weights); v > best+1e-5 {
					best, kept, better = v, weights[i], true
				}
			}
			weights[i] = kept
		}
	}
}

// worth is what is made as large as possible: half recall at 10, half nDCG, less
// something for each old value before the new one. Where sessions are measured,
// they count for two thirds.
func worth(samples map[string][]sample, weights []float64) float64 {
	total, parts := 0.0, 0.0
	for _, set := range slices.Sorted(maps.Keys(samples)) {
		t, sessions := measured(samples[set], weights)
		v := (t.r10 + t.ndcg10) / 2 / float64(t.n)
		if set == "locomo" {
			v = (v + 2*(sessions.hit1+sessions.hit5)/2/float64(sessions.n)) / 3
		}
		if t.stale > 0 {
			v -= 0.2 * float64(t.outranked) / float64(t.stale)
		}
		total, parts = total+importance[set]*v, parts+importance[set]
	}
	return total / math.Max(parts, 1e-9)
}

// measured scores turns and sessions as measure does.
func measured(samples []sample, weights []float64) (turns, sessions tally) {
	for _, s := range samples {
		places := s.order(weights)
		var ids, names []string
		for _, p := range places {
			ids = append(ids, s.turns[p])
			if !slices.Contains(names, s.sessions[p]) {
				names = append(names, s.sessions[p])
			}
		}
		if s.question.kind != adversarial {
			turns.add(ids[:min(len(ids), hitsOfTurns)], s.question.want, s.question.stale)
		}
		sessions.add(names, s.want, nil)
	}
	return turns, sessions
}

// order ranks the turns of a sample.
func (s sample) order(weights []float64) []int {
	scores := make([]float64, len(s.turns))
	places := make([]int, len(s.turns))
	for i, signs := range s.signs {
		places[i] = i
		for j, v := range signs {
			scores[i] += weights[j] * v
		}
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return places
}

// samplesOf asks the questions of a corpus that have an answer.
func samplesOf(ctx context.Context, c corpus, names []string) ([]sample, error) {
	a, shut, err := newAsker(ctx, c)
	if err != nil {
		return nil, err
	}
	defer shut()
	weights := recall.Weights()
	session := c.sessionByTurn()
	var out []sample
	for _, q := range c.questions {
		query := q.query
		query.Limit = candidates
		answer, err := a.engine.Search(ctx, query)
		if err != nil {
			return nil, err
		}
		if len(q.want) == 0 {
			continue
		}
		s := sample{question: q}
		for _, turn := range q.want {
			s.want = append(s.want, session[turn])
		}
		for _, h := range answer.Hits {
			turn, err := a.turn(ctx, h.ID)
			if err != nil {
				return nil, err
			}
			if slices.Contains(s.turns, turn) {
				continue
			}
			signs := make([]float64, len(names))
			for i, name := range names {
				if weights[name] != 0 {
					signs[i] = h.Why[name] / weights[name]
				}
			}
			s.turns, s.signs, s.sessions = append(s.turns, turn), append(s.signs, signs), append(s.sessions, h.SessionID)
		}
		out = append(out, s)
	}
	return out, nil
}
