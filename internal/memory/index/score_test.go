package index

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// filled returns an index of so many documents, half of them in a file. Every
// third is in each of .p0, .p1 and .p2.
func filled(t *testing.T, docs int64) *Index {
	t.Helper()
	x, err := Open(Config{Dir: t.TempDir(), Weights: [Columns]float64{1, .5, .5, .5, 0}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	rng := rand.New(rand.NewPCG(1, 2))
	for id := range docs {
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
	return x
}

// TestRoomForASearchSurvivesTheCollector counts what searches allocate when the
// garbage is collected between them: less than the sums of the documents alone.
func TestRoomForASearchSurvivesTheCollector(t *testing.T) {
	const docs, times = 20_000, 20
	x := filled(t, docs)
	search := func() {
		if found, err := x.Search(Query{Any: []string{"t0", "t1"}}, 10); err != nil || found.Total == 0 {
			t.Fatal(found, err)
		}
	}
	search()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range times {
		runtime.GC()
		runtime.GC()
		search()
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / times; each > docs*4 {
		t.Errorf("a search allocates %d bytes", each)
	}
	x.Rest()
	if x.spare.Load() != nil {
		t.Error("the room is still there")
	}
}

func TestScopeThatNothingIsIn(t *testing.T) {
	x := filled(t, 500)
	for _, q := range []Query{
		{Scope: [][]string{{".nobody"}}},
		{Any: []string{"t0"}, Scope: [][]string{{".nobody"}}},
		{Any: []string{"t0"}, Scope: [][]string{{".p1"}, {".nobody"}}},
	} {
		if found, err := x.Search(q, 10); len(found.Hits) != 0 || found.Total != 0 || err != nil {
			t.Errorf("%+v finds %+v, %v", q, found, err)
		}
	}
	if found, err := x.Search(Query{Any: []string{"t0"}, Not: [][]string{{".nobody", "t0"}}}, 10); found.Total == 0 || err != nil {
		t.Errorf("it leaves out what is not there: %+v, %v", found, err)
	}
}

func TestSeveralCoresFindTheSame(t *testing.T) {
	x := filled(t, 6000)
	for _, q := range []Query{
		{Any: []string{"t0", "t1", "t2", "t30"}},
		{All: [][]string{{"t0", "t7"}, {"t1"}}, Scope: [][]string{{".p1"}}},
		{Any: []string{"t0", "t1", "t5"}, Not: [][]string{{"t2"}}, From: 20, Before: 80},
		{Scope: [][]string{{".p2"}}},
	} {
		find := func(workers int) ([]Hit, int) {
			s := &search{index: x}
			s.begin(q)
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
