package recall_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/recall"
	"ambry.dev/ambry/internal/memory/store"
)

// unrelated fills a memory with notes about other things.
func unrelated(t *testing.T, s *store.Store) {
	t.Helper()
	for i := range 30 {
		add(t, s, fmt.Sprint("something else altogether, number ", i), now.AddDate(0, 0, -100-i))
	}
}

// first returns the text of the best hit.
func first(t *testing.T, r *recall.Recall, query string) string {
	t.Helper()
	a := search(t, r, ambry.Query{Query: query})
	if len(a.Hits) == 0 {
		t.Fatalf("%q finds nothing", query)
	}
	return a.Hits[0].Snippet
}

func TestWhatIsTrueNowComesFirst(t *testing.T) {
	r, s := open(t)
	unrelated(t, s)
	old := "shipping is free for orders with a value above 60 euros"
	newer := "parcel prices went up, so free delivery of orders is only from 75 from now on"
	add(t, s, old, now.AddDate(0, -4, 0))
	add(t, s, newer, now.AddDate(0, -1, 0))
	for query, want := range map[string]string{
		"from which value of orders is shipping free":             newer,
		"from which value of orders is shipping free now":         newer,
		"from which value of orders was shipping free originally": old,
		"above 60 euros": old,
	} {
		if got := first(t, r, query); got != want {
			t.Errorf("%q: got %q, want %q", query, got, want)
		}
	}
}

func TestTheTimeOfAQuestionCounts(t *testing.T) {
	r, s := open(t) // now is a Sunday
	unrelated(t, s)
	add(t, s, "fixed the flaky login test", now.AddDate(0, -1, 0))
	add(t, s, "the parser test was rewritten", now.AddDate(0, 0, -9))
	add(t, s, "nothing but waiting for a review", now.AddDate(0, 0, -1))
	for query, want := range map[string]string{
		"which test did we fix last week":        "the parser test was rewritten",
		"what happened yesterday":                "nothing but waiting for a review",
		"was ist gestern passiert?":              "nothing but waiting for a review",
		"which flaky test was fixed last month?": "fixed the flaky login test",
	} {
		if got := first(t, r, query); got != want {
			t.Errorf("%q: got %q, want %q", query, got, want)
		}
	}
}

func TestMistakesAreForgiven(t *testing.T) {
	r, s := open(t)
	unrelated(t, s)
	want := "the incremental cache forgets the constraint of an inlined function"
	add(t, s, want, now)
	for _, query := range []string{"incremntal", "constriant forgets", "incrementla cahce", "inlinde fucntion"} {
		if got := first(t, r, query); got != want {
			t.Errorf("%q: got %q", query, got)
		}
	}
	if a := search(t, r, ambry.Query{Query: "incentive"}); len(a.Hits) != 0 {
		t.Errorf("another word finds %q", a.Hits[0].Snippet)
	}
}

// TestNothingIsInjected asks what the memory cannot know: there are hits to look
// at, but nothing to put before a reader who did not ask for them.
func TestNothingIsInjected(t *testing.T) {
	r, s := open(t)
	unrelated(t, s)
	add(t, s, "the payment provider sends each hook twice, so orders are keyed", now)
	a := search(t, r, ambry.Query{Query: "number of Zeppelins hired for kangaroo telemetry of Antarctica"})
	if len(a.Hits) == 0 || a.InjectedContext != "" {
		t.Errorf("%d hits, context %q", len(a.Hits), a.InjectedContext)
	}
	for _, query := range []string{"which provider do we pay through in Switzerland", "how long did the rollout of ApplePay take at the provider"} {
		if a = search(t, r, ambry.Query{Query: query}); len(a.Hits) == 0 || a.InjectedContext != "" {
			t.Errorf("%q: %d hits, context %q", query, len(a.Hits), a.InjectedContext)
		}
	}
	a = search(t, r, ambry.Query{Query: "why are orders keyed"})
	if !strings.Contains(a.InjectedContext, "sends each hook twice") {
		t.Errorf("context %q", a.InjectedContext)
	}
}

// TestVerdictsCountALittle tells the memory which of two notes helped: that note
// goes first where both answer as well, and where another one answers better it
// does not.
func TestVerdictsCountALittle(t *testing.T) {
	r, s := open(t)
	unrelated(t, s)
	one := add(t, s, "release builds are signed with the blue key of the vault", now)
	two := add(t, s, "release builds are signed with the grey key of the vault", now)
	better := add(t, s, "the staging deploy of the invoice worker needs a migration", now)
	const query = "with which key of the vault are release builds signed"
	say := func(id string, v ambry.Verdict, search string) {
		if _, err := s.Feedback(t.Context(), id, ambry.Feedback{SearchID: search, Verdict: v}, ""); err != nil {
			t.Fatal(err)
		}
	}
	order := func() string {
		var ids []string
		for _, h := range search(t, r, ambry.Query{Query: query}).Hits {
			ids = append(ids, h.ID)
		}
		return strings.Join(ids[:2], " ")
	}
	say(one, ambry.VerdictHelpful, "a")
	if got, want := order(), one+" "+two; got != want {
		t.Errorf("one helped: got %s, want %s", got, want)
	}
	say(one, ambry.VerdictWrong, "b")
	say(two, ambry.VerdictUsed, "b")
	if got, want := order(), two+" "+one; got != want {
		t.Errorf("one was wrong: got %s, want %s", got, want)
	}
	for i := range 50 {
		say(two, ambry.VerdictHelpful, fmt.Sprint("more ", i))
		say(better, ambry.VerdictWrong, fmt.Sprint("more ", i))
	}
	if got := search(t, r, ambry.Query{Query: "what does the staging deploy of the invoice worker need"}).Hits[0].ID; got != better {
		t.Errorf("a note that answers nothing else comes after one that was liked: %s", got)
	}
}

// TestSpeakersCount finds what somebody said rather than what was said to them.
func TestSpeakersCount(t *testing.T) {
	r, s := open(t)
	for i := range 4 {
		add(t, s, fmt.Sprint("Ana: I went hiking in the mountains, tour ", i), now)
		add(t, s, fmt.Sprint("Ben: I went hiking in the mountains, Ana, tour ", i), now)
	}
	if got := first(t, r, "Where did Ana go hiking?"); !strings.HasPrefix(got, "Ana: ") {
		t.Errorf("got %q", got)
	}
}

func TestSearchIsTheSameEachTime(t *testing.T) {
	r, s := open(t)
	for i := range 40 {
		add(t, s, fmt.Sprintf("the parser of handleTimeout has a cache with a flaky timeout of %d seconds", i%7), now.Add(-time.Duration(i)*time.Hour))
	}
	var want []ambry.Hit
	for range 10 {
		got := search(t, r, ambry.Query{Query: "flaky timeout of the parser cache handleTimeout"}).Hits
		if want == nil {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-first +later):\n%s", diff)
		}
	}
}
