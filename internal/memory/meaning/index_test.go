package meaning

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
)

// clusters makes vectors around random centres, as texts lie around subjects.
func clusters(rng *rand.Rand, n, dims int) [][]float32 {
	centres := make([][]float32, max(n/50, 1))
	for i := range centres {
		centres[i] = direction(rng, nil, dims)
	}
	out := make([][]float32, n)
	for i := range out {
		out[i] = direction(rng, centres[rng.IntN(len(centres))], dims)
	}
	return out
}

func direction(rng *rand.Rand, centre []float32, dims int) []float32 {
	v := make([]float32, dims)
	n := 0.0
	for i := range v {
		v[i] = float32(rng.NormFloat64())
		if centre != nil {
			v[i] = v[i]/float32(math.Sqrt(float64(dims))) + centre[i]
		}
		n += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(n))
	}
	return v
}

func fill(x *index, vectors [][]float32) {
	for i, v := range vectors {
		_ = x.put(store.Placed{ // without a shelf it cannot fail
			Place:  store.Place{Row: int64(i + 1), Layer: ambry.L1, Agent: int64(i % 3), Project: int64(i % 100), At: int64(i)},
			Vector: store.NewVector(v),
		})
	}
}

func TestTheNearestAreFoundThoughOnlyTheirSignsAreScanned(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var x index
	vectors := clusters(rng, apart+1000, 256) // more than one core looks at
	fill(&x, vectors)
	wanted, found := 0, 0
	for range 50 {
		q := direction(rng, vectors[rng.IntN(len(vectors))], 256)
		exact := make([]neighbour, len(vectors))
		for i, v := range vectors {
			var sum float32
			for j := range v {
				sum += v[j] * q[j]
			}
			exact[i] = neighbour{row: int64(i + 1), cosine: sum}
		}
		slices.SortFunc(exact, func(a, b neighbour) int { return cmp.Compare(b.cosine, a.cosine) })
		got, _ := x.nearest(q, store.Spaced, newFilter(store.Places{}), 10, nil)
		for _, e := range exact[:10] {
			wanted++
			if slices.ContainsFunc(got, func(n neighbour) bool { return n.row == e.row }) {
				found++
			}
		}
	}
	if share := float64(found) / float64(wanted); share < 0.95 {
		t.Errorf("only %.3f of the nearest ten are found", share)
	}
}

func TestAFilterIsAppliedBeforeTheNearestAreChosen(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var x index
	fill(&x, clusters(rng, 10_000, 64))
	q := direction(rng, nil, 64)
	for _, f := range []struct {
		name string
		p    store.Places
		want int
	}{
		{"a project", store.Places{Projects: []int64{7}}, 100},
		{"a project and a time", store.Places{Projects: []int64{7}, After: 5000}, 50},
		{"two projects, one agent", store.Places{Projects: []int64{7, 8}, Agents: []int64{1}}, 66},
		{"another layer", store.Places{Layers: []ambry.Layer{ambry.L2}}, 0},
	} {
		got, _ := x.nearest(q, store.Spaced, newFilter(f.p), 1000, nil)
		if math.Abs(float64(len(got)-f.want)) > 1 {
			t.Errorf("%s: %d found, want %d", f.name, len(got), f.want)
		}
	}
}

func TestARemovedRowLeavesNoTrace(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var x index
	vectors := clusters(rng, 100, 96)
	fill(&x, vectors)
	x.remove(42)
	x.remove(42)
	x.remove(4_000_000)
	got, _ := x.nearest(vectors[41], store.Spaced, newFilter(store.Places{}), 100, func() []int64 { return []int64{42} })
	if len(got) != 99 || x.size() != 99 || slices.ContainsFunc(got, func(n neighbour) bool { return n.row == 42 }) {
		t.Errorf("%d found, size %d", len(got), x.size())
	}
	for row := int64(1); row <= 100; row++ {
		x.remove(row)
	}
	if x.slabs[0] != nil {
		t.Error("an empty slab is kept")
	}
	if got, _ := x.nearest(vectors[0], store.Spaced, newFilter(store.Places{}), 5, nil); len(got) != 0 {
		t.Errorf("an empty index finds %v", got)
	}
}

func TestAScriptThatThereIsNotIsTheUsualOne(t *testing.T) {
	var x index
	v := direction(rand.New(rand.NewPCG(1, 2)), nil, 64)
	vector := store.NewVector(v)
	vector.Script = 7
	if err := x.put(store.Placed{Vector: vector}); err != nil {
		t.Fatal(err)
	}
	if got, _ := x.nearest(v, store.Spaced, newFilter(store.Places{}), 5, nil); len(got) != 1 || got[0].script != store.Spaced {
		t.Errorf("found is %v", got)
	}
}

func BenchmarkNearest(b *testing.B) {
	for _, size := range []struct {
		name    string
		n, dims int
	}{{"10k x 256", 10_000, 256}, {"100k x 256", 100_000, 256}, {"1M x 256", 1_000_000, 256}, {"1M x 384", 1_000_000, 384}} {
		b.Run(size.name, func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			var x index
			some := clusters(rng, 5000, size.dims)
			all := make([][]float32, size.n)
			for i := range all {
				all[i] = some[i%len(some)]
			}
			fill(&x, all)
			began := time.Now()
			x.sort()
			sorting := time.Since(began)
			q := direction(rng, some[0], size.dims)
			f := newFilter(store.Places{})
			for b.Loop() {
				x.nearest(q, store.Spaced, f, 40, nil)
			}
			b.ReportMetric(float64(x.bytes())/float64(size.n), "B/memory")
			b.ReportMetric(float64(sorting.Nanoseconds())/float64(size.n), "ns/sorted")
		})
	}
}

func TestWhatIsInAnotherScriptIsComparedWithItsLike(t *testing.T) {
	const dims = 64
	rng := rand.New(rand.NewPCG(5, 6))
	// What is in one script has much in common, whatever it means.
	language := [scripts][]float32{direction(rng, nil, dims), direction(rng, nil, dims)}
	meant := direction(rng, nil, dims)
	near := func(s store.Script, more []float32) store.Vector {
		v := make([]float32, dims)
		for i := range v {
			v[i] = 2 * language[s][i]
			if more != nil {
				v[i] += 2 * more[i]
			}
		}
		out := store.NewVector(direction(rng, v, dims))
		out.Script = s
		return out
	}
	var x index
	for row := range int64(400) {
		_ = x.put(store.Placed{Place: store.Place{Row: row, Layer: ambry.L1}, Vector: near(store.Script(row%2), nil)})
	}
	const answer = 401
	_ = x.put(store.Placed{Place: store.Place{Row: answer, Layer: ambry.L1}, Vector: near(store.Unspaced, meant)})
	q := make([]float32, dims)
	length := 0.0
	for i := range q {
		q[i] = 2 * (language[store.Spaced][i] + meant[i])
		length += float64(q[i]) * float64(q[i])
	}
	for i := range q {
		q[i] /= float32(math.Sqrt(length))
	}
	got, mean := x.nearest(q, store.Spaced, newFilter(store.Places{}), 20, nil)
	if mean[store.Spaced] <= mean[store.Unspaced] {
		t.Fatalf("what is usual is %.2f in the script of the question and %.2f in the other", mean[store.Spaced], mean[store.Unspaced])
	}
	best, most := int64(0), float32(-1)
	for _, f := range got {
		if more := f.cosine - mean[f.script]; more > most {
			best, most = f.row, more
		}
	}
	if best != answer {
		t.Errorf("memory %d is the most unusual one, want %d", best, answer)
	}
}
