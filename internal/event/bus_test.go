package event_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newBus(size int) *event.Bus {
	at := time.Date(2026, 8, 1, 9, 0, 0, 0, time.FixedZone("east", 7200))
	return event.New("e1", size, func() time.Time { return at })
}

func done(job string) ambry.ScanCompletion { return ambry.ScanCompletion{JobID: job} }

func progress(source string, n int64) ambry.ScanProgress {
	return ambry.ScanProgress{SourceID: source, Current: n}
}

// drain reads what waits already.
func drain(t *testing.T, s *event.Subscription) []ambry.Event {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var got []ambry.Event
	for {
		e, err := s.Next(ctx)
		if err != nil {
			return got
		}
		got = append(got, e)
	}
}

func show(events []ambry.Event) (out []string) {
	for _, e := range events {
		switch p := e.Payload.(type) {
		case ambry.ScanCompletion:
			out = append(out, e.ID+" done "+p.JobID)
		case ambry.ScanProgress:
			out = append(out, fmt.Sprintf("%s progress %s %d", e.ID, p.SourceID, p.Current))
		case ambry.AppResync:
			out = append(out, e.ID+" resync "+p.Reason)
		}
	}
	return out
}

func wantEvents(t *testing.T, s *event.Subscription, want ...string) {
	t.Helper()
	got := show(drain(t, s))
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestPublishNumbersInOrder(t *testing.T) {
	bus := newBus(8)
	s := bus.Subscribe("")
	defer s.Close()
	first := bus.Publish(done("a"))
	bus.Publish(done("b"))
	if first.ID != "e1-1" || first.Type != "agent_source.scan_completed" {
		t.Errorf("got %s %s, want e1-1 agent_source.scan_completed", first.ID, first.Type)
	}
	if z := first.Timestamp.Format(time.RFC3339); z != "2026-08-01T07:00:00Z" {
		t.Errorf("timestamp %s is not in UTC", z)
	}
	wantEvents(t, s, "e1-1 done a", "e1-2 done b")
}

func TestSubscribeReplays(t *testing.T) {
	tests := []struct {
		name, last string
		want       []string
	}{
		{"a new reader sees nothing old", "", nil},
		{"the newest id misses nothing", "e1-6", nil},
		{"an id within the ring", "e1-4", []string{"e1-5 done 5", "e1-6 done 6"}},
		{"the oldest id that still can", "e1-2", []string{"e1-3 done 3", "e1-4 done 4", "e1-5 done 5", "e1-6 done 6"}},
		{"an id that fell out of the ring", "e1-1", []string{"e1-6 resync too_old"}},
		{"the position before the first event", "e1-0", []string{"e1-6 resync too_old"}},
		{"another epoch", "e0-5", []string{"e1-6 resync epoch_changed"}},
		{"a number not given out yet", "e1-7", []string{"e1-6 resync epoch_changed"}},
		{"a number too large", "e1-99999999999999999999", []string{"e1-6 resync epoch_changed"}},
		{"no number", "e1-x", []string{"e1-6 resync epoch_changed"}},
		{"no id at all", "nonsense", []string{"e1-6 resync epoch_changed"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bus := newBus(4)
			for i := 1; i <= 6; i++ {
				bus.Publish(done(fmt.Sprint(i)))
			}
			s := bus.Subscribe(tt.last)
			defer s.Close()
			wantEvents(t, s, tt.want...)
			bus.Publish(done("next"))
			wantEvents(t, s, "e1-7 done next")
		})
	}
}

func TestPositionContinues(t *testing.T) {
	bus := newBus(8)
	bus.Publish(done("a"))
	s := bus.Subscribe("")
	bus.Publish(done("b"))
	if got := s.Position(); got != "e1-1" {
		t.Errorf("position before the first event: got %s, want e1-1", got)
	}
	again := bus.Subscribe(s.Position())
	defer again.Close()
	wantEvents(t, again, "e1-2 done b")
	drain(t, s)
	if got := s.Position(); got != "e1-2" {
		t.Errorf("position after b: got %s, want e1-2", got)
	}
	s.Close()
}

func TestSlowReaderLosesProgressOnly(t *testing.T) {
	bus := newBus(1024)
	s := bus.Subscribe("")
	defer s.Close()
	for i := range 2000 {
		bus.Publish(progress("codex", int64(i)))
		if i%20 == 0 {
			bus.Publish(done(fmt.Sprint(i)))
		}
	}
	var completions, last int
	for _, e := range drain(t, s) {
		switch p := e.Payload.(type) {
		case ambry.ScanCompletion:
			if p.JobID != fmt.Sprint(completions*20) {
				t.Fatalf("completion %d is of job %s", completions, p.JobID)
			}
			completions++
		case ambry.ScanProgress:
			last = int(p.Current)
		case ambry.AppResync:
			t.Fatal("a reader that lost progress alone was told to start anew")
		}
	}
	if completions != 100 || last != 1999 {
		t.Errorf("got %d completions and progress up to %d, want 100 and 1999", completions, last)
	}
}

func TestProgressNeverCausesAResync(t *testing.T) {
	bus := newBus(256)
	s := bus.Subscribe("")
	defer s.Close()
	for i := range 512 {
		bus.Publish(done(fmt.Sprint(i)))
	}
	for i := range 2000 {
		bus.Publish(progress("codex", int64(i)))
	}
	if got := len(drain(t, s)); got != 512 {
		t.Errorf("got %d events, want the 512 completions", got)
	}
}

func TestTooSlowReaderResyncs(t *testing.T) {
	bus := newBus(4)
	s := bus.Subscribe("")
	defer s.Close()
	for i := 1; i <= 9; i++ {
		bus.Publish(done(fmt.Sprint(i)))
	}
	wantEvents(t, s, "e1-8 resync slow_reader", "e1-9 done 9")
}

func TestCompletionsPushProgressOut(t *testing.T) {
	bus := newBus(4)
	s := bus.Subscribe("")
	defer s.Close()
	bus.Publish(progress("codex", 1))
	for i := 2; i <= 9; i++ {
		bus.Publish(done(fmt.Sprint(i)))
	}
	got := show(drain(t, s))
	if len(got) != 8 || got[0] != "e1-2 done 2" {
		t.Errorf("got %q, want the eight completions", got)
	}
}

func TestNextWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := newBus(8)
		s := bus.Subscribe("")
		defer s.Close()
		var got ambry.Event
		go func() { got, _ = s.Next(t.Context()) }()
		synctest.Wait()
		if got.ID != "" {
			t.Fatalf("got %s before anything was published", got.ID)
		}
		bus.Publish(done("a"))
		synctest.Wait()
		if got.ID != "e1-1" {
			t.Errorf("got %q, want e1-1", got.ID)
		}
	})
}

func TestNextEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBus(8).Subscribe("")
		defer s.Close()
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if _, err := s.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want DeadlineExceeded", err)
		}
	})
}

func TestCloseOfTheBusEndsReadersAfterTheLastEvent(t *testing.T) {
	bus := newBus(8)
	s := bus.Subscribe("")
	defer s.Close()
	bus.Publish(done("a"))
	bus.Close()
	wantNext(t, s, nil)
	wantNext(t, s, event.ErrClosed)
	late := bus.Subscribe("e1-0")
	defer late.Close()
	wantNext(t, late, nil)
	wantNext(t, late, event.ErrClosed)
}

func wantNext(t *testing.T, s *event.Subscription, want error) {
	t.Helper()
	if _, err := s.Next(t.Context()); !errors.Is(err, want) {
		t.Errorf("got error %v, want %v", err, want)
	}
}

func TestCloseWakesTheReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBus(8).Subscribe("")
		var err error
		go func() { _, err = s.Next(t.Context()) }()
		synctest.Wait()
		s.Close()
		s.Close()
		synctest.Wait()
		if !errors.Is(err, event.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	})
}

func TestJSONIsSharedAndOneLine(t *testing.T) {
	bus := newBus(8)
	a, b := bus.Subscribe(""), bus.Subscribe("")
	defer a.Close()
	defer b.Close()
	want := bus.Publish(ambry.ScanProgress{SourceID: "codex", Message: "line\nbreak\u2028"})
	_, one, _ := a.NextJSON(t.Context())
	_, two, _ := b.NextJSON(t.Context())
	if &one[0] != &two[0] {
		t.Error("two readers got two encodings")
	}
	for _, c := range string(one) {
		if c == '\n' || c == '\r' || c == '\u2028' {
			t.Errorf("the JSON has a line break: %q", one)
		}
	}
	var got struct {
		ID, Type  string
		Timestamp time.Time
		Payload   ambry.ScanProgress
	}
	if err := json.Unmarshal(one, &got); err != nil {
		t.Fatal(err)
	}
	if got.ID != want.ID || got.Type != want.Type || !got.Timestamp.Equal(want.Timestamp) || got.Payload != want.Payload {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Many publish while many read, come and go: every reader that stays sees every
// completion, in order.
func TestManyReadersAndPublishers(t *testing.T) {
	const publishers, each, readers = 4, 200, 8
	bus := newBus(publishers * each)
	var reading, publishing sync.WaitGroup
	for range readers {
		s := bus.Subscribe("")
		reading.Go(func() {
			defer s.Close()
			next := map[string]int{}
			for range publishers * each {
				e, err := s.Next(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				p := e.Payload.(ambry.ScanCompletion)
				if p.Results[0].Turns != int64(next[p.JobID]) {
					t.Errorf("job %s: got number %d, want %d", p.JobID, p.Results[0].Turns, next[p.JobID])
				}
				next[p.JobID]++
			}
		})
	}
	for job := range publishers {
		publishing.Go(func() {
			for i := range each {
				p := done(fmt.Sprint(job))
				p.Results = []ambry.ScanResult{{Turns: int64(i)}}
				bus.Publish(p)
				bus.Subscribe(fmt.Sprint("e1-", i)).Close()
			}
		})
	}
	publishing.Wait()
	reading.Wait()
}

func BenchmarkPublish(b *testing.B) {
	for _, readers := range []int{0, 1, 32} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			bus := event.New("e1", 1024, time.Now)
			var wg sync.WaitGroup
			ctx, stop := context.WithCancel(b.Context())
			for range readers {
				wg.Go(func() {
					s := bus.Subscribe("")
					defer s.Close()
					for {
						if _, _, err := s.NextJSON(ctx); err != nil {
							return
						}
					}
				})
			}
			p := progress("codex", 1)
			b.ReportAllocs()
			for b.Loop() {
				bus.Publish(p)
			}
			stop()
			wg.Wait()
		})
	}
}
