package state

import (
	"context"
	"database/sql"
	"time"
)

// Source is what was read of an agent so far. The zero value is nothing.
type Source struct {
	Messages      int64
	Conversations int64
	Bytes         int64      // of history
	LastScannedAt *time.Time // kept to the millisecond; nil before the first scan
	LastError     string     // why it could not be read, if so
}

// Sources returns what was read of each agent so far, by agent.
func (db *DB) Sources(ctx context.Context) (map[string]Source, error) {
	rows, err := db.read.QueryContext(ctx,
		"SELECT agent, messages, conversations, bytes, last_scanned_at, last_error FROM source")
	if err != nil {
		return nil, failed("read sources", err)
	}
	defer rows.Close()
	sources := map[string]Source{}
	for rows.Next() {
		var agentID string
		var s Source
		var at sql.NullInt64
		if err := rows.Scan(&agentID, &s.Messages, &s.Conversations, &s.Bytes, &at, &s.LastError); err != nil {
			return nil, failed("read sources", err)
		}
		if at.Valid {
			t := time.UnixMilli(at.Int64).UTC()
			s.LastScannedAt = &t
		}
		sources[agentID] = s
	}
	return sources, failed("read sources", rows.Err())
}

// SetSource keeps what was read of an agent so far.
func (db *DB) SetSource(ctx context.Context, agentID string, read Source) error {
	return db.transact(ctx, "keep source", func(tx *sql.Tx) error {
		return setSource(ctx, tx, agentID, read)
	})
}

// SetProgress keeps marks and what was read with them, all or nothing: the
// counts are never ahead of the marks nor behind them.
func (db *DB) SetProgress(ctx context.Context, agentID string, marks map[string][]byte, read Source) error {
	return db.transact(ctx, "keep progress", func(tx *sql.Tx) error {
		if err := setMarks(ctx, tx, agentID, marks); err != nil {
			return err
		}
		return setSource(ctx, tx, agentID, read)
	})
}

func setSource(ctx context.Context, tx *sql.Tx, agentID string, s Source) error {
	var at sql.NullInt64
	if s.LastScannedAt != nil {
		at = sql.NullInt64{Int64: s.LastScannedAt.UnixMilli(), Valid: true}
	}
	_, err := tx.ExecContext(ctx, `
		INSERT OR REPLACE INTO source (agent, messages, conversations, bytes, last_scanned_at, last_error)
		VALUES (?, ?, ?, ?, ?, ?)`,
		agentID, s.Messages, s.Conversations, s.Bytes, at, s.LastError)
	return err
}
