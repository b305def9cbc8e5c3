package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"
)

// Scanner is a row that may turn out to be an error.
type Scanner interface{ Scan(dest ...any) error }

// FailedRow is a row that is only an error.
func FailedRow(err error) Scanner { return failed{err} }

type failed struct{ err error }

func (f failed) Scan(...any) error { return f.err }

// Rower runs a query that gives at most one row: a transaction, or a reader.
type Rower interface {
	Row(query string, args ...any) Scanner
}

// Found turns the absence of a row into false.
func Found(err error) (bool, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Column collects the only column of a query.
func Column[T any](rows *sql.Rows, err error) ([]T, error) {
	return Collect(rows, err, func(rows *sql.Rows) (v T, err error) { return v, rows.Scan(&v) })
}

// Collect collects what scan makes of each row.
func Collect[T any](rows *sql.Rows, err error, scan func(*sql.Rows) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	out := []T{}
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// ScanTwo reads rows of two columns.
func ScanTwo[A, B, T any](with func(A, B) T) func(*sql.Rows) (T, error) {
	return func(rows *sql.Rows) (T, error) {
		var a A
		var b B
		err := rows.Scan(&a, &b)
		return with(a, b), err
	}
}

// The times that JSON can write: the years 0 to 9999, in UTC.
var (
	firstMillis = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	endOfMillis = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
)

// Millis returns t in Unix milliseconds, 0 for the zero time and for one that in
// UTC is of a year that JSON cannot write.
func Millis(t time.Time) int64 {
	if ms := t.UnixMilli(); !t.IsZero() && firstMillis <= ms && ms < endOfMillis {
		return ms
	}
	return 0
}

// Time is the time of Unix milliseconds, the zero time for 0. A time that Millis
// does not return, which a damaged row may have, is unknown rather than the end
// of a whole answer.
func Time(ms int64) time.Time {
	if ms == 0 || ms < firstMillis || ms >= endOfMillis {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// Wrapf says what was being done when err happened; nil stays nil.
func Wrapf(err error, doing string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(doing, args...), err)
}

// FileSize is how large a file is, 0 if there is none.
func FileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
