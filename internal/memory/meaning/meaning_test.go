package meaning

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/model"
)

// letters is an embedding of our own: how often each letter stands in a text.
type letters struct {
	space string

	mu    sync.Mutex // guards the rest
	fails error
	calls int
	texts []string
}

func (l *letters) Space() string { return l.space }
func (l *letters) Dims() int     { return 26 }

func (l *letters) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fails = err
}

func (l *letters) seen() (calls, texts int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls, len(l.texts)
}

func (l *letters) Embed(_ context.Context, texts []string, p model.Purpose) ([][]float32, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	if l.fails != nil {
		return nil, l.fails
	}
	var out [][]float32
	for _, t := range texts {
		if strings.Contains(t, "poison") {
			return nil, ambry.InvalidArgument.Errorf("the text is refused")
		}
		if p == model.ForStoring {
			l.texts = append(l.texts, t)
		}
		v := make([]float32, 26)
		n := float32(0)
		for _, c := range strings.ToLower(t) {
			if c >= 'a' && c <= 'z' {
				v[c-'a']++
			}
		}
		for _, x := range v {
			n += x * x
		}
		for i := range v {
			if n > 0 {
				v[i] /= sqrt(n)
			}
		}
		out = append(out, v)
	}
	return out, nil
}

func sqrt(x float32) float32 {
	r := x
	for range 40 {
		r = (r + x/r) / 2
	}
	return r
}

func open(t *testing.T, path string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func add(t *testing.T, s *store.Store, project, text string) string {
	t.Helper()
	m, err := s.Add(t.Context(), ambry.Note{Content: text, Project: project}, "")
	if err != nil {
		t.Fatal(err)
	}
	return m.ID
}

// start runs a Meaning until stop.
func start(t *testing.T, s *store.Store, by model.Embedder) (m *Meaning, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	m = New(Config{Store: s, Embedder: by})
	done := make(chan struct{})
	go func() { defer close(done); m.Run(ctx) }()
	return m, func() { cancel(); <-done }
}

// near returns the titles of what is nearest.
func near(t *testing.T, m *Meaning, s *store.Store, text string, f store.Filter) []string {
	t.Helper()
	found, err := m.Near(t.Context(), text, f, 10, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]int64, len(found))
	for i, c := range found {
		rows[i] = c.Row
	}
	texts, err := s.Texts(t.Context(), rows, len(rows), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]string, len(texts))
	for i, x := range texts {
		out[i] = x.Title
	}
	return out
}

func state(t *testing.T, m *Meaning) State {
	t.Helper()
	st, err := m.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// bubble runs f with a clock of its own and an empty store.
func bubble(t *testing.T, f func(t *testing.T, s *store.Store, path string)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "memory.db")
	synctest.Test(t, func(t *testing.T) {
		s := open(t, path)
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		f(t, s, path)
	})
}

func TestMemoriesAreFoundByMeaningOnceTheyAreEmbedded(t *testing.T) {
	bubble(t, func(t *testing.T, s *store.Store, _ string) {
		add(t, s, "/a", "banana")
		m, stop := start(t, s, &letters{space: "one"})
		defer stop()
		add(t, s, "/b", "kiwi")
		add(t, s, "/a", "cherry")
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := near(t, m, s, "nabana", store.Filter{}); got[0] != "banana" {
			t.Errorf("nearest are %v", got)
		}
		if got := near(t, m, s, "nabana", store.Filter{Project: "/b"}); len(got) != 1 || got[0] != "kiwi" {
			t.Errorf("within /b, %v", got)
		}
		if got := near(t, m, s, "nabana", store.Filter{Project: "/none"}); len(got) != 0 {
			t.Errorf("within a project that is not there, %v", got)
		}
		if st := state(t, m); st.Ready != 3 || st.Due != 0 || !st.Loaded || st.Reason != "" {
			t.Errorf("state %+v", st)
		}
	})
}

