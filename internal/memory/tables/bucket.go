package tables

import "math"

// bucketsPerOctave is how finely times are counted.
const bucketsPerOctave = 4

// BucketOf returns the bucket of a time in microseconds.
func BucketOf(took int64) int64 {
	return int64(math.Floor(bucketsPerOctave * math.Log2(float64(max(took, 1)))))
}

// MiddleOf returns the microseconds in the middle of a bucket.
func MiddleOf(bucket int64) float64 {
	return math.Exp2((float64(bucket) + 0.5) / bucketsPerOctave)
}
