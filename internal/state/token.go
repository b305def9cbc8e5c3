package state

import (
	"context"
	"database/sql"
	"time"

	"ambry.dev/ambry"
)

// AddToken keeps a token of an agent by its digest.
func (db *DB) AddToken(ctx context.Context, t ambry.AgentToken, digest []byte) error {
	return db.transact(ctx, "keep a token", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO agent_token (id, agent, digest, created_at) VALUES (?, ?, ?, ?)", t.ID, t.Agent, digest, t.CreatedAt.UnixMilli())
		return err
	})
}

// Tokens returns the tokens of agents, also those that were revoked, the newest
// first, and the digest of each.
func (db *DB) Tokens(ctx context.Context) (all []ambry.AgentToken, digests [][]byte, err error) {
	rows, err := db.read.QueryContext(ctx, "SELECT id, agent, digest, created_at, used_at, revoked_at FROM agent_token ORDER BY created_at DESC, id DESC")
	if err != nil {
		return nil, nil, failed("read the tokens", err)
	}
	defer rows.Close()
	for rows.Next() {
		var t ambry.AgentToken
		var digest []byte
		var created int64
		var used, revoked sql.NullInt64
		if err := rows.Scan(&t.ID, &t.Agent, &digest, &created, &used, &revoked); err != nil {
			return nil, nil, failed("read the tokens", err)
		}
		t.CreatedAt, t.LastUsedAt, t.RevokedAt = time.UnixMilli(created).UTC(), moment(used), moment(revoked)
		all, digests = append(all, t), append(digests, digest)
	}
	return all, digests, failed("read the tokens", rows.Err())
}

func moment(ms sql.NullInt64) *time.Time {
	if !ms.Valid {
		return nil
	}
	at := time.UnixMilli(ms.Int64).UTC()
	return &at
}

// UseToken notes when a token was used last.
func (db *DB) UseToken(ctx context.Context, id string, at time.Time) error {
	return db.transact(ctx, "note the use of a token", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE agent_token SET used_at = ? WHERE id = ?", at.UnixMilli(), id)
		return err
	})
}

// RevokeTokens revokes the token with an id, or all tokens of an agent, and
// returns how many that were.
func (db *DB) RevokeTokens(ctx context.Context, idOrAgent string, at time.Time) (n int64, err error) {
	err = db.transact(ctx, "revoke a token", func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, "UPDATE agent_token SET revoked_at = ?1 WHERE (id = ?2 OR agent = ?2) AND revoked_at IS NULL", at.UnixMilli(), idOrAgent)
		if err != nil {
			return err
		}
		n, err = res.RowsAffected()
		return err
	})
	return n, err
}
