package meaning

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ambry.dev/ambry/internal/memory/store"
)

// inFront makes the first numbers of vectors say most, as principal components do.
func inFront(vectors [][]float32) [][]float32 {
	for _, v := range vectors {
		n := 0.0
		for i := range v {
			v[i] /= float32(math.Sqrt(1 + float64(i)/8))
			n += float64(v[i]) * float64(v[i])
		}
		for i := range v {
			v[i] /= float32(math.Sqrt(n))
		}
	}
	return vectors
}

func soughtBy(x *index, v []float32, p store.Places) *sought {
	codes := store.NewVector(v).Codes
	q := &sought{lead: leadOf(codes), signs: make([]uint64, x.others()), filter: newFilter(p)}
	signsOf(q.signs, codes)
	return q
}

// TestSkimming compares with what is found when all is read, and looks where that is
// not worth it or would miss something.
func TestSkimming(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	vectors := inFront(clusters(rng, skimFrom, 128))
	var x, even index
	fill(&x, vectors)
	wanted, found := 0, 0
	for range 40 {
		v := inFront([][]float32{direction(rng, vectors[rng.IntN(len(vectors))], 128)})[0]
		q := soughtBy(&x, v, store.Places{})
		if q.cuts = x.cuts(q); q.cuts[store.Spaced] >= 32 || q.cuts[store.Unspaced] != 64 {
			t.Fatalf("cuts at %v", q.cuts)
		}
		got := x.closest(v, x.look(q)[store.Spaced].best(), 10)
		q.cuts = [scripts]int{64, 64}
		for _, all := range x.closest(v, x.look(q)[store.Spaced].best(), 10) {
			wanted++
			if slices.ContainsFunc(got, func(n neighbour) bool { return n.row == all.row }) {
				found++
			}
		}
	}
	if share := float64(found) / float64(wanted); share < 0.9 {
		t.Errorf("only %.3f of the nearest ten are found", share)
	}
	q := direction(rng, nil, 128)
	some := soughtBy(&x, q, store.Places{Agents: []int64{1}})
	some.cuts = x.cuts(some)
	rows := x.look(some)[store.Spaced].best()
	if len(rows) != preselected || some.cuts[store.Spaced] >= 64 {
		t.Errorf("of one agent %d are found, with cuts at %v", len(rows), some.cuts)
	}
	for _, row := range rows {
		if (row-1)%3 != 1 {
			t.Errorf("row %d is of another agent", row)
		}
	}
	whole := func(name string, cuts [scripts]int) {
		t.Helper()
		if cuts != [scripts]int{64, 64} {
			t.Errorf("%s, and cuts are at %v", name, cuts)
		}
	}
	whole("few pass the filter", x.cuts(soughtBy(&x, q, store.Places{Projects: []int64{7}})))
	x.remove(1)
	whole("there are few memories", x.cuts(soughtBy(&x, q, store.Places{})))
	fill(&even, clusters(rng, skimFrom, 128))
	whole("all numbers say as much", even.cuts(soughtBy(&even, q, store.Places{})))
}

// TestWhatIsUsualFollowsTheIndex compares with the mean of cosines.
func TestWhatIsUsualFollowsTheIndex(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var x index
	var vectors [][]float32
	for _, n := range []int{3, 20, 100} {
		for _, v := range clusters(rng, n, 96) {
			vectors = append(vectors, v)
			_ = x.put(store.Placed{Place: store.Place{Row: int64(len(vectors))}, Vector: store.NewVector(v)})
		}
		q := direction(rng, nil, 96)
		sum := 0.0
		for _, v := range vectors {
			for j := range v {
				sum += float64(v[j] * q[j])
			}
		}
		want := sum / float64(len(vectors))
		for script, got := range x.background(q) {
			if math.Abs(float64(got)-want) > 0.002 {
				t.Errorf("%d memories, script %d: %.4f is usual, want %.4f", len(vectors), script, got, want)
			}
		}
	}
}
