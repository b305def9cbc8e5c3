package recall

import (
	"strings"
	"testing"
)

func TestWeightsAreOfAllSignsAndNoOthers(t *testing.T) {
	if _, err := ParseWeights(fitted); err != nil {
		t.Error(err)
	}
	for name, text := range map[string]string{
		"no JSON":      "words",
		"one missing":  strings.Replace(string(fitted), `"words"`, `"word"`, 1),
		"one too many": strings.Replace(string(fitted), "{", `{"more": {"weight": 1, "short": 0},`, 1),
	} {
		if _, err := ParseWeights([]byte(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestOtherFormsOfAWord(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"rechnungsnummer", "rechnungsnummern", true},
		{"konfiguriert", "konfigurieren", true},
		{"mahnung", "mahnungen", true},
		{"decis", "decid", true},
		{"interest", "internet", false},
		{"contain", "continu", false},
		{"test", "testament", false},
	} {
		if got := related(c.a, []byte(c.b)); got != c.want {
			t.Errorf("%s and %s: got %v", c.a, c.b, got)
		}
	}
}

// TestSynonymsAreWords sees that every word of the list is one term, since others
// would be left out without a word.
func TestSynonymsAreWords(t *testing.T) {
	n := 0
	for line := range strings.Lines(synonymText) {
		if !strings.HasPrefix(line, "#") {
			n += len(strings.Fields(line))
		}
	}
	known := synonyms()
	if len(known) == 0 || len(known) > n {
		t.Fatalf("%d terms of %d words", len(known), n)
	}
	for term, others := range known {
		if len(others) == 0 {
			t.Errorf("%q stands alone", term)
		}
	}
	for _, pair := range [][2]string{{"delet", "remov"}, {"删除", "去掉"}, {"db", "databas"}} {
		found := false
		for _, other := range known[pair[0]] {
			found = found || other == pair[1]
		}
		if !found {
			t.Errorf("%q does not mean %q", pair[0], pair[1])
		}
	}
}
