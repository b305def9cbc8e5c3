package index_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ambry.dev/ambry/internal/memory/index"
)

func config(t testing.TB) index.Config {
	return index.Config{
		Dir:     t.TempDir(),
		Weights: [index.Columns]float64{1, .25, .4, .5, 0},
		Own:     [index.Columns]bool{true, true},
	}
}

// library is an index and what it should hold.
type library struct {
	*rand.Rand
	t      testing.TB
	config index.Config
	x      *index.Index
	list   map[int64]index.Segment // the owner's list of files
	gone   map[int64]bool          // likewise
	docs   map[int64]index.Entry
	next   int64
}

func newLibrary(t testing.TB, seed uint64) *library {
	c := config(t)
	x, err := index.Open(c, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := &library{
		Rand: rand.New(rand.NewPCG(seed, 1)), t: t, config: c, x: x,
		list: map[int64]index.Segment{}, gone: map[int64]bool{}, docs: map[int64]index.Entry{}, next: 1,
	}
	t.Cleanup(func() { l.x.Close() })
	return l
}

// term is one of a few dozen, the first of them often.
func (l *library) term() string {
	n := int(math.Exp(l.Float64()*4)) + l.IntN(4)
	return []string{"a", "ab", "b", "缓存", "handle_timeout"}[n%5] + fmt.Sprint(n/5)
}

func (l *library) text(n int) string {
	var out strings.Builder
	for range l.IntN(n) {
		out.WriteString(l.term() + " ")
	}
	return out.String()
}

func (l *library) entry(id int64) index.Entry {
	return index.Entry{Doc: id, At: int64(l.IntN(50)) - 10, Columns: [index.Columns]string{
		l.text(6), l.text(40), l.text(10), "day ", fmt.Sprintf(".s%d ", l.IntN(3)),
	}}
}

// change adds new documents, changes some and removes some.
func (l *library) change(n int) {
	var entries []index.Entry
	var gone []int64
	for range n {
		switch id := l.next; {
		case l.IntN(4) > 0 || len(l.docs) == 0:
			l.next += 1 + int64(l.IntN(3))
			entries = append(entries, l.entry(id))
		default:
			ids := make([]int64, 0, len(l.docs))
			for id := range l.docs {
				ids = append(ids, id)
			}
			slices.Sort(ids)
			id = ids[l.IntN(len(ids))]
			if slices.ContainsFunc(entries, func(e index.Entry) bool { return e.Doc == id }) || slices.Contains(gone, id) {
				continue
			}
			if l.IntN(2) == 0 {
				entries = append(entries, l.entry(id))
			} else {
				gone = append(gone, id)
			}
		}
	}
	l.x.Add(entries, gone)
	for _, id := range gone {
		delete(l.docs, id)
		l.gone[id] = true
	}
	for _, e := range entries {
		l.docs[e.Doc] = e
		delete(l.gone, e.Doc)
	}
}

func (l *library) save() { l.install(l.x.Save()) }

func (l *library) install(c *index.Change, err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
	if c == nil {
		return
	}
	if !l.x.Prepare(c) {
		l.t.Fatal("the files are gone")
	}
	for _, id := range c.Removed {
		delete(l.list, id)
	}
	if c.Added != nil {
		l.list[c.Added.ID] = *c.Added
	}
	for _, id := range c.Cleared {
		delete(l.gone, id)
	}
	if err := l.x.Install(c); err != nil {
		l.t.Fatal(err)
	}
}

// reopen opens the files as after a crash: what was not saved is added again.
func (l *library) reopen(unsaved []index.Entry) {
	l.t.Helper()
	if err := l.x.Close(); err != nil {
		l.t.Fatal(err)
	}
	var files []index.Segment
	for _, f := range l.list {
		files = append(files, f)
	}
	var gone []int64
	for id := range l.gone {
		gone = append(gone, id)
	}
	x, err := index.Open(l.config, files, gone)
	if err != nil {
		l.t.Fatal(err)
	}
	if err := x.Tidy(); err != nil {
		l.t.Fatal(err)
	}
	x.Add(unsaved, nil)
	l.x = x
}

// expect answers a query by looking at every document.
func (l *library) expect(q index.Query, limit int) ([]index.Hit, int) {
	terms := map[int64]map[string]float64{}
	own := map[int64]map[string]bool{}
	sizes, size := map[int64]float64{}, 0.0
	for id, e := range l.docs {
		terms[id], own[id] = map[string]float64{}, map[string]bool{}
		for i, column := range e.Columns {
			for _, term := range strings.Fields(column) {
				terms[id][term] += l.config.Weights[i]
				own[id][term] = own[id][term] || l.config.Own[i]
				sizes[id]++
				size++
			}
		}
	}
	has := func(id int64, term string, scored bool) bool {
		_, ok := terms[id][term]
		return ok && (!scored || !q.Own || own[id][term])
	}
	scored := append(slices.Concat(q.All...), q.Any...)
	if len(q.All) > 0 {
		scored = slices.Concat(q.All...)
	}
	var hits []index.Hit
	for id, e := range l.docs {
		ok := q.From == 0 || e.At >= q.From
		ok = ok && (q.Before == 0 || e.At < q.Before)
		for _, g := range q.Scope {
			ok = ok && slices.ContainsFunc(g, func(term string) bool { return has(id, term, false) })
		}
		for _, g := range q.All {
			ok = ok && slices.ContainsFunc(g, func(term string) bool { return has(id, term, true) })
		}
		for _, g := range q.Not {
			ok = ok && slices.ContainsFunc(g, func(term string) bool { return !has(id, term, false) })
		}
		if len(q.All) == 0 && len(q.Any) > 0 {
			ok = ok && slices.ContainsFunc(q.Any, func(term string) bool { return has(id, term, true) })
		}
		if !ok {
			continue
		}
		h := index.Hit{Doc: id, At: e.At}
		for _, term := range scored {
			if !has(id, term, true) {
				continue
			}
			n := 0.0
			for other := range l.docs {
				if has(other, term, true) {
					n++
				}
			}
			all := float64(len(l.docs))
			f := terms[id][term]
			norm := 1.2 * (1 - .75 + .75*sizes[id]/(size/all))
			h.Score += max(math.Log((all-n+.5)/(n+.5)), 1e-3) * f * 2.2 / (f + norm)
		}
		hits = append(hits, h)
	}
	slices.SortFunc(hits, func(a, b index.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.At, a.At), cmp.Compare(a.Doc, b.Doc))
	})
	return hits[:min(limit, len(hits))], len(hits)
}

