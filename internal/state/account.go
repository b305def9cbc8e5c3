package state

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"ambry.dev/ambry"
)

// ChangeCodes has edit change what is known of the codes of an address, which is
// given by its digest, and of the time since. No other change comes between; edit
// must not use the database. What is older than since, and over, is forgotten.
func (db *DB) ChangeCodes(ctx context.Context, address []byte, since time.Time, edit func(*ambry.AccountCodes)) error {
	return db.transact(ctx, "change the codes of an address", func(tx *sql.Tx) error {
		if err := forgetCodes(ctx, tx, since); err != nil {
			return err
		}
		c, err := loadCodes(ctx, tx, address)
		if err != nil {
			return err
		}
		sent, wrong := len(c.Sent), len(c.Wrong)
		edit(&c)
		_, err = tx.ExecContext(ctx, "INSERT OR REPLACE INTO account_code (address, code, expires_at, sent_at, tries, tries_until) VALUES (?, ?, ?, ?, ?, ?)",
			address, c.Digest, milli(c.ExpiresAt), milli(c.SentAt), c.Tries, milli(c.TriesUntil))
		if err != nil {
			return err
		}
		return errors.Join(addEvents(ctx, tx, "sent", c.Sent[sent:]), addEvents(ctx, tx, "wrong", c.Wrong[wrong:]))
	})
}

func forgetCodes(ctx context.Context, tx *sql.Tx, since time.Time) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM account_event WHERE at <= ?", milli(since)); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "DELETE FROM account_code WHERE max(expires_at, sent_at, tries_until) <= ?", milli(since))
	return err
}

func loadCodes(ctx context.Context, tx *sql.Tx, address []byte) (c ambry.AccountCodes, err error) {
	var expires, sent, until int64
	err = tx.QueryRowContext(ctx, "SELECT code, expires_at, sent_at, tries, tries_until FROM account_code WHERE address = ?", address).
		Scan(&c.Digest, &expires, &sent, &c.Tries, &until)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return c, err
	}
	c.ExpiresAt, c.SentAt, c.TriesUntil = unmilli(expires), unmilli(sent), unmilli(until)
	if c.Sent, err = events(ctx, tx, "sent"); err != nil {
		return c, err
	}
	c.Wrong, err = events(ctx, tx, "wrong")
	return c, err
}

func events(ctx context.Context, tx *sql.Tx, kind string) (all []time.Time, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT at FROM account_event WHERE kind = ? ORDER BY at", kind)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var at int64
		if err := rows.Scan(&at); err != nil {
			return nil, err
		}
		all = append(all, unmilli(at))
	}
	return all, rows.Err()
}

func addEvents(ctx context.Context, tx *sql.Tx, kind string, all []time.Time) error {
	for _, at := range all {
		if _, err := tx.ExecContext(ctx, "INSERT INTO account_event (at, kind) VALUES (?, ?)", milli(at), kind); err != nil {
			return err
		}
	}
	return nil
}

// milli and unmilli keep a time as a number; no time is 0.
func milli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func unmilli(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// AddUser returns the account with an address. If there is none yet, it is p.
func (db *DB) AddUser(ctx context.Context, p ambry.AccountProfile, at time.Time) (who ambry.AccountProfile, isNew bool, err error) {
	err = db.transact(ctx, "add an account", func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, "INSERT INTO account_user (id, email, nickname, created_at) VALUES (?, ?, ?, ?) ON CONFLICT (email) DO NOTHING",
			p.UserID, p.Email, p.Nickname, milli(at))
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if err != nil {
			return err
		}
		isNew, who.Email = n == 1, p.Email
		return tx.QueryRowContext(ctx, "SELECT id, nickname FROM account_user WHERE email = ?", p.Email).Scan(&who.UserID, &who.Nickname)
	})
	return who, isNew, err
}

// AddGrant keeps a session by its digest, and forgets those that have expired.
func (db *DB) AddGrant(ctx context.Context, g ambry.AccountGrant) error {
	return db.transact(ctx, "keep a session", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM account_session WHERE expires_at <= ?", milli(g.CreatedAt)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO account_session (digest, user_id, created_at, expires_at) VALUES (?, ?, ?, ?)",
			g.Digest, g.User.UserID, milli(g.CreatedAt), milli(g.ExpiresAt))
		return err
	})
}

// Grant returns the session with a digest, also one that is over.
func (db *DB) Grant(ctx context.Context, digest []byte) (g ambry.AccountGrant, err error) {
	var created, expires int64
	var revoked sql.NullInt64
	err = db.read.QueryRowContext(ctx, "SELECT s.created_at, s.expires_at, s.revoked_at, u.id, u.email, u.nickname FROM account_session s JOIN account_user u ON u.id = s.user_id WHERE s.digest = ?", digest).
		Scan(&created, &expires, &revoked, &g.User.UserID, &g.User.Email, &g.User.Nickname)
	if errors.Is(err, sql.ErrNoRows) {
		return g, ambry.NotFound.Errorf("there is no such session")
	}
	g.Digest, g.CreatedAt, g.ExpiresAt, g.RevokedAt = digest, unmilli(created), unmilli(expires), moment(revoked)
	return g, failed("read a session", err)
}

// RevokeGrant ends the session with a digest, if there is one.
func (db *DB) RevokeGrant(ctx context.Context, digest []byte, at time.Time) error {
	return db.transact(ctx, "end a session", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE account_session SET revoked_at = ? WHERE digest = ? AND revoked_at IS NULL", milli(at), digest)
		return err
	})
}

// RevokeGrants ends all sessions of the account with an address, and returns how
// many that were.
func (db *DB) RevokeGrants(ctx context.Context, email string, at time.Time) (n int64, err error) {
	err = db.transact(ctx, "end the sessions of an account", func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, "UPDATE account_session SET revoked_at = ? WHERE revoked_at IS NULL AND user_id = (SELECT id FROM account_user WHERE email = ?)", milli(at), email)
		if err != nil {
			return err
		}
		n, err = res.RowsAffected()
		return err
	})
	return n, err
}
