package state

import (
	"context"
	"database/sql"
	"errors"

	"ambry.dev/ambry"
)

// Marks returns how far each source of an agent was read, by path. The marks
// are as they were given to [DB.SetMarks].
func (db *DB) Marks(ctx context.Context, agentID string) (map[string]ambry.FileMark, error) {
	rows, err := db.read.QueryContext(ctx, "SELECT path, mark, messages, bytes FROM mark WHERE agent = ?", agentID)
	if err != nil {
		return nil, failed("read marks", err)
	}
	defer rows.Close()
	marks := map[string]ambry.FileMark{}
	for rows.Next() {
		var path string
		var m ambry.FileMark
		if err := rows.Scan(&path, &m.Mark, &m.Messages, &m.Bytes); err != nil {
			return nil, failed("read marks", err)
		}
		marks[path] = m
	}
	return marks, failed("read marks", rows.Err())
}

// Mark returns how far one source was read; the zero mark if it was not.
func (db *DB) Mark(ctx context.Context, agentID, path string) (ambry.FileMark, error) {
	var m ambry.FileMark
	err := db.read.QueryRowContext(ctx, "SELECT mark, messages, bytes FROM mark WHERE agent = ? AND path = ?", agentID, path).
		Scan(&m.Mark, &m.Messages, &m.Bytes)
	if errors.Is(err, sql.ErrNoRows) {
		return ambry.FileMark{}, nil
	}
	return m, failed("read a mark", err)
}

// Totals returns the sums of an agent's marks.
func (db *DB) Totals(ctx context.Context, agentID string) (ambry.SourceTotals, error) {
	var t ambry.SourceTotals
	err := db.read.QueryRowContext(ctx, `
		SELECT coalesce(sum(messages), 0), count(*) FILTER (WHERE messages > 0), coalesce(sum(bytes), 0)
		FROM mark WHERE agent = ?`, agentID).Scan(&t.Messages, &t.Conversations, &t.Bytes)
	return t, failed("sum up marks", err)
}

// SetMarks keeps the marks of some sources of an agent, all or none. Marks that
// are kept already cost no write.
func (db *DB) SetMarks(ctx context.Context, agentID string, marks map[string]ambry.FileMark) error {
	if len(marks) == 0 {
		return nil
	}
	return db.transact(ctx, "keep marks", func(tx *sql.Tx) error {
		insert, err := tx.PrepareContext(ctx, `
			INSERT INTO mark (agent, path, mark, messages, bytes) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (agent, path) DO UPDATE
			SET mark = excluded.mark, messages = excluded.messages, bytes = excluded.bytes
			WHERE mark <> excluded.mark OR messages <> excluded.messages OR bytes <> excluded.bytes`)
		if err != nil {
			return err
		}
		defer insert.Close()
		for path, m := range marks {
			if m.Mark == nil {
				m.Mark = []byte{} // nil is NULL to the driver
			}
			if _, err := insert.ExecContext(ctx, agentID, path, m.Mark, m.Messages, m.Bytes); err != nil {
				return err
			}
		}
		return nil
	})
}

// DeleteMarks forgets how far the given sources of an agent were read. Unknown
// paths are no error.
func (db *DB) DeleteMarks(ctx context.Context, agentID string, paths ...string) error {
	if len(paths) == 0 {
		return nil
	}
	return db.transact(ctx, "forget marks", func(tx *sql.Tx) error {
		for _, path := range paths {
			if _, err := tx.ExecContext(ctx, "DELETE FROM mark WHERE agent = ? AND path = ?", agentID, path); err != nil {
				return err
			}
		}
		return nil
	})
}
