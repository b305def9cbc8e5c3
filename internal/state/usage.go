package state

import (
	"context"
	"database/sql"
	"time"

	"ambry.dev/ambry"
)

// Reserve writes down a call in the background that is about to be made, with
// what it may use at most, if the budget of the day since then allows it.
// Otherwise nothing is written and over says what is spent: calls, tokens or
// money. Of calls at the same time no more pass than the budget has.
func (db *DB) Reserve(ctx context.Context, u ambry.UsageEvent, b ambry.Budget, since time.Time) (over string, err error) {
	err = db.transact(ctx, "reserve a call of a model", func(tx *sql.Tx) error {
		used, err := usedSince(ctx, tx, since, true)
		if err != nil {
			return err
		}
		switch {
		case used.Calls+1 > b.Calls:
			over = "calls"
		case used.TotalTokens+u.TotalTokens > b.Tokens:
			over = "tokens"
		case b.Micros > 0 && used.CostMicros+u.Micros > b.Micros:
			over = "money"
		default:
			return record(ctx, tx, u)
		}
		return nil
	})
	return over, err
}

// Record writes down what a call has used. Of the same kind, source and
// operation the last record holds.
func (db *DB) Record(ctx context.Context, u ambry.UsageEvent) error {
	return db.transact(ctx, "write down a call of a model", func(tx *sql.Tx) error { return record(ctx, tx, u) })
}

func record(ctx context.Context, tx *sql.Tx, u ambry.UsageEvent) error {
	_, err := tx.ExecContext(ctx, `
		INSERT INTO model_usage (kind, source, operation, at, model, background, input, output, total, cached, cache_creation, micros)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET at = excluded.at, model = excluded.model, input = excluded.input, output = excluded.output,
			total = excluded.total, cached = excluded.cached, cache_creation = excluded.cache_creation, micros = excluded.micros`,
		u.Kind, u.Source, u.OperationID, u.CreatedAt.UnixMilli(), u.Model, u.Background, u.InputTokens, u.OutputTokens, u.TotalTokens,
		u.CachedInputTokens, u.CacheCreationInputTokens, u.Micros)
	return err
}

// UsedSince returns what calls have used since a time; with background, only
// those that count against the budget.
func (db *DB) UsedSince(ctx context.Context, since time.Time, background bool) (ambry.UsageTotals, error) {
	t, err := usedSince(ctx, db.read, since, background)
	return t, failed("sum up calls of models", err)
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Sums of numbers that strangers report must not overflow: total() adds as
// floating point, and what is beyond 2^53 is cut to it.
const sums = `count(*), min(total(input), 9007199254740992), min(total(output), 9007199254740992), min(total(total), 9007199254740992),
	min(total(cached), 9007199254740992), min(total(cache_creation), 9007199254740992), min(total(micros), 9007199254740992)`

func usedSince(ctx context.Context, q querier, since time.Time, background bool) (ambry.UsageTotals, error) {
	row := q.QueryRowContext(ctx, "SELECT "+sums+" FROM model_usage WHERE at >= ? AND background >= ?", since.UnixMilli(), background)
	var t ambry.UsageTotals
	err := scanTotals(row.Scan, &t)
	return t, err
}

func scanTotals(scan func(...any) error, t *ambry.UsageTotals, before ...any) error {
	var in, out, total, cached, creation, micros float64
	err := scan(append(before, &t.Calls, &in, &out, &total, &cached, &creation, &micros)...)
	t.InputTokens, t.OutputTokens, t.TotalTokens = int64(in), int64(out), int64(total)
	t.CachedInputTokens, t.CacheCreationInputTokens, t.CostMicros = int64(cached), int64(creation), int64(micros)
	return err
}

// Used returns what all calls have used, by kind, and when the last one was;
// nil if there was none.
func (db *DB) Used(ctx context.Context) (kinds []ambry.UsageOfKind, last *time.Time, err error) {
	rows, err := db.read.QueryContext(ctx, "SELECT kind, max(at), "+sums+" FROM model_usage GROUP BY kind ORDER BY kind")
	if err != nil {
		return nil, nil, failed("sum up calls of models", err)
	}
	defer rows.Close()
	for rows.Next() {
		var k ambry.UsageOfKind
		var at int64
		if err := scanTotals(rows.Scan, &k.UsageTotals, &k.Kind, &at); err != nil {
			return nil, nil, failed("sum up calls of models", err)
		}
		kinds = append(kinds, k)
		if when := time.UnixMilli(at).UTC(); last == nil || when.After(*last) {
			last = &when
		}
	}
	return kinds, last, failed("sum up calls of models", rows.Err())
}
