package broker

import (
	"context"

	"ambry.dev/ambry"
)

// TokenUsage returns today's use of models beside the budget of the day. Where
// nothing is allowed in the background the total is 0.
func (b *Broker) TokenUsage(ctx context.Context) (ambry.TokenUsage, error) {
	now := b.Now()
	used, err := b.Ledger.UsedSince(ctx, today(now), false)
	if err != nil {
		return ambry.TokenUsage{}, err
	}
	background, err := b.Ledger.UsedSince(ctx, today(now), true)
	if err != nil {
		return ambry.TokenUsage{}, err
	}
	out := ambry.TokenUsage{PlanName: "byok", UsedTokens: used.TotalTokens}
	if budget := b.Policy().Budget; budget.Allowed {
		out.TotalTokens = budget.Tokens
		out.RemainingTokens = max(0, budget.Tokens-background.TotalTokens)
		if background.Calls >= budget.Calls {
			out.RemainingTokens = 0
		}
		resets := tomorrow(now).UTC()
		out.ExpiresAt = &resets
	}
	return out, nil
}

// UsageSummary returns what calls have used since the beginning.
func (b *Broker) UsageSummary(ctx context.Context) (ambry.UsageOverview, error) {
	kinds, last, err := b.Ledger.Used(ctx)
	if err != nil {
		return ambry.UsageOverview{}, err
	}
	now := b.Now()
	used, err := b.Ledger.UsedSince(ctx, today(now), true)
	if err != nil {
		return ambry.UsageOverview{}, err
	}
	budget := b.Policy().Budget
	out := ambry.UsageOverview{ByKind: []ambry.UsageOfKind{}, UpdatedAt: last, Budget: ambry.BudgetView{
		Background:  budget.Allowed,
		CallsPerDay: budget.Calls, CallsToday: used.Calls,
		TokensPerDay: budget.Tokens, TokensToday: used.TotalTokens,
		CostPerDayMicros: budget.Micros, CostTodayMicros: used.CostMicros,
		ResetsAt: tomorrow(now).UTC(),
	}}
	for _, k := range kinds {
		out.ByKind = append(out.ByKind, k)
		out.Calls += k.Calls
		out.InputTokens += k.InputTokens
		out.OutputTokens += k.OutputTokens
		out.TotalTokens += k.TotalTokens
		out.CachedInputTokens += k.CachedInputTokens
		out.CacheCreationInputTokens += k.CacheCreationInputTokens
		out.CostMicros += k.CostMicros
	}
	return out, nil
}

// RecordUsage writes down a call that an agent has made by itself. It is not
// counted against the budget.
func (b *Broker) RecordUsage(ctx context.Context, u ambry.UsageEvent) error {
	u.Background = false
	u.OperationID = "reported:" + u.OperationID // apart from the calls of our own
	if u.TotalTokens == 0 {
		u.TotalTokens = u.InputTokens + u.OutputTokens
	}
	return b.Ledger.Record(ctx, u)
}
