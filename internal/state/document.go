package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
)

// Document is one thing that there is one of. It is kept as JSON: a field that
// is not in what was kept has its initial value.
type Document[T any] struct {
	db      *DB
	name    string
	initial func() T
}

// Load returns the document as it is, or its initial value.
func (d Document[T]) Load(ctx context.Context) (T, error) {
	value, err := d.load(d.db.read.QueryRowContext(ctx, selectDocument, d.name))
	return value, failed("read "+d.name, err)
}

// Change has edit change the document, and returns it as it is then. No other
// change comes between; edit must not use the database. When edit returns an
// error nothing changes, and that error is returned, wrapped.
func (d Document[T]) Change(ctx context.Context, edit func(*T) error) (T, error) {
	var value T
	err := d.db.transact(ctx, "change "+d.name, func(tx *sql.Tx) (err error) {
		value, err = d.load(tx.QueryRowContext(ctx, selectDocument, d.name))
		if err != nil {
			return err
		}
		if err := edit(&value); err != nil {
			return err
		}
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT OR REPLACE INTO document (name, value) VALUES (?, ?)", d.name, string(text))
		return err
	})
	if err != nil {
		return *new(T), err
	}
	return value, nil
}

const selectDocument = "SELECT value FROM document WHERE name = ?"

func (d Document[T]) load(row *sql.Row) (T, error) {
	value := d.initial()
	var text string
	err := row.Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return value, nil
	}
	if err != nil {
		return value, err
	}
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return d.initial(), fmt.Errorf("it is not as we wrote it: %w", err)
	}
	return value, nil
}
