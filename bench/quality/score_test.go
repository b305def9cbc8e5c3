package main

import (
	"math"
	"strings"
	"testing"
)

func TestTally(t *testing.T) {
	list := strings.Fields
	for _, c := range []struct {
		name                 string
		ranking, want, stale string
		r1, r10, ndcg, mrr   float64
		outranked            int
	}{
		{name: "first of all", ranking: "a b", want: "a", r1: 1, r10: 1, ndcg: 1, mrr: 1},
		{name: "nothing found", want: "a"},
		{name: "second", ranking: "b a", want: "a", r10: 1, ndcg: 1 / math.Log2(3), mrr: .5},
		{name: "two, one of them found", ranking: "x a", want: "a b", r10: .5, ndcg: 1 / math.Log2(3) / (1 + 1/math.Log2(3)), mrr: .5},
		{name: "both in the first places", ranking: "b a c", want: "a b", r1: .5, r10: 1, ndcg: 1, mrr: 1},
		{name: "tenth", ranking: "b c d e f g h i j a", want: "a", r10: 1, ndcg: 1 / math.Log2(11), mrr: .1},
		{name: "eleventh counts only as rank", ranking: "b c d e f g h i j k a", want: "a", mrr: 1. / 11},
		{name: "stale before fresh", ranking: "old new", want: "new", stale: "old", r10: 1, ndcg: 1 / math.Log2(3), mrr: .5, outranked: 1},
		{name: "fresh before stale", ranking: "new old", want: "new", stale: "old", r1: 1, r10: 1, ndcg: 1, mrr: 1},
		{name: "stale alone", ranking: "old", want: "new", stale: "old", outranked: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got tally
			got.add(list(c.ranking), list(c.want), list(c.stale))
			for _, m := range []struct {
				name      string
				got, want float64
			}{{"R@1", got.r1, c.r1}, {"R@10", got.r10, c.r10}, {"nDCG", got.ndcg10, c.ndcg}, {"MRR", got.mrr, c.mrr}, {"outranked", float64(got.outranked), float64(c.outranked)}} {
				if math.Abs(m.got-m.want) > 1e-9 {
					t.Errorf("%s: got %v, want %v", m.name, m.got, m.want)
				}
			}
		})
	}
}

func TestFloors(t *testing.T) {
	measured := func(found, of int) *result {
		r := &result{set: "cmrc", tally: map[string]*tally{all: {n: of, r1: float64(found)}}}
		return r
	}
	for _, c := range []struct{ found, low int }{{96, 0}, {95, 1}} {
		var out strings.Builder
		if got := printFloors(&out, []*result{measured(c.found, 100)}); got != c.low {
			t.Errorf("R@1 of %d %%: %d numbers below their floors, want %d:\n%s", c.found, got, c.low, out.String())
		}
	}
}
