package sqlite

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"ambry.dev/ambry"
)

// Failure gives an error of SQLite the kind that a caller can act on.
func Failure(err error) error {
	switch code(err) {
	case sqlite3.SQLITE_FULL:
		return ambry.StorageFull.Wrap(err, "the disk is full; free some space and try again")
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		return ambry.MemoryUnavailable.Wrap(err, "the memory file cannot be written; check the permissions of its directory")
	case sqlite3.SQLITE_IOERR:
		return ambry.MemoryUnavailable.Wrap(err, "the disk does not take or give data; check it, then try again")
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return ambry.MemoryUnavailable.Wrap(err, "another program holds the memory file")
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return ambry.MemoryUnavailable.Wrap(err, `the memory file is damaged; see "ambry doctor"`)
	}
	return err
}

// Unreadable is the error for what stands in a row and is not as it was written.
func Unreadable(doing string, err error) error {
	return ambry.MemoryUnavailable.Wrap(fmt.Errorf("%s: %w", doing, err), `the memory file is damaged; see "ambry doctor"`)
}

// Damaged reports whether err says that the file itself is wrong, and not what
// stands around it.
func Damaged(err error) bool {
	switch code(err) {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return true
	}
	return err != nil && strings.Contains(err.Error(), "memory file is damaged")
}

// code returns the primary result code of SQLite, 0 for other errors.
func code(err error) int {
	if e, ok := errors.AsType[*driver.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// OfStorage reports whether err is about the disk rather than the request, so
// that SQLite may have given up the whole transaction.
func OfStorage(err error) bool {
	switch code(err) {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN,
		sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_BUSY:
		return true
	}
	return false
}

// Trouble remembers why the last write did not reach the disk.
type Trouble struct{ what atomic.Pointer[string] }

// Reason is why, "" when it did.
func (t *Trouble) Reason() string {
	if p := t.what.Load(); p != nil {
		return *p
	}
	return ""
}

// Set reports whether that is news.
func (t *Trouble) Set(err error) bool {
	reason := Failure(err).Error()
	old := t.what.Swap(&reason)
	return old == nil
}

// Clear reports whether that is news.
func (t *Trouble) Clear() bool { return t.what.Swap(nil) != nil }