func (l *library) query() index.Query {
	var q index.Query
	group := func() (out []string) {
		for range 1 + l.IntN(3) {
			if term := l.term(); !slices.Contains(out, term) {
				out = append(out, term)
			}
		}
		return out
	}
	switch l.IntN(3) {
	case 0:
		q.Any = group()
	case 1:
		q.All = [][]string{{l.term()}, {"b" + fmt.Sprint(l.IntN(3))}}
		if q.All[0][0] == q.All[1][0] {
			q.All = q.All[:1]
		}
	}
	if l.IntN(3) == 0 {
		q.Not = [][]string{group()}
	}
	if l.IntN(3) == 0 {
		q.Scope = [][]string{{".s1", ".s2"}}
	}
	if l.IntN(4) == 0 {
		q.From = 5
	}
	if l.IntN(4) == 0 {
		q.Before = 30
	}
	q.Own = l.IntN(3) == 0
	return q
}

// check asks for all kinds of things.
func (l *library) check(when string) {
	l.t.Helper()
	ids := make([]int64, 0, len(l.docs))
	for id := range l.docs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	if diff := gocmp.Diff(ids, l.x.Docs(), cmpopts.EquateEmpty()); diff != "" {
		l.t.Fatalf("%s: documents (-want +got):\n%s", when, diff)
	}
	terms := []string{l.term(), "nowhere", l.term(), "b1"}
	often, err := l.x.Frequencies(terms)
	if err != nil {
		l.t.Fatal(err)
	}
	for i, term := range terms {
		if _, n := l.expect(index.Query{Any: []string{term}, Own: true}, 0); often[i] != n {
			l.t.Fatalf("%s: %s is in %d documents, want %d", when, term, often[i], n)
		}
	}
	for range 20 {
		q := l.query()
		want, n := l.expect(q, 1000)
		found, err := l.x.Search(q, 1000)
		got := found.Hits
		if err != nil || found.Total != n || found.AtLeast {
			l.t.Fatalf("%s: %+v finds %d and error %v, want %d", when, q, found.Total, err, n)
		}
		byDoc := func(hits []index.Hit) []index.Hit {
			out := slices.Clone(hits)
			slices.SortFunc(out, func(a, b index.Hit) int { return cmp.Compare(a.Doc, b.Doc) })
			return out
		}
		// Weights and scores are kept in steps, so they are near what they should be.
		if diff := gocmp.Diff(byDoc(want), byDoc(got), cmpopts.EquateApprox(0.04, 1e-4), cmpopts.EquateEmpty()); diff != "" {
			l.t.Fatalf("%s: %+v (-want +got):\n%s", when, q, diff)
		}
		if !slices.IsSortedFunc(got, func(a, b index.Hit) int {
			return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.At, a.At), cmp.Compare(a.Doc, b.Doc))
		}) {
			l.t.Fatalf("%s: %+v: not in order: %v", when, q, got)
		}
		some := slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return id%3 == 0 })
		among, err := l.x.Among(q, append(some, 1<<40))
		some = slices.DeleteFunc(some, func(id int64) bool {
			return !slices.ContainsFunc(want, func(h index.Hit) bool { return h.Doc == id })
		})
		if err != nil || !slices.Equal(among, some) {
			l.t.Fatalf("%s: %+v: %v of some documents, want %v, error %v", when, q, among, some, err)
		}
		few, err := l.x.Search(q, 3)
		if err != nil || !slices.Equal(few.Hits, got[:min(3, len(got))]) {
			l.t.Fatalf("%s: %+v: the best three are %v of %v, error %v", when, q, few.Hits, got, err)
		}
	}
}

