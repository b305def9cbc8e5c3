package recall_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/recall"
	"ambry.dev/ambry/internal/memory/store"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func open(t testing.TB) (*recall.Recall, *store.Store) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "memory.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return recall.New(s, func() time.Time { return now }), s
}

func add(t testing.TB, s *store.Store, content string, at time.Time) string {
	t.Helper()
	m, err := s.Add(t.Context(), ambry.Note{Content: content, CreatedAt: at}, "")
	if err != nil {
		t.Fatal(err)
	}
	return m.ID
}

func search(t testing.TB, r *recall.Recall, q ambry.Query) ambry.Answer {
	t.Helper()
	a, err := r.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestOrderOfHits(t *testing.T) {
	old := now.AddDate(-1, 0, 0)
	for _, c := range []struct {
		name, query string
		notes       []string // best first
		ages        []time.Time
	}{
		{"more of the words", "parser cache timeout", []string{
			"the parser has a cache with a timeout", "the parser has a cache of its own", "the parser is fast today again",
		}, nil},
		{"together rather than apart", "flaky timeout", []string{
			"a flaky timeout was seen" + strings.Repeat(" filler", 150), "a flaky test was seen" + strings.Repeat(" filler", 149) + " and a timeout",
		}, nil},
		{"as it was said", "connection reset by peer", []string{
			"it failed: connection reset by peer", "the peer reset by another connection",
		}, nil},
		{"the identifier rather than its parts", "handleTimeout", []string{
			"func handleTimeout(ctx)", "we handle every timeout",
		}, nil},
		{"the newer of two equals", "deploy host", []string{"deploy host is beta", "deploy host is alfa"}, []time.Time{now, old}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, s := open(t)
			want := map[string]int{}
			for i := len(c.notes) - 1; i >= 0; i-- {
				at := now
				if c.ages != nil {
					at = c.ages[i]
				}
				want[add(t, s, c.notes[i], at)] = i
			}
			for i := range 30 {
				add(t, s, fmt.Sprint("something else altogether, number ", i), now)
			}
			a := search(t, r, ambry.Query{Query: c.query})
			if len(a.Hits) != len(c.notes) {
				t.Fatalf("got %d hits, want %d", len(a.Hits), len(c.notes))
			}
			for i, h := range a.Hits {
				if want[h.ID] != i {
					t.Errorf("place %d: got %q %v, want %q", i, h.Snippet, h.Why, c.notes[i])
				}
				sum := 0.0
				for _, v := range h.Why {
					sum += v
				}
				if d := sum - h.Score; d > 1e-3 || d < -1e-3 {
					t.Errorf("the parts of the score add up to %v, not %v", sum, h.Score)
				}
			}
		})
	}
}

func TestTotalCountsBeforeTheLimit(t *testing.T) {
	r, s := open(t)
	for i := range 150 {
		add(t, s, fmt.Sprint("the deployment number ", i), now)
	}
	if a := search(t, r, ambry.Query{Query: "deployment", Limit: 3}); len(a.Hits) != 3 || a.Total != 150 {
		t.Errorf("got %d hits of %d, want 3 of 150", len(a.Hits), a.Total)
	}
	if a := search(t, r, ambry.Query{Query: "deployment", Limit: 100}); len(a.Hits) != 100 {
		t.Errorf("got %d hits, want 100", len(a.Hits))
	}
}

func TestFiltersAlone(t *testing.T) {
	r, s := open(t)
	for i := range 5 {
		add(t, s, fmt.Sprint("note ", i), now.AddDate(0, 0, i))
	}
	a := search(t, r, ambry.Query{Query: "after:2026-03-03"})
	if len(a.Hits) != 3 || a.Hits[0].Title != "note 4" {
		t.Errorf("got %+v, want the three latest notes, newest first", a.Hits)
	}
}

// FuzzSearch asks for anything, in a memory of many scripts, and checks what
// whoever shows the answer relies on.
func FuzzSearch(f *testing.F) {
	r, s := open(f)
	for _, text := range []string{
		"why does handleTimeout in pool/http_client.go leak? " + strings.Repeat("long text about connections. ", 60),
		"把缓存的过期时间改成十分钟" + strings.Repeat("，解析器遇到超长的行就会崩溃", 40),
		"テストが失敗する 🚀🙏🏽 naïve Überprüfe\x1b[31m red \u202e esrever", "E0502 `buffer` <tag> & \"quotes\" 4fe2a91bc03d",
	} {
		add(f, s, text, now)
	}
	for _, q := range []string{"handleTimeout", `"long text" -red`, "缓存 崩溃", "接 agent:x", "4fe2a91", "the", `a"b:c (d) NEAR/2 *`, "\xff\x00", "after:2026"} {
		f.Add(q, 10, 100)
	}
	f.Fuzz(func(t *testing.T, text string, limit, budget int) {
		q := ambry.Query{Query: text, Limit: limit, ContextBudget: budget}
		a, err := r.Search(t.Context(), q)
		if err != nil {
			if q.Validate() == nil {
				t.Fatalf("search %q: %v", text, err)
			}
			return
		}
		if n := strings.Count(a.InjectedContext, "<"); n != 0 && n != 2 {
			t.Errorf("%d tags in %q", n, a.InjectedContext)
		}
		for _, h := range a.Hits {
			if !utf8.ValidString(h.Snippet) || len(h.Snippet) > 330 || h.Snippet == "" {
				t.Errorf("snippet %q", h.Snippet)
			}
			last := 0
			for _, r := range h.Highlights {
				if r[0] < last || r[1] <= r[0] || r[1] > len(h.Snippet) || !utf8.ValidString(h.Snippet[r[0]:r[1]]) {
					t.Errorf("highlights %v of %q", h.Highlights, h.Snippet)
					break
				}
				last = r[1]
			}
		}
	})
}
