package meaning

import (
	"math"
	"math/rand/v2"
	"testing"

	"ambry.dev/ambry/internal/memory/store"
)

// TestGaugeAddsUpWhatDiffers compares with the sum of the numbers whose sign is another.
func TestGaugeAddsUpWhatDiffers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var g gauge // used again and again
	for range 200 {
		dims := 1 + rng.IntN(300)
		v, w := direction(rng, nil, dims), direction(rng, nil, dims)
		if rng.IntN(9) == 0 {
			clear(v)
		}
		signs := make([]uint64, (dims+63)/64)
		codes := store.NewVector(w).Codes
		signsOf(signs, codes)
		g.set(v)
		all, differs := 0.0, 0.0
		for i, x := range v {
			all += math.Abs(float64(x))
			if (x > 0) != (codes[i] > 0) {
				differs += math.Abs(float64(x))
			}
		}
		want := differs * reach / max(all, 1e-9)
		d := g.distance(signs, math.MaxInt)
		if math.Abs(float64(d)-want) > float64(dims)/2 || d > g.farthest {
			t.Fatalf("%d numbers: %d of at most %d, want about %.0f", dims, d, g.farthest, want)
		}
		if bound := rng.IntN(reach); (g.distance(signs, bound) < bound) != (d < bound) {
			t.Fatalf("with a bound of %d it is %d, without %d", bound, g.distance(signs, bound), d)
		}
		signsOf(signs, store.NewVector(v).Codes)
		if near := g.distance(signs, math.MaxInt); near > dims {
			t.Fatalf("it is %d from itself", near)
		}
	}
}
