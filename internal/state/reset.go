package state

import (
	"context"
	"database/sql"
	"errors"
)

// Reset deletes everything, also from the file: nothing was read, nothing is
// permitted, and every choice has its initial value. Only what was written into
// agents' files stays on record: it is still there, and is to come out again.
func (db *DB) Reset(ctx context.Context) error {
	err := db.transact(ctx, "delete everything", func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'install'`)
		if err != nil {
			return err
		}
		var tables []string
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				return errors.Join(err, rows.Close())
			}
			tables = append(tables, name)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
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