// TestAnswersLikeAScan compares with an index that is none, through all that may
// happen to one: changes, files, merges, crashes.
func TestAnswersLikeAScan(t *testing.T) {
	for seed := range uint64(2) {
		l := newLibrary(t, seed)
		l.check("empty")
		for range 20 {
			l.change(1 + l.IntN(12))
			switch l.IntN(5) {
			case 0:
				l.save()
				l.check("saved")
			case 1:
				l.install(l.x.Merge(t.Context(), index.Few))
				l.check("merged")
			case 2:
				l.save()
				c, err := l.x.Merge(t.Context(), []index.Aim{index.Few, index.Fewest, index.One}[l.IntN(3)])
				l.change(8) // while the files are merged
				l.save()
				l.install(c, err)
				l.check("merged meanwhile")
			case 3:
				l.save()
				before := map[int64]index.Entry{}
				for id, e := range l.docs {
					before[id] = e
				}
				l.change(5)
				var unsaved []index.Entry
				for id, e := range l.docs {
					if before[id] != e {
						unsaved = append(unsaved, e)
					}
				}
				slices.SortFunc(unsaved, func(a, b index.Entry) int { return cmp.Compare(a.Doc, b.Doc) })
				l.reopen(unsaved)
				l.check("opened again")
			default:
				l.check("changed")
			}
		}
		l.save()
		l.install(l.x.Merge(t.Context(), index.One))
		l.check("one file")
		if len(l.list) > 1 || len(l.gone) > 0 {
			t.Errorf("%d files, and %d deleted documents are still remembered", len(l.list), len(l.gone))
		}
		if err := l.x.Verify(); err != nil {
			t.Error(err)
		}
	}
}

