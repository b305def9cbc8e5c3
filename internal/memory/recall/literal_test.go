package recall_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ambry.dev/ambry"
)

func TestTextsAreReadForPatterns(t *testing.T) {
	r, s := open(t)
	var ids []string
	for i := range 300 {
		ids = append(ids, add(t, s, fmt.Sprintf("step %d took %d ms in pool/Client_v%d.go", i, 7*i, i), now.Add(time.Duration(i)*time.Minute)))
	}
	for _, c := range []struct {
		name  string
		query ambry.Query
		want  []string
	}{
		{"part of a word", ambry.Query{Query: "lient_v17.g", Mode: ambry.ModeSubstring}, ids[17:18]},
		{"whatever the case", ambry.Query{Query: "POOL/CLIENT_V17.GO", Mode: ambry.ModeSubstring}, ids[17:18]},
		{"words inside", ambry.Query{Query: "p 17 took 119 ms i", Mode: ambry.ModeSubstring}, ids[17:18]},
		{"no operator", ambry.Query{Query: "agent:codex", Mode: ambry.ModeSubstring}, nil},
		{"regular expression", ambry.Query{Query: `took (7|14) ms`, Mode: ambry.ModeRegex}, []string{ids[2], ids[1]}},
		{"with a beginning", ambry.Query{Query: `step 29\d took`, Mode: ambry.ModeRegex, Limit: 2}, []string{ids[299], ids[298]}},
		{"in a time", ambry.Query{Query: `v1\d\.go`, Mode: ambry.ModeRegex, Before: now.Add(12 * time.Minute)}, []string{ids[11], ids[10]}},
	} {
		a := search(t, r, c.query)
		var got []string
		for _, h := range a.Hits {
			got = append(got, h.ID)
			if len(h.Highlights) != 1 || h.Why["phrase"] == 0 {
				t.Errorf("%s: %+v", c.name, h)
			}
		}
		if a.Incomplete {
			t.Skip("this machine is too slow to read 300 notes")
		}
		if strings.Join(got, " ") != strings.Join(c.want, " ") {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	for _, q := range []ambry.Query{{Query: "(", Mode: ambry.ModeRegex}, {Query: strings.Repeat("a", 2000), Mode: ambry.ModeRegex}, {Query: "a", Mode: "glob"}} {
		if _, err := r.Search(t.Context(), q); ambry.KindOf(err) != ambry.InvalidArgument {
			t.Errorf("%.20q as %s: got %v", q.Query, q.Mode, err)
		}
	}
}

func TestOperatorsOfAQuery(t *testing.T) {
	r, s := open(t)
	noted := func(n ambry.Note) string {
		m, err := s.Add(t.Context(), n, "")
		if err != nil {
			t.Fatal(err)
		}
		return m.ID
	}
	policy := noted(ambry.Note{Content: "retry the upload twice", Layer: ambry.L2})
	fact := noted(ambry.Note{Content: "the upload is in net/up_load.go", Layer: ambry.L3, Tags: []string{"net"}})
	for query, want := range map[string]string{
		"upload layer:L2":            policy,
		"upload layer:l3":            fact,
		"upload tag:net":             fact,
		"upload path:net/up_load.go": fact,
		"path:NET/up_load.go":        fact,
	} {
		a := search(t, r, ambry.Query{Query: query})
		if len(a.Hits) != 1 || a.Hits[0].ID != want {
			t.Errorf("%s: got %+v", query, a.Hits)
		}
	}
}
