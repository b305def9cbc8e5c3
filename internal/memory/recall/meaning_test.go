package recall

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/memory/when"
)

func TestWhatIsAlikeCountsLessTheFurtherItIsFromTheTimeThatIsAsked(t *testing.T) {
	day := func(month time.Month, n int) time.Time { return time.Date(2026, month, n, 12, 0, 0, 0, time.UTC) }
	april, ok := when.Parse("what was decided in April 2026?", day(time.June, 17))
	if !ok {
		t.Fatal("April is no time")
	}
	var all []ranked
	like := likeness{}
	for i, at := range []time.Time{day(time.April, 9), day(time.May, 2), day(time.January, 5)} {
		all = append(all, ranked{look: &look{}, text: &store.Text{Row: int64(i), Memory: ambry.Memory{CreatedAt: at}}})
		like[int64(i)] = alike{score: 0.5}
	}
	r := &Recall{fit: Fit{Weight: 1}}
	r.weighMeaning(asked{}, all, like)
	for i := range all {
		if got := all[i].signs[byMeaning]; got != 0.5 {
			t.Errorf("a question about no time: memory %d counts %.2f", i, got)
		}
	}
	r.weighMeaning(asked{window: april}, all, like)
	within, near, far := all[0].signs[byMeaning], all[1].signs[byMeaning], all[2].signs[byMeaning]
	if within != 0.5 || near <= 0 || near >= within || far != 0 {
		t.Errorf("a question about April: what was then counts %.2f, soon after %.2f, in January %.2f", within, near, far)
	}
	r.weighMeaning(asked{window: april}, all[2:], like)
	if got := all[2].signs[byMeaning]; got != 0.5 {
		t.Errorf("when nothing was said in April, what was in January counts %.2f", got)
	}
}

// TestThoseThatAreMostAlikeAreLookedAtToo compares the order with what sorting
// comes to.
func TestThoseThatAreMostAlikeAreLookedAtToo(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 60 {
		found, like := make([]store.Candidate, n), likeness{}
		for i := range found {
			found[i].Row = int64(i)
			if random.IntN(3) > 0 {
				like[int64(i)] = alike{score: float64(random.IntN(5)) / 5} // many are the same
			}
		}
		const least = 7
		looked := min(n, least)
		order := slices.Clone(found)
		if len(like) > 0 && n > least {
			slices.SortStableFunc(order[least:], func(x, y store.Candidate) int { return cmp.Compare(like[y.Row].score, like[x.Row].score) })
			looked = min(n, least+maxAlike)
			slices.SortFunc(order[looked:], func(x, y store.Candidate) int { return cmp.Compare(x.Row, y.Row) })
		}
		if got := min(n, alikeFirst(found, like, least)); got != looked {
			t.Errorf("of %d, %d are looked at, not %d", n, got, looked)
		}
		if !slices.Equal(found, order) {
			t.Errorf("%d are in the order\n%v, not\n%v", n, found, order)
		}
	}
}
