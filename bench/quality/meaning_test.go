package main

import "testing"

// The half that nothing was chosen on has to show that the built-in model is
// worth having, and that it costs nothing elsewhere: no more than one question of
// a kind.
func TestTheBuiltInModelFindsMoreAndLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("asks some hundred questions twice")
	}
	words, both := judged(t, noModel), judged(t, staticModel)
	for _, c := range []struct {
		group string
		more  float64 // points of R@10
	}{
		{all, 2},
		{"paraphrase", 5},
		{crossLingual, 1},
		{"error_string", 0},
		{"identifier", 0},
		{"path", 0},
		{"negation", 0},
		{"preference", 0},
		{"updated_fact", 0},
		{"multi_session", 0},
	} {
		before, after := recall10(words.tally[c.group]), recall10(both.tally[c.group])
		if c.more == 0 {
			c.more = -100 / float64(words.tally[c.group].n)
		}
		if after < before+c.more {
			t.Errorf("%s: R@10 is %.1f with the model and %.1f without, want at least %.1f more", c.group, after, before, c.more)
		}
	}
}

func judged(t *testing.T, name string) *result {
	t.Helper()
	by, err := embedder(name, "")
	if err != nil {
		t.Fatal(err)
	}
	corpora, err := loadOwn(options{half: judge})
	if err != nil {
		t.Fatal(err)
	}
	for i := range corpora {
		corpora[i].model = by
	}
	r, err := measure(t.Context(), "own", corpora)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