func TestWhatIsForgottenOrChangedLosesItsVector(t *testing.T) {
	bubble(t, func(t *testing.T, s *store.Store, _ string) {
		fruit := &letters{space: "one"}
		m, stop := start(t, s, fruit)
		defer stop()
		gone, kept := add(t, s, "", "banana"), add(t, s, "", "bananas")
		time.Sleep(time.Minute)
		if _, err := s.Forget(t.Context(), gone, ""); err != nil {
			t.Fatal(err)
		}
		if got := near(t, m, s, "banana", store.Filter{}); len(got) != 1 || got[0] != "bananas" {
			t.Errorf("after it was forgotten, %v", got)
		}
		title := "zzz"
		if _, err := s.Patch(t.Context(), kept, ambry.Patch{Title: &title}, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		rows, err := s.Vectors(t.Context(), 0, 10)
		if err != nil || len(rows) != 1 {
			t.Fatalf("%d vectors on the disk, %v", len(rows), err)
		}
		if _, n := fruit.seen(); n != 3 {
			t.Errorf("%d texts were embedded, want the two, and the changed one again", n)
		}
	})
}

func TestAnArchivedMemoryIsFoundOnlyByThoseWhoAsk(t *testing.T) {
	bubble(t, func(t *testing.T, s *store.Store, _ string) {
		m, stop := start(t, s, &letters{space: "one"})
		defer stop()
		id := add(t, s, "", "banana")
		archived := ambry.Archived
		if _, err := s.Patch(t.Context(), id, ambry.Patch{Status: &archived}, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := near(t, m, s, "banana", store.Filter{}); len(got) != 0 {
			t.Errorf("found %v", got)
		}
		if got := near(t, m, s, "banana", store.Filter{Archived: true}); len(got) != 1 {
			t.Errorf("with archived ones, %v", got)
		}
	})
}

func TestVectorsOutliveARestartAndNotTheirModel(t *testing.T) {
	bubble(t, func(t *testing.T, s *store.Store, path string) {
		first := &letters{space: "one"}
		_, stop := start(t, s, first)
		for i := range 200 {
			add(t, s, "", fmt.Sprintf("fruit %d %s", i, strings.Repeat("ab", i%7)))
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		stop()
		again := &letters{space: "one"}
		m, stop := start(t, s, again)
		time.Sleep(time.Hour)
		synctest.Wait()
		if st := state(t, m); st.Ready != 200 || st.Due != 0 {
			t.Errorf("after a restart %+v", st)
		}
		if calls, _ := again.seen(); calls != 0 {
			t.Errorf("a restart embedded anew, %d calls", calls)
		}
		stop()
		other := &letters{space: "two"}
		m, stop = start(t, s, other)
		defer stop()
		time.Sleep(time.Hour)
		synctest.Wait()
		if _, n := other.seen(); n != 200 {
			t.Errorf("the new model embedded %d texts, want all 200", n)
		}
		if st := state(t, m); st.Ready != 200 || st.Due != 0 || st.Space != "two" {
			t.Errorf("with another model %+v", st)
		}
	})
}

func TestAModelThatFailsIsAskedLessAndLessAndHeals(t *testing.T) {
	bubble(t, func(t *testing.T, s *store.Store, _ string) {
		sick := &letters{space: "one"}
		sick.fail(errors.New("no route to host"))
		m, stop := start(t, s, sick)
		defer stop()
		add(t, s, "", "banana")
		time.Sleep(time.Hour)
		synctest.Wait()
		calls, _ := sick.seen()
		if calls < 10 || calls > 30 {
			t.Errorf("a sick model was asked %d times in an hour", calls)
		}
		if st := state(t, m); st.Due != 1 || st.Reason == "" || strings.Contains(st.Reason, "route") || !st.RetryAt.After(time.Now().Add(-time.Second)) {
			t.Errorf("state %+v", st)
		}
		// Meanwhile everything else goes on.
		add(t, s, "", "cherry")
		if got := near(t, m, s, "banana", store.Filter{}); len(got) != 0 {
			t.Errorf("found %v without a vector", got)
		}
		sick.fail(nil)
		time.Sleep(lastRetry + time.Minute)
		synctest.Wait()
		if st := state(t, m); st.Due != 0 || st.Ready != 2 || st.Reason != "" {
			t.Errorf("after it healed %+v", st)
		}
	})
}

func TestATextThatTheModelRefusesHoldsUpNoOther(t *testing.T) {
	bubble(t, func(t *testing.T, s *store.Store, _ string) {
		m, stop := start(t, s, &letters{space: "one"})
		defer stop()
		add(t, s, "", "poison")
		add(t, s, "", "banana")
		time.Sleep(time.Hour)
		synctest.Wait()
		if st := state(t, m); st.Due != 0 {
			t.Errorf("state %+v", st)
		}
		if got := near(t, m, s, "banana", store.Filter{}); len(got) == 0 || got[0] != "banana" {
			t.Errorf("nearest are %v", got)
		}
	})
}

// slow is a model that is elsewhere and takes its time.
type slow struct {
	letters
	takes time.Duration
}

func (l *slow) Embed(ctx context.Context, texts []string, p model.Purpose) ([][]float32, error) {
	time.Sleep(l.takes)
	return l.letters.Embed(ctx, texts, p)
}

func TestASearchDoesNotWaitForASlowModel(t *testing.T) {
	bubble(t, func(t *testing.T, s *store.Store, _ string) {
		by := &slow{letters{space: "one"}, 10 * time.Second}
		ctx, cancel := context.WithCancel(t.Context())
		m := New(Config{Store: s, Embedder: by, Slow: true})
		done := make(chan struct{})
		go func() { defer close(done); m.Run(ctx) }()
		defer func() { cancel(); <-done }()
		add(t, s, "", "banana")
		time.Sleep(time.Hour)
		began := time.Now()
		if got := near(t, m, s, "nabana", store.Filter{}); len(got) != 0 {
			t.Errorf("found %v before there was an answer", got)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("a search waited for %v", took)
		}
		time.Sleep(time.Minute)
		if got := near(t, m, s, "nabana", store.Filter{}); len(got) != 1 {
			t.Errorf("the late answer was not kept: %v", got)
		}
	})
}

func TestAWriterThatWasKilledLeavesNothingUndone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	synctest.Test(t, func(t *testing.T) {
		s := open(t, path)
		by := &letters{space: "one"}
		m, stop := start(t, s, by)
		add(t, s, "", "banana")
		time.Sleep(time.Minute)
		stop() // nothing embeds any more, as after a kill
		add(t, s, "", "cherry")
		_ = m
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, path)
		defer func() { _ = s.Close() }()
		m, stop = start(t, s, by)
		defer stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		if st := state(t, m); st.Ready != 2 || st.Due != 0 {
			t.Errorf("state %+v", st)
		}
		if _, n := by.seen(); n != 2 {
			t.Errorf("%d texts were embedded, want each once", n)
		}
	})
}

func TestAWipeTakesAllVectorsAndTheNextMemoriesGetTheirs(t *testing.T) {
	bubble(t, func(t *testing.T, s *store.Store, _ string) {
		m, stop := start(t, s, &letters{space: "one"})
		defer stop()
		add(t, s, "", "banana")
		time.Sleep(time.Minute)
		if _, err := s.Wipe(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		if got := near(t, m, s, "banana", store.Filter{}); len(got) != 0 {
			t.Errorf("after the wipe, %v", got)
		}
		if rows, err := s.Vectors(t.Context(), 0, 10); err != nil || len(rows) != 0 {
			t.Errorf("%d vectors on the disk, %v", len(rows), err)
		}
		add(t, s, "", "cherry")
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := near(t, m, s, "cherry", store.Filter{}); len(got) != 1 {
			t.Errorf("after the next memory, %v", got)
		}
	})
}

func TestWhatIsBeingStoredIsDueUntilItCanBeFound(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "memory.db"))
	defer s.Close()
	m := New(Config{Store: s, Embedder: &letters{space: "one"}})
	if err := m.store.UseSpace(t.Context(), m.stored()); err != nil {
		t.Fatal(err)
	}
	add(t, s, "/p", "a note that waits")
	var seen State
	s.Watch(before{watch{m}, func() { // the disk has the vector, and nobody can find it yet
		var err error
		if seen, err = m.State(t.Context()); err != nil {
			t.Error(err)
		}
	}})
	if err := m.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := m.batch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if seen.Due != 1 || seen.Ready != 0 {
		t.Errorf("while it cannot be found: %d due, %d ready", seen.Due, seen.Ready)
	}
	state, err := m.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if state.Due != 0 || state.Ready != 1 {
		t.Errorf("afterwards: %d due, %d ready", state.Due, state.Ready)
	}
}

// before does something before a vector can be found.
type before struct {
	watch
	do func()
}

func (b before) Stored(p store.Placed) {
	b.do()
	b.watch.Stored(p)
}
