package store_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
)

// marked is a session in which each turn says one word of its own.
func marked(n int) ambry.Conversation {
	questions := make([]string, n)
	for i := range questions {
		questions[i] = fmt.Sprintf("mark%c", 'a'+i)
	}
	return talk("one", questions...)
}

// foundBy returns the titles that each word finds, with what is said around them.
func foundBy(t *testing.T, s *store.Store, words ...string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, w := range words {
		var rows []int64
		for _, c := range candidates(t, s, store.Match{Any: []string{w}}) {
			rows = append(rows, c.Row)
		}
		texts, err := s.Texts(t.Context(), rows, len(rows), 0)
		if err != nil {
			t.Fatal(err)
		}
		titles := []string{}
		for _, m := range texts {
			titles = append(titles, m.Title)
		}
		slices.Sort(titles)
		out[w] = titles
	}
	return out
}

// TestNeighboursAreIndexed finds a turn by what was said around it, in whatever
// order and pieces its session was imported.
func TestNeighboursAreIndexed(t *testing.T) {
	want := map[string][]string{
		"marka": {"marka", "markb", "markc"},
		"markc": {"marka", "markb", "markc", "markd", "marke"},
		"markg": {"marke", "markf", "markg"},
	}
	all := marked(7)
	pieces := func(order ...int) []ambry.Conversation {
		var out []ambry.Conversation
		for _, i := range order {
			c := all
			c.Turns = all.Turns[i : i+1]
			out = append(out, c)
		}
		return out
	}
	for _, c := range []struct {
		name   string
		pieces []ambry.Conversation
	}{
		{"at once", []ambry.Conversation{all}},
		{"turn by turn", pieces(0, 1, 2, 3, 4, 5, 6)},
		{"from the end", pieces(6, 5, 4, 3, 2, 1, 0)},
		{"mixed", pieces(3, 0, 6, 2, 5, 1, 4)},
		{"twice", append(pieces(3, 1, 2, 0), all, all)},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "memory.db")
			s, shut := openAt(t, path)
			for _, p := range c.pieces {
				mustImport(t, s, p)
			}
			if diff := cmp.Diff(want, foundBy(t, s, "marka", "markc", "markg")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			before := candidates(t, s, store.Match{Any: []string{"markc"}})
			if err := s.Rebuild(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, candidates(t, s, store.Match{Any: []string{"markc"}})); diff != "" {
				t.Errorf("rebuilt (-before +after):\n%s", diff)
			}
			if own := candidates(t, s, store.Match{Any: []string{"markc"}, Own: true}); len(own) != 1 {
				t.Errorf("%d memories say the word themselves, want 1", len(own))
			}
			shut()
			verify(t, path)
		})
	}
}

func TestNeighboursOfWhatChanged(t *testing.T) {
	s := open(t)
	c := marked(3)
	mustImport(t, s, c)
	c.Turns[1].Messages[0].Text = "other"
	c.Turns[1].Messages[1].Text = "Answer to: other"
	mustImport(t, s, c)
	want := map[string][]string{"markb": {}, "other": {"marka", "markc", "other"}}
	if diff := cmp.Diff(want, foundBy(t, s, "markb", "other")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNeighboursForget makes sure that nothing finds the words of a turn that was
// forgotten, and that those around it are neighbours now.
func TestNeighboursForget(t *testing.T) {
	s := open(t)
	mustImport(t, s, marked(4))
	rows := candidates(t, s, store.Match{Any: []string{"markb"}, Own: true})
	texts, err := s.Texts(t.Context(), []int64{rows[0].Row}, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Forget(t.Context(), texts[0].ID, ""); err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"markb": {}, "marka": {"marka", "markc", "markd"}}
	if diff := cmp.Diff(want, foundBy(t, s, "markb", "marka")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNeighboursOfOthers keeps sessions apart, and long turns for themselves.
func TestNeighboursOfOthers(t *testing.T) {
	s := open(t)
	var long strings.Builder
	for i := range 400 {
		fmt.Fprintf(&long, "word%c%c%c ", 'a'+i%26, 'a'+i/26, 'a'+i%7)
	}
	mustImport(t, s, talk("one", "marka", long.String()+" markb"), talk("two", "markc"))
	found := foundBy(t, s, "marka", "markc")
	if diff := cmp.Diff(map[string][]string{"marka": {"marka"}, "markc": {"markc"}}, found); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDaysAreInTheIndex finds what happened in some days, also without a word.
func TestDaysAreInTheIndex(t *testing.T) {
	s := open(t)
	for _, at := range []int{0, 1, 8, 40, 400} {
		_, err := s.Add(t.Context(), ambry.Note{Content: fmt.Sprint("after days ", at), CreatedAt: day.AddDate(0, 0, at)}, "")
		if err != nil {
			t.Fatal(err)
		}
	}
	begins := day.Truncate(24 * 60 * 60 * 1e9)
	for _, c := range []struct{ days, want int }{{1, 1}, {2, 2}, {30, 3}, {100, 4}, {500, 5}} {
		found := candidates(t, s, store.Match{During: store.Days{From: begins, To: begins.AddDate(0, 0, c.days)}})
		if len(found) != c.want {
			t.Errorf("%d days: found %d, want %d", c.days, len(found), c.want)
		}
	}
}
