package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
)

// TestTextsAreThoseThatFit reads many memories, some of which were forgotten, and
// compares them with what comes of reading one after the other.
func TestTextsAreThoseThatFit(t *testing.T) {
	s := open(t)
	var ids []string
	for i := range 40 {
		m, err := s.Add(t.Context(), ambry.Note{Content: fmt.Sprintf("common number%d %s", i, strings.Repeat("more ", i*7%50))}, "")
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, m.ID)
	}
	var rows []int64
	for _, c := range candidates(t, s, store.Match{Any: []string{"common"}}) {
		rows = append(rows, c.Row)
	}
	for _, i := range []int{3, 11, 12, 30} {
		if _, err := s.Forget(t.Context(), ids[i], ""); err != nil {
			t.Fatal(err)
		}
	}
	one := map[int64]store.Text{}
	for _, row := range rows {
		texts, err := s.Texts(t.Context(), []int64{row}, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			one[row] = text
		}
	}
	if len(rows) != 40 || len(one) != 36 {
		t.Fatalf("%d rows, of which %d are left", len(rows), len(one))
	}
	for _, least := range []int{0, 1, 15, 16, 25, 36, 38, 40, 100} {
		for _, budget := range []int{0, 500, 1500, 2500, 3500, 1 << 20} {
			var want []string
			rest := budget
			for _, row := range rows {
				text, ok := one[row]
				if !ok {
					continue
				}
				if rest -= len(text.Body); rest < 0 && len(want) >= least {
					break
				}
				want = append(want, text.ID)
			}
			texts, err := s.Texts(t.Context(), rows, least, budget)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, text := range texts {
				got = append(got, text.ID)
			}
			if !slices.Equal(got, want) {
				t.Errorf("at least %d, %d bytes: got %d memories, not %d, or others", least, budget, len(got), len(want))
			}
		}
	}
}

// TestWhatIsForgottenAfterAGlanceIsNotDescribed forgets one of several memories
// between the two.
func TestWhatIsForgottenAfterAGlanceIsNotDescribed(t *testing.T) {
	s := open(t)
	mustImport(t, s, marked(4))
	var rows []int64
	for _, mark := range []string{"marka", "markb", "markc"} {
		rows = append(rows, candidates(t, s, store.Match{Any: []string{mark}, Own: true})[0].Row)
	}
	seen, err := s.Glance(t.Context(), rows, len(rows), 0)
	if err != nil || len(seen) != 3 {
		t.Fatalf("got %d memories and error %v", len(seen), err)
	}
	whole, err := s.Texts(t.Context(), rows, len(rows), 0)
	if err != nil || len(whole) != 3 {
		t.Fatalf("got %d memories and error %v", len(whole), err)
	}
	if _, err := s.Forget(t.Context(), whole[1].ID, ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Describe(t.Context(), seen); err != nil {
		t.Fatal(err)
	}
	if seen[1].ID != "" {
		t.Errorf("what was forgotten has the id %q", seen[1].ID)
	}
	for i, at := range []int{0, 2} {
		if diff := cmp.Diff(whole[at], *seen[at], cmpopts.IgnoreUnexported(store.Said{})); diff != "" {
			t.Errorf("memory %d, both at once and one after the other (-want +got):\n%s", i, diff)
		}
	}
}
