package state

import (
	"context"
	"database/sql"
	"time"

	"ambry.dev/ambry"
)

// ManualSources returns the sources that the person added, the oldest first.
func (db *DB) ManualSources(ctx context.Context) (all []ambry.ManualSource, err error) {
	rows, err := db.read.QueryContext(ctx, "SELECT id, name, path, format, at FROM manual_source ORDER BY at, id")
	if err != nil {
		return nil, failed("read the sources that were added", err)
	}
	defer rows.Close()
	for rows.Next() {
		var m ambry.ManualSource
		var at int64
		if err := rows.Scan(&m.ID, &m.DisplayName, &m.DataPath, &m.Format, &at); err != nil {
			return nil, failed("read the sources that were added", err)
		}
		m.AddedAt = time.UnixMilli(at).UTC()
		all = append(all, m)
	}
	return all, failed("read the sources that were added", rows.Err())
}

// AddManualSource keeps a source.
func (db *DB) AddManualSource(ctx context.Context, m ambry.ManualSource) error {
	return db.transact(ctx, "keep a source", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO manual_source (id, name, path, format, at) VALUES (?, ?, ?, ?, ?)",
			m.ID, m.DisplayName, m.DataPath, m.Format, m.AddedAt.UnixMilli())
		return err
	})
}

// RemoveManualSource removes a source, with all that is known of how far it was
// read, and reports whether there was one.
func (db *DB) RemoveManualSource(ctx context.Context, id string) (was bool, err error) {
	err = db.transact(ctx, "remove a source", func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, "DELETE FROM manual_source WHERE id = ?", id)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if was = n > 0; err != nil || !was {
			return err
		}
		for _, q := range []string{"DELETE FROM mark WHERE agent = ?", "DELETE FROM source WHERE agent = ?"} {
			if _, err := tx.ExecContext(ctx, q, id); err != nil {
				return err
			}
		}
		return nil
	})
	return was, err
}
