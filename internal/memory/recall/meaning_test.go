package recall

import (
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
