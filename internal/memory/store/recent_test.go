package store_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
)

// TestWhatIsHeldIsWhatIsStored does many random things, and after each compares
// what a search reads with what is in the file.
func TestWhatIsHeldIsWhatIsStored(t *testing.T) {
	s, shut := openAt(t, filepath.Join(t.TempDir(), "memory.db"))
	defer shut()
	r := random{rand.New(rand.NewPCG(11, 7)), t, s, nil}
	var rows []int64
	for row := range int64(250) {
		rows = append(rows, row+1)
	}
	read := func() []*store.Text {
		t.Helper()
		texts, err := s.Glance(t.Context(), rows, len(rows), math.MaxInt)
		if err != nil {
			t.Fatal(err)
		}
		return texts
	}
	most := 0
	for i := range 200 {
		r.step()
		got := read()
		s.ForgetRecent()
		want := read()
		most = max(most, len(want))
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(store.Said{})); diff != "" {
			t.Fatalf("after step %d (-stored +held):\n%s", i, diff)
		}
	}
	if most < 50 || s.Held() == 0 {
		t.Errorf("there were %d memories, and %d bytes are held", most, s.Held())
	}
}

// TestWhatIsHeldIsNotChangedByWhoReadsIt completes what it got, which is not what
// the next one gets.
func TestWhatIsHeldIsNotChangedByWhoReadsIt(t *testing.T) {
	s := open(t)
	mustImport(t, s, marked(4))
	rows := []int64{1, 2, 3, 4}
	for range 3 {
		texts, err := s.Glance(t.Context(), rows, len(rows), 0)
		if err != nil || len(texts) != 4 {
			t.Fatalf("got %d memories and error %v", len(texts), err)
		}
		for _, text := range texts {
			if text.ID != "" || text.Said[0].Source.Path != "" {
				t.Fatalf("it is what another one made of it: %+v", text)
			}
			text.ID, text.Said[0].Source.Path = "mine", "mine"
		}
	}
}

// TestALearnedMemoryFollowsItsTurn has the log of an agent name a turn otherwise
// than the agent did, after something was learned from it.
func TestALearnedMemoryFollowsItsTurn(t *testing.T) {
	s := open(t)
	told := toldTurn("told")
	told.Turn.Messages[0].Text = "which queue do we use for the mails that are sent at night to all of them"
	if _, err := s.CompleteTurn(t.Context(), told, ""); err != nil {
		t.Fatal(err)
	}
	lessons, err := s.Lessons(t.Context(), 1, 1<<20)
	if err != nil || len(lessons) != 1 {
		t.Fatalf("got %d lessons and error %v", len(lessons), err)
	}
	claim := store.Claim{Rule: ambry.Rules[0], Layer: ambry.L2, Value: "a", Title: "A queue", Body: "We use a queue.", Sure: 1, Topic: store.TopicOf("", "queue")}
	if err := s.Learn(t.Context(), []store.Learned{{Lesson: lessons[0], Claims: []store.Claim{claim}}}); err != nil {
		t.Fatal(err)
	}
	turnIDs := func() (ids []string) {
		texts, err := s.Glance(t.Context(), []int64{1, 2}, 2, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			ids = append(ids, text.TurnID)
		}
		return ids
	}
	if got := turnIDs(); !slices.Equal(got, []string{"told", "told"}) {
		t.Fatalf("before, the turns are %q", got)
	}
	read := told.Turn
	read.ID = "logged"
	mustImport(t, s, ambry.Conversation{Session: told.Session, Turns: []ambry.Turn{read}})
	if got := turnIDs(); !slices.Equal(got, []string{"logged", "logged"}) {
		t.Errorf("after, the turns are %q", got)
	}
}

// TestVerdictsAreRestoredIntoWhatIsHeld restores a memory that was of use into one
// that has the same, and was read.
func TestVerdictsAreRestoredIntoWhatIsHeld(t *testing.T) {
	from, to := open(t), open(t)
	for _, s := range []*store.Store{from, to} {
		mustImport(t, s, talk("a", "one"))
		texts, err := s.Texts(t.Context(), []int64{1}, 1, 0)
		if err != nil || len(texts) != 1 {
			t.Fatalf("got %v and error %v", texts, err)
		}
		if s == from {
			if _, err := s.Feedback(t.Context(), texts[0].ID, ambry.Feedback{Verdict: ambry.VerdictHelpful}, ""); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, want := range []int64{0, 1} {
		texts, err := to.Glance(t.Context(), []int64{1}, 1, 0)
		if err != nil || len(texts) != 1 || texts[0].Uses.Helpful != want {
			t.Fatalf("want %d helpful: got %v and error %v", want, texts[0], err)
		}
		if _, err := to.Restore(t.Context(), records(t, dumpOf(t, from)), ambry.TakeTheirs); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNothingIsHeldOfWhatWasWiped(t *testing.T) {
	s := open(t)
	mustImport(t, s, marked(4))
	for _, want := range []int{4, 0} {
		texts, err := s.Glance(t.Context(), []int64{1, 2, 3, 4}, 4, 0)
		if err != nil || len(texts) != want {
			t.Fatalf("got %d memories, want %d, and error %v", len(texts), want, err)
		}
		if _, err := s.Wipe(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		if n := s.Held(); n != 0 {
			t.Errorf("%d bytes are held", n)
		}
	}
}

func TestNoMoreIsHeldThanIsAllowed(t *testing.T) {
	s := open(t)
	for i := range 400 {
		if _, err := s.Add(t.Context(), ambry.Note{Content: fmt.Sprint(i, strings.Repeat(" words", 10_000))}, ""); err != nil {
			t.Fatal(err)
		}
	}
	for row := range int64(400) {
		if _, err := s.Glance(t.Context(), []int64{row + 1}, 1, 0); err != nil {
			t.Fatal(err)
		}
		if n := s.Held(); n == 0 || n > store.MaxRecent {
			t.Fatalf("%d bytes are held after %d memories", n, row+1)
		}
	}
	if n := s.Held(); n < store.MaxRecent*9/10 {
		t.Errorf("only %d bytes are held", n)
	}
	select {
	case <-s.HeldChanged():
	default:
		t.Error("nobody is told that much is held")
	}
	s.ForgetRecent()
	select {
	case <-s.HeldChanged():
	default:
		t.Error("nobody is told that nothing is held any more")
	}
}

// TestNobodyReadsWhatWasBefore edits a memory while others read it: who reads it
// after the answer reads what was written, or something later.
func TestNobodyReadsWhatWasBefore(t *testing.T) {
	s := open(t)
	m, err := s.Add(t.Context(), ambry.Note{Content: "a note"}, "")
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var others sync.WaitGroup
	defer others.Wait()
	defer close(stop)
	for range 2 {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := s.Glance(t.Context(), []int64{1}, 1, 0); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 200 {
		title := fmt.Sprint("title ", i)
		changed, err := s.Patch(t.Context(), m.ID, ambry.Patch{Title: &title}, "")
		if err != nil {
			t.Fatal(err)
		}
		texts, err := s.Glance(t.Context(), []int64{1}, 1, 0)
		if err != nil || len(texts) != 1 || texts[0].Version != changed.Version {
			t.Fatalf("version %d was written: got %v and error %v", changed.Version, texts, err)
		}
	}
}
