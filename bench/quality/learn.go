package main

import (
	"math"
	"math/rand/v2"
)

// How weights are learned: LambdaRank (Burges 2010) with a linear model, by
// gradient steps over the questions in an order that is the same every time.
const (
	epochs    = 60
	firstStep = 0.05
	decay     = 0.3   // of the step, by epoch
	shrink    = 0.002 // how much weights are drawn to 0
	bySession = 0.5   // how much the order of sessions counts
)

// learn returns n weights that order samples well.
func learn(samples []sample, n int) []float64 {
	spread := spreads(samples, n)
	weights := make([]float64, n)
	steps := rand.New(rand.NewPCG(7, 7))
	scaled := make([]float64, n)
	for epoch := range epochs {
		step := firstStep / (1 + decay*float64(epoch))
		for _, i := range steps.Perm(len(samples)) {
			s := &samples[i]
			for k := range scaled {
				scaled[k] = weights[k] / spread[k]
			}
			pull := s.pull(scaled)
			for k := range weights {
				weights[k] += step * importance[s.set] * (pull[k]/spread[k] - shrink*weights[k])
			}
		}
	}
	for k := range weights {
		weights[k] /= spread[k]
	}
	return weights
}

// spreads returns the standard deviation of each sign.
func spreads(samples []sample, n int) []float64 {
	mean, out, count := make([]float64, n), make([]float64, n), 0.0
	each := func(do func(k int, v float64)) {
		for _, s := range samples {
			for _, signs := range s.signs {
				for k, v := range signs {
					do(k, v)
				}
			}
		}
	}
	for _, s := range samples {
		count += float64(len(s.signs))
	}
	each(func(k int, v float64) { mean[k] += v / count })
	each(func(k int, v float64) { out[k] += (v - mean[k]) * (v - mean[k]) / count })
	for k := range out {
		out[k] = math.Sqrt(out[k]) + 1e-6
	}
	return out
}

// pull is the direction in which weights order a sample better: for every pair of
// a right turn and a wrong one, by how much nDCG would change if they changed
// places.
func (s *sample) pull(weights []float64) []float64 {
	out := make([]float64, len(weights))
	scores, order := s.scores(weights), s.order(weights)
	place := make([]int, len(order))
	for p, i := range order {
		place[i] = p
	}
	ideal, right := 0.0, 0.0
	for i := range min(len(s.question.want), 10) {
		ideal += discount(i)
	}
	for _, r := range s.right {
		if r {
			right++
		}
	}
	lambda := make([]float64, len(order))
	push := func(better, worse int, gain float64) {
		v := gain / (1 + math.Exp(scores[better]-scores[worse]))
		lambda[better] += v
		lambda[worse] -= v
	}
	for i, yes := range s.right {
		for j, also := range s.right {
			if yes && !also {
				push(i, j, math.Abs(discount(place[i])-discount(place[j]))/ideal/right)
			}
		}
	}
	s.pushSessions(order, push)
	for i, signs := range s.signs {
		if lambda[i] != 0 {
			for k, v := range signs {
				out[k] += lambda[i] * v
			}
		}
	}
	return out
}

// pushSessions does the same for sessions, which stand where their best turn is.
func (s *sample) pushSessions(order []int, push func(better, worse int, gain float64)) {
	var best []int
	known, wanted := map[string]bool{}, map[string]bool{}
	for _, name := range s.wantSessions {
		wanted[name] = true
	}
	first := -1
	for _, i := range order {
		if name := s.sessions[i]; !known[name] {
			known[name] = true
			if wanted[name] && first < 0 {
				first = len(best)
			}
			best = append(best, i)
		}
	}
	if first < 0 {
		return
	}
	for p, i := range best {
		if !wanted[s.sessions[i]] {
			push(best[first], i, bySession*math.Abs(discount(first)-discount(p)))
		}
	}
}
