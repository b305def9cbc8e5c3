package broker_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/model"
)

// worker returns a world with a model and a budget.
func worker(t *testing.T, b ambry.Budget) (*world, *provider) {
	w, p := newWorld(t), newProvider(t)
	in := input("openai_compatible", p.URL, key)
	in.Embedding = &ambry.EmbeddingInput{Mode: "custom", BaseURL: p.URL, ModelID: "e"}
	w.put(in)
	w.policy.Budget = b
	return w, p
}

func (w *world) background() error {
	_, err := w.Chat(w.t.Context(), ambry.UsageSummary, true, ask, nil)
	return err
}

func (w *world) store() error {
	_, err := w.Embed(w.t.Context(), "openai:e", []string{"some text"}, model.ForStoring)
	return err
}

func (w *world) summary() ambry.UsageOverview {
	w.t.Helper()
	s, err := w.UsageSummary(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func TestNothingIsCalledInTheBackgroundUnlessAllowed(t *testing.T) {
	w, p := worker(t, ambry.Budget{Calls: 100, Tokens: 1e6})
	for _, call := range []func() error{w.background, w.store} {
		if err := call(); ambry.KindOf(err) != ambry.Forbidden || !strings.Contains(err.Error(), "model.background") {
			t.Errorf("got %v", err)
		}
	}
	if len(p.seen()) != 0 {
		t.Errorf("%d calls were made", len(p.seen()))
	}
	// What a person asks for is no matter of the budget.
	if _, err := w.Chat(t.Context(), ambry.UsageChat, false, ask, nil); err != nil {
		t.Error(err)
	}
	if v, err := w.Embed(t.Context(), "openai:e", []string{"question"}, model.ForSearching); err != nil || fmt.Sprint(v) != "[[0.6 0.8]]" {
		t.Errorf("got %v, %v", v, err)
	}
	if s := w.summary(); s.Calls != 2 || s.TotalTokens != 125 || s.Budget.CallsToday != 0 {
		t.Errorf("written down is %+v", s)
	}
}

func TestTheBudgetOfADay(t *testing.T) {
	for name, tt := range map[string]struct {
		budget ambry.Budget
		calls  int // that pass
	}{
		"calls":  {ambry.Budget{Allowed: true, Calls: 3, Tokens: 1e6}, 3},
		"tokens": {ambry.Budget{Allowed: true, Calls: 100, Tokens: 400}, 3}, // each uses 120; the guess of the next one is 52
		"money":  {ambry.Budget{Allowed: true, Calls: 100, Tokens: 1e6, Micros: 350}, 3},
		"none":   {ambry.Budget{Allowed: true}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w, p := worker(t, tt.budget)
			w.policy.InputPrice, w.policy.OutputPrice = 500_000, 2_500_000 // 100 of each call
			for n := range tt.calls {
				if err := w.background(); err != nil {
					t.Fatalf("call %d: %v", n, err)
				}
			}
			refused := func() {
				t.Helper()
				err := w.background()
				e, ok := errors.AsType[*ambry.Error](err)
				if !ok || e.Kind != ambry.RateLimited || e.RetryAfter != 12*60*60 {
					t.Fatalf("got %v, want a refusal until midnight", err)
				}
			}
			refused()
			w.restart()
			refused()
			if len(p.seen()) != tt.calls {
				t.Errorf("%d calls were made", len(p.seen()))
			}
			s := w.summary()
			if s.Budget.CallsToday != int64(tt.calls) || s.Budget.TokensToday != 120*int64(tt.calls) || s.Budget.CostTodayMicros != 100*int64(tt.calls) {
				t.Errorf("today is %+v", s.Budget)
			}
			if tt.calls == 0 {
				return
			}
			w.now = noon.Add(24 * time.Hour)
			if err := w.background(); err != nil {
				t.Errorf("on the next day: %v", err)
			}
		})
	}
}

func TestMoneyNeedsAPrice(t *testing.T) {
	w, p := worker(t, ambry.Budget{Allowed: true, Calls: 9, Tokens: 1e6, Micros: 1e6})
	if err := w.background(); ambry.KindOf(err) != ambry.Forbidden || !strings.Contains(err.Error(), "model.inputPrice") || len(p.seen()) != 0 {
		t.Errorf("got %v, and %d calls", err, len(p.seen()))
	}
}

// Of calls at the same time no more pass than the budget has.
func TestCallsAtOnceDoNotOverdraw(t *testing.T) {
	w, p := worker(t, ambry.Budget{Allowed: true, Calls: 7, Tokens: 1e6})
	var passed, refused atomic.Int32
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			switch err := w.background(); {
			case err == nil:
				passed.Add(1)
			case ambry.KindOf(err) == ambry.RateLimited:
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if passed.Load() != 7 || refused.Load() != 33 || len(p.seen()) != 7 {
		t.Errorf("%d passed, %d were refused, %d calls were made", passed.Load(), refused.Load(), len(p.seen()))
	}
}

// A call that did not come to its end counts as it was planned; one that was
// refused counts as a call without tokens.
func TestCallsThatFailAreCounted(t *testing.T) {
	w, p := worker(t, ambry.Budget{Allowed: true, Calls: 9, Tokens: 1e6})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Chat(ctx, ambry.UsageSummary, true, ask, nil); err == nil {
		t.Error("a call without time succeeds")
	}
	if s := w.summary(); s.Budget.CallsToday != 0 {
		t.Errorf("what was not begun is counted: %+v", s.Budget)
	}
	p.fail = 401
	err := w.background()
	if ambry.KindOf(err) != ambry.UpstreamFailed || strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "***") {
		t.Errorf("got %v", err)
	}
	if s := w.summary(); s.Budget.CallsToday != 1 || s.Budget.TokensToday != 0 {
		t.Errorf("today is %+v", s.Budget)
	}
}

func TestBootstrapShowsTheDay(t *testing.T) {
	w, _ := worker(t, ambry.Budget{})
	if _, err := w.Chat(t.Context(), ambry.UsageChat, false, ask, nil); err != nil {
		t.Fatal(err)
	}
	u, err := w.TokenUsage(t.Context())
	if err != nil || u.UsedTokens != 120 || u.TotalTokens != 0 || u.RemainingTokens != 0 || u.ExpiresAt != nil {
		t.Errorf("without a budget: %+v, %v", u, err)
	}
	w.policy.Budget = ambry.Budget{Allowed: true, Calls: 2, Tokens: 1000}
	for n, remaining := range []int64{880, 0} {
		if err := w.background(); err != nil {
			t.Fatal(err)
		}
		if u, err = w.TokenUsage(t.Context()); err != nil || u.UsedTokens != int64(120*(n+2)) || u.RemainingTokens != remaining || u.ExpiresAt == nil {
			t.Errorf("after %d calls: %+v, %v", n+1, u, err)
		}
	}
}

// What is reported from elsewhere is counted once, however often it is told, and
// never against the budget; huge numbers break nothing.
func TestReports(t *testing.T) {
	w, _ := worker(t, ambry.Budget{Allowed: true, Calls: 1, Tokens: 1000})
	report := func(operation string, tokens int64) {
		t.Helper()
		err := w.RecordUsage(t.Context(), ambry.UsageEvent{
			ID: "x", Kind: ambry.UsageChat, Source: "agent", OperationID: operation, InputTokens: tokens, CreatedAt: noon, Background: true,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		report("a", 7)
	}
	report("a", 8)
	if s := w.summary(); s.Calls != 1 || s.TotalTokens != 8 || s.Budget.TokensToday != 0 || s.UpdatedAt == nil || !s.UpdatedAt.Equal(noon) {
		t.Errorf("got %+v", s)
	}
	for i := range 5 {
		report(fmt.Sprint("huge-", i), 1<<53)
	}
	if s := w.summary(); s.InputTokens != 1<<53 || s.TotalTokens > math.MaxInt64/2 || s.Calls != 6 {
		t.Errorf("got %+v", s)
	}
	if err := w.background(); err != nil {
		t.Errorf("a report is taken from the budget: %v", err)
	}
}

func TestAnotherSpaceIsAConflict(t *testing.T) {
	w, p := worker(t, ambry.Budget{Allowed: true, Calls: 9, Tokens: 1e6})
	if _, err := w.Embed(t.Context(), "openai:other", []string{"x"}, model.ForStoring); ambry.KindOf(err) != ambry.Conflict || len(p.seen()) != 0 {
		t.Errorf("got %v", err)
	}
	w.put(input("openai_compatible", p.URL))
	if err := w.store(); ambry.KindOf(err) != ambry.NotFound {
		t.Errorf("without a model: %v", err)
	}
}
