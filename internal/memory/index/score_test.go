package index

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestSeveralCoresFindTheSame(t *testing.T) {
	const docs = 6000
	x, err := Open(Config{Dir: t.TempDir(), Weights: [Columns]float64{1, .5, .5, .5, 0}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	for id := range int64(docs) {
		var text strings.Builder
		for range 20 {
			fmt.Fprintf(&text, "t%d ", rng.IntN(1+rng.IntN(40)))
		}
		x.Add([]Entry{{Doc: id, At: rng.Int64N(100), Columns: [Columns]string{text.String(), "", "", "", fmt.Sprintf(".p%d ", id%3)}}}, nil)
		if id == docs/2 {
			if _, err := x.Save(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, q := range []Query{
		{Any: []string{"t0", "t1", "t2", "t30"}},
		{All: [][]string{{"t0", "t7"}, {"t1"}}, Scope: [][]string{{".p1"}}},
		{Any: []string{"t0", "t1", "t5"}, Not: [][]string{{"t2"}}, From: 20, Before: 80},
		{Scope: [][]string{{".p2"}}},
	} {
		find := func(workers int) ([]Hit, int) {
			s := &search{}
			s.begin(x, q)
			if err := s.read(); err != nil {
				t.Fatal(err)
			}
			hits, total, err := s.best(50, workers)
			if err != nil {
				t.Fatal(err)
			}
			return hits, total
		}
		want, all := find(1)
		if len(want) != 50 || all < 100 {
			t.Fatalf("%v finds %d of %d", q, len(want), all)
		}
		for _, workers := range []int{2, 3, 4} {
			if got, n := find(workers); n != all || !slices.Equal(got, want) {
				t.Errorf("%v on %d cores: %d, %v; on one: %d, %v", q, workers, n, got, all, want)
			}
		}
	}
}
