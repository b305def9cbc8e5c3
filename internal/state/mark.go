package state

import (
	"context"
	"database/sql"
)

// Marks returns how far each source of an agent was read, by path. The marks
// are as they were given to [DB.SetMarks].
func (db *DB) Marks(ctx context.Context, agentID string) (map[string][]byte, error) {
	rows, err := db.read.QueryContext(ctx, "SELECT path, mark FROM mark WHERE agent = ?", agentID)
	if err != nil {
		return nil, failed("read marks", err)
	}
	defer rows.Close()
	marks := map[string][]byte{}
	for rows.Next() {
		var path string
		var mark []byte
		if err := rows.Scan(&path, &mark); err != nil {
			return nil, failed("read marks", err)
		}
		marks[path] = mark
	}
	return marks, failed("read marks", rows.Err())
}

// SetMarks keeps the marks of some sources of an agent, all or none. Marks that
// are kept already cost no write.
func (db *DB) SetMarks(ctx context.Context, agentID string, marks map[string][]byte) error {
	if len(marks) == 0 {
		return nil
	}
	return db.transact(ctx, "keep marks", func(tx *sql.Tx) error {
		return setMarks(ctx, tx, agentID, marks)
	})
}

func setMarks(ctx context.Context, tx *sql.Tx, agentID string, marks map[string][]byte) error {
	insert, err := tx.PrepareContext(ctx, `
		INSERT INTO mark (agent, path, mark) VALUES (?, ?, ?)
		ON CONFLICT (agent, path) DO UPDATE SET mark = excluded.mark WHERE mark <> excluded.mark`)
	if err != nil {
		return err
	}
	defer insert.Close()
	for path, mark := range marks {
		if mark == nil {
			mark = []byte{} // nil is NULL to the driver
		}
		if _, err := insert.ExecContext(ctx, agentID, path, mark); err != nil {
			return err
		}
	}
	return nil
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