// TestFewFilesAtRest merges while files are small beside those that are smaller.
func TestFewFilesAtRest(t *testing.T) {
	l := newLibrary(t, 4)
	rest := func() (merges int) {
		for ; ; merges++ {
			c, err := l.x.Merge(t.Context(), index.Fewest)
			if err == nil && c == nil {
				return merges
			}
			l.install(c, err)
		}
	}
	l.change(600)
	l.save()
	large := slices.Collect(maps.Keys(l.list))[0]
	for range 9 {
		l.change(1)
		l.save()
		rest()
		if len(l.list) > 3 {
			t.Fatalf("%d files", len(l.list))
		}
	}
	if _, there := l.list[large]; !there {
		t.Error("a large file was written again for little")
	}
	l.change(300)
	l.save()
	if n := rest(); n != 1 || len(l.list) != 1 {
		t.Errorf("%d merges, %d files", n, len(l.list))
	}
	l.check("at rest")
}

// TestScoresDoNotDependOnFiles asks the same of one file and of many.
func TestScoresDoNotDependOnFiles(t *testing.T) {
	many, one := newLibrary(t, 7), newLibrary(t, 7)
	for range 12 {
		many.change(20)
		many.save()
		one.change(20)
	}
	one.save()
	one.install(one.x.Merge(t.Context(), index.One))
	for range 100 {
		q := many.query()
		a, err := many.x.Search(q, 50)
		b, err2 := one.x.Search(q, 50)
		if err != nil || err2 != nil || a.Total != b.Total || !slices.Equal(a.Hits, b.Hits) {
			t.Fatalf("%+v: %v and %v, errors %v, %v", q, a, b, err, err2)
		}
	}
}

func TestBeginnings(t *testing.T) {
	l := newLibrary(t, 3)
	l.x.Add([]index.Entry{
		{Doc: 1, Columns: [index.Columns]string{"parser parse ", "parsnip "}},
		{Doc: 2, Columns: [index.Columns]string{"", "", "parser "}},
	}, nil)
	l.save()
	l.x.Add([]index.Entry{{Doc: 3, Columns: [index.Columns]string{"parade pars "}}}, nil)
	found, err := l.x.Search(index.Query{Prefix: []string{"pars"}}, 10)
	var docs []int64
	for _, h := range found.Hits {
		docs = append(docs, h.Doc)
	}
	if err != nil || !slices.Equal(docs, []int64{1, 3, 2}) {
		t.Errorf("got %v, %v", docs, err)
	}
	if n, err := total(l.x, index.Query{Prefix: []string{"pars"}, Own: true}); n != 2 || err != nil {
		t.Errorf("%d of its own, %v", n, err)
	}
	for limit, want := range map[int][]string{2: {"parade", "pars"}, 9: {"parade", "pars", "parse", "parser", "parsnip"}} {
		if got, err := l.x.Terms("pa", limit, func([]byte) bool { return true }); err != nil || !slices.Equal(got, want) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	}
	long := func(term []byte) bool { return len(term) > 5 }
	if got, err := l.x.Terms("p", 9, long); err != nil || !slices.Equal(got, []string{"parade", "parser", "parsnip"}) {
		t.Errorf("got %v, %v of the long ones", got, err)
	}
}

func total(x *index.Index, q index.Query) (int, error) {
	found, err := x.Search(q, 0)
	return found.Total, err
}

// TestSearchingWhileItChanges is for the race detector.
func TestSearchingWhileItChanges(t *testing.T) {
	l := newLibrary(t, 9)
	done := make(chan error)
	for i := range 2 {
		questions := newLibrary(t, uint64(i))
		go func() {
			for range 200 {
				if _, err := l.x.Search(questions.query(), 10); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 30 {
		l.change(20)
		l.save()
		l.install(l.x.Merge(t.Context(), index.Few))
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
