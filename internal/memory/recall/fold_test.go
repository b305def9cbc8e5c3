package recall

import (
	"slices"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
)

func TestOneMemoryOfEachTurnComesFirst(t *testing.T) {
	memory := func(id, turn string, rule ambry.Rule, score float64) ranked {
		r := ranked{score: score, text: &store.Text{}}
		r.text.ID, r.text.TurnID, r.text.Rule = id, turn, rule
		if rule == "" {
			r.text.Said = []store.Said{{Text: "said"}}
		}
		return r
	}
	for name, tt := range map[string]struct {
		best []ranked
		want []string
	}{
		"nothing was learned":              {[]ranked{memory("a", "1", "", 3), memory("b", "2", "", 2)}, []string{"a", "b"}},
		"what was learned goes first":      {[]ranked{memory("l", "1", ambry.Fact, 3), memory("a", "1", "", 3), memory("b", "2", "", 2)}, []string{"l", "b", "a"}},
		"what was learned says less":       {[]ranked{memory("a", "1", "", 3), memory("b", "2", "", 2), memory("l", "1", ambry.Fact, 1)}, []string{"a", "b", "l"}},
		"its turn is not found":            {[]ranked{memory("l", "9", ambry.Fact, 3), memory("a", "1", "", 2.5), memory("b", "2", "", 2)}, []string{"a", "l", "b"}},
		"words said twice seem less rare":  {[]ranked{memory("a", "1", "", 3), memory("b", "2", "", 2.9), memory("l", "2", ambry.Fact, 2)}, []string{"b", "a", "l"}},
		"but not by so much":               {[]ranked{memory("a", "1", "", 3), memory("b", "2", "", 2.8), memory("l", "2", ambry.Fact, 2)}, []string{"a", "b", "l"}},
		"several of one turn count for it": {[]ranked{memory("a", "1", "", 3), memory("b", "2", "", 2.8), memory("l", "2", ambry.Fact, 2), memory("m", "2", ambry.Fact, 1)}, []string{"a", "b", "l", "m"}},
	} {
		var got []string
		for _, r := range folded(tt.best) {
			got = append(got, r.text.ID)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}
