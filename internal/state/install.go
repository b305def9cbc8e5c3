package state

import (
	"context"
	"database/sql"
	"time"

	"ambry.dev/ambry"
)

// Installs returns what is written into the agents' files, ordered by agent and
// part.
func (db *DB) Installs(ctx context.Context) ([]ambry.SkillInstall, error) {
	rows, err := db.read.QueryContext(ctx, "SELECT agent, part, state, data, at FROM install ORDER BY agent, part")
	if err != nil {
		return nil, failed("read installs", err)
	}
	defer rows.Close()
	var all []ambry.SkillInstall
	for rows.Next() {
		var i ambry.SkillInstall
		var at int64
		if err := rows.Scan(&i.Agent, &i.Part, &i.State, &i.Data, &at); err != nil {
			return nil, failed("read installs", err)
		}
		i.At = time.UnixMilli(at).UTC()
		all = append(all, i)
	}
	return all, failed("read installs", rows.Err())
}

// SetInstall keeps what is written into an agent's files. The one of the same
// agent and part before it is forgotten.
func (db *DB) SetInstall(ctx context.Context, i ambry.SkillInstall) error {
	return db.transact(ctx, "keep an install", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO install (agent, part, state, data, at) VALUES (?, ?, ?, ?, ?)",
			i.Agent, string(i.Part), i.State, i.Data, i.At.UnixMilli())
		return err
	})
}

// DeleteInstall forgets an install. One that is not there is no error.
func (db *DB) DeleteInstall(ctx context.Context, agentID string, part ambry.SkillPart) error {
	return db.transact(ctx, "forget an install", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM install WHERE agent = ? AND part = ?", agentID, string(part))
		return err
	})
}
