package recall

import "ambry.dev/ambry"

// What a verdict about a memory counts, and for how many that say nothing it must
// stand up: one verdict moves a memory a little, many never more than its weight.
const (
	helpedCounts  = 1
	usedCounts    = 0.5
	ignoredCounts = -0.2 // it may have been given to the wrong question
	wrongCounts   = -2
	unjudged      = 3
)

// usefulness is from -1 to 1: what became of a memory when it was given.
func usefulness(u ambry.Uses) float64 {
	total := u.Helpful + u.Used + u.Ignored + u.Wrong
	if total == 0 {
		return 0
	}
	v := helpedCounts*float64(u.Helpful) + usedCounts*float64(u.Used) + ignoredCounts*float64(u.Ignored) + wrongCounts*float64(u.Wrong)
	return max(-1, min(v/(unjudged+float64(total)), 1))
}
