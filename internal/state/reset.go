package state

import (
	"context"
	"database/sql"
)

// undo are the tables that it takes to undo what was written into the files of
// agents.
var undo = map[string]bool{"install": true, "agent_token": true}

// Reset deletes everything, also from the file: nothing was read, nothing is
// permitted, and every choice has its initial value. What it takes to undo what
// was written into the files of agents stays.
func (db *DB) Reset(ctx context.Context) error {
	err := db.transact(ctx, "delete everything", func(tx *sql.Tx) error {
		tables, err := tablesToEmpty(ctx, tx)
		if err != nil {
			return err
		}
		for _, name := range tables {
			if _, err := tx.ExecContext(ctx, `DELETE FROM "`+name+`"`); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, q := range []string{"VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"} {
		if _, err := db.write.ExecContext(ctx, q); err != nil {
			return failed("delete everything from the file", err)
		}
	}
	return nil
}

func tablesToEmpty(ctx context.Context, tx *sql.Tx) (tables []string, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		if !undo[name] {
			tables = append(tables, name)
		}
	}
	return tables, rows.Err()
}
