package state

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"ambry.dev/ambry"
)

// LastScan returns when an agent's history was last read to its end, to the
// millisecond; the zero time if it never was.
func (db *DB) LastScan(ctx context.Context, agentID string) (time.Time, error) {
	var at int64
	err := db.read.QueryRowContext(ctx, "SELECT last_scanned_at FROM source WHERE agent = ?", agentID).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, nil
	}
	return time.UnixMilli(at).UTC(), failed("read the time of a scan", err)
}

// SetLastScan keeps when an agent's history was last read to its end.
func (db *DB) SetLastScan(ctx context.Context, agentID string, at time.Time) error {
	return db.transact(ctx, "keep the time of a scan", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO source (agent, last_scanned_at) VALUES (?, ?)", agentID, at.UnixMilli())
		return err
	})
}

// Completion returns how the last scan ended, nil if there was none.
func (db *DB) Completion(ctx context.Context) (*ambry.ScanCompletion, error) {
	c, err := db.lastScan.Load(ctx)
	if err != nil || c.JobID == "" {
		return nil, err
	}
	return &c, nil
}

// SetCompletion keeps how the last scan ended.
func (db *DB) SetCompletion(ctx context.Context, c ambry.ScanCompletion) error {
	_, err := db.lastScan.Change(ctx, func(last *ambry.ScanCompletion) error {
		*last = c
		return nil
	})
	return err
}
