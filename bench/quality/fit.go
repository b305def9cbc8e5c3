package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"

	"ambry.dev/ambry/internal/memory/recall"
)

// sample is a question with what the memory looked at closely.
type sample struct {
	set, half    string
	question     question
	turns        []string
	sessions     []string // by turn
	wantSessions []string
	signs        [][]float64 // by turn: each sign, then each sign times how short the memories are
	right        []bool      // by turn
}

// importance of a question of a set for the weights. Our own set is small, and
// what Ambry is for.
var importance = map[string]float64{"own": 4, "locomo": 1, "beam": 1}

// fitWeights looks for the weights of the second stage that order what was found
// best, and writes them to a file. It looks at the halves to choose weights on
// only (all of BEAM is one); how well the weights do is shown for the others too.
func fitWeights(ctx context.Context, w io.Writer, o options) error {
	text, err := os.ReadFile(o.weights)
	if err != nil {
		return err
	}
	old, err := recall.ParseWeights(text)
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(old))
	samples, err := gather(ctx, o, names)
	if err != nil {
		return err
	}
	var learned []sample
	for _, s := range samples {
		if s.half == fit {
			learned = append(learned, s)
		}
	}
	before := make([]float64, 2*len(names))
	for i, name := range names {
		before[i], before[len(names)+i] = old[name].Weight, old[name].Short
	}
	fmt.Fprintln(w, "before:")
	describe(w, samples, before)
	after := learn(learned, 2*len(names))
	fmt.Fprintln(w, "after:")
	describe(w, samples, after)
	// As far apart as before, so that what other signs weigh stays right.
	scale := apart(learned, before) / apart(learned, after)
	fitted := recall.Weights{}
	for i, name := range names {
		fitted[name] = old[name]
		if !given[name] {
			fitted[name] = recall.Weight{Weight: rounded(scale * after[i]), Short: rounded(scale * after[len(names)+i])}
		}
	}
	if text, err = json.MarshalIndent(fitted, "", "  "); err != nil {
		return err
	}
	return os.WriteFile(o.weights, append(text, '\n'), 0o644)
}

// given are signs that are not learned here: one is what a memory lacks to be
// first, one comes of the scores of others, one is what its readers said of it,
// and one is weighed for each embedding model.
var given = map[string]bool{"fresh": true, "backed": true, "uses": true, "meaning": true}

// apart is how far apart the scores of what is found for a question are.
func apart(samples []sample, weights []float64) float64 {
	total := 0.0
	for _, s := range samples {
		scores, mean, square := s.scores(weights), 0.0, 0.0
		n := float64(max(len(scores), 1))
		for _, v := range scores {
			mean += v / n
		}
		for _, v := range scores {
			square += (v - mean) * (v - mean) / n
		}
		total += math.Sqrt(square)
	}
	return total / float64(max(len(samples), 1))
}

func rounded(v float64) float64 { return math.Round(v*1000) / 1000 }

// gather asks all questions that have an answer.
func gather(ctx context.Context, o options, names []string) ([]sample, error) {
	var samples []sample
	for _, s := range sets {
		if importance[s.name] == 0 || len(o.sets) > 0 && !slices.Contains(o.sets, s.name) || s.public && o.data == "" {
			continue
		}
		corpora, err := s.load(o)
		if err != nil {
			return nil, fmt.Errorf("load %s: %w", s.name, err)
		}
		for _, c := range corpora {
			some, err := samplesOf(ctx, s.name, c, names)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			samples = append(samples, some...)
		}
	}
	return samples, nil
}

func samplesOf(ctx context.Context, set string, c corpus, names []string) ([]sample, error) {
	a, shut, err := newAsker(ctx, c)
	if err != nil {
		return nil, err
	}
	defer shut()
	session := c.sessionByTurn()
	r := recall.New(a.store, a.now)
	var out []sample
	for _, q := range c.questions {
		if len(q.want) == 0 {
			continue
		}
		examples, err := r.Examine(ctx, q.query)
		if err != nil {
			return nil, err
		}
		s := sample{set: set, half: cmp.Or(q.half, fit), question: q}
		for _, turn := range q.want {
			s.wantSessions = append(s.wantSessions, session[turn])
		}
		for _, e := range examples {
			s.add(e, names)
		}
		out = append(out, s)
	}
	return out, nil
}

// add adds what was looked at, unless its turn is there already.
func (s *sample) add(e recall.Example, names []string) {
	if slices.Contains(s.turns, e.TurnID) {
		return
	}
	signs := make([]float64, 2*len(names))
	for i, name := range names {
		if !given[name] {
			signs[i], signs[len(names)+i] = e.Signs[name], e.Short*e.Signs[name]
		}
	}
	s.turns, s.sessions, s.signs = append(s.turns, e.TurnID), append(s.sessions, e.SessionID), append(s.signs, signs)
	s.right = append(s.right, slices.Contains(s.question.want, e.TurnID))
}

// describe prints what weights give for each half of each set.
func describe(w io.Writer, samples []sample, weights []float64) {
	groups := map[string][]sample{}
	for _, s := range samples {
		groups[s.set+" "+s.half] = append(groups[s.set+" "+s.half], s)
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		var t, sessions tally
		for _, s := range groups[name] {
			var ids, of []string
			for _, p := range s.order(weights) {
				ids = append(ids, s.turns[p])
				if !slices.Contains(of, s.sessions[p]) {
					of = append(of, s.sessions[p])
				}
			}
			if s.question.kind != adversarial {
				t.add(ids[:min(len(ids), hitsOfTurns)], s.question.want, nil)
			}
			sessions.add(of, s.wantSessions, nil)
		}
		fmt.Fprintf(w, "  %-14s %5d R@1 %.1f R@10 %.1f nDCG@10 %.1f MRR %.1f, sessions hit@1 %.1f hit@5 %.1f\n",
			name, t.n, t.percent(t.r1), t.percent(t.r10), t.percent(t.ndcg10), t.percent(t.mrr), sessions.percent(sessions.hit1), sessions.percent(sessions.hit5))
	}
}

// scores of the turns of a sample.
func (s sample) scores(weights []float64) []float64 {
	out := make([]float64, len(s.turns))
	for i, signs := range s.signs {
		for k, v := range signs {
			out[i] += weights[k] * v
		}
	}
	return out
}

// order ranks the turns of a sample.
func (s sample) order(weights []float64) []int {
	scores := s.scores(weights)
	places := make([]int, len(scores))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return places
}
