package meaning

import (
	"math"
	"math/rand/v2"
	"testing"

	"ambry.dev/ambry/internal/memory/store"
)

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
