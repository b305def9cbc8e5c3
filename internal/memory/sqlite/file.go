// Package sqlite is the file of the memory: its schema, who may open it, the
// connections that read, and its copies. It does not know what the rows mean
// (that is store), nor write any but those of a migration.
package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver

	"ambry.dev/ambry"
)

// applicationID marks our files, "Ambr" (https://sqlite.org/fileformat2.html#application_id).
const applicationID = 0x416d6272

// Connect returns a pool of at most n connections with the given pragmas.
func Connect(path string, n int, pragmas map[string]string) (*sql.DB, error) {
	q := url.Values{"_txlock": {"immediate"}, "_pragma": {"busy_timeout(5000)"}}
	for name, value := range pragmas {
		q.Add("_pragma", name+"("+value+")")
	}
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive letter
	}
	dsn := url.URL{Scheme: "file", Path: slashed, RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, fmt.Errorf("open the memory: %w", err)
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

// CheckFile looks at the first bytes without SQLite, which would touch the file.
// It makes an empty one that only its owner can read if there is none.
func CheckFile(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	}
	if err != nil {
		return ambry.MemoryUnavailable.Wrap(err, "the memory file cannot be opened; check the permissions of its directory")
	}
	defer func() { _ = f.Close() }()
	var header [100]byte // https://sqlite.org/fileformat2.html#the_database_header
	n, err := io.ReadFull(f, header[:])
	switch {
	case n == 0 && errors.Is(err, io.EOF):
		return nil
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("read the header of the memory: %w", err)
	case n < len(header) || string(header[:16]) != "SQLite format 3\x00":
		return ambry.MemoryUnavailable.Errorf(`the memory file is damaged: it does not begin as a database does; see "ambry doctor"`)
	}
	version := binary.BigEndian.Uint32(header[60:])
	id := binary.BigEndian.Uint32(header[68:])
	// One page without version and id is ours too, if we were killed right after
	// making it.
	if pages := binary.BigEndian.Uint32(header[28:]); id != applicationID && (version > 0 || pages > 1) {
		return errForeign
	}
	return checkVersion(int(version))
}

var errForeign = ambry.MemoryUnavailable.Errorf("the memory file belongs to another program; move it away")

// checkVersion refuses what a newer version of this program has written.
func checkVersion(version int) error {
	if version > len(migrations()) {
		return ambry.MemoryUnavailable.Errorf("the memory was written by a newer version of Ambry (schema %d, this one knows %d); install the newer version",
			version, len(migrations()))
	}
	return nil
}

// CheckContent looks for damage: at everything in a small memory, and else after a
// clean stop at the small tables, and when a log was left behind at all that can
// be read quickly. What it leaves out is looked at before each backup.
func CheckContent(ctx context.Context, conn *sql.Conn, path string) error {
	var version int
	if err := conn.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
		return fmt.Errorf("read the version of the memory: %w", err)
	}
	if err := checkVersion(version); err != nil || version == 0 {
		return err
	}
	checks := []string{"quick_check(agent)", "quick_check(project)", "quick_check(tally)", "quick_check(total)", "quick_check(meta)"}
	switch size := FileSize(path); {
	case size <= wholeBytes:
		checks = []string{wholeCheck}
	case size <= QuickBytes && FileSize(path+"-wal") > 0:
		checks = []string{"quick_check(1)"}
	}
	for _, c := range checks {
		if err := checked(ctx, conn, c); err != nil {
			return err
		}
	}
	return nil
}

// wholeCheck also compares each index with its table, in which a row would not be
// found otherwise.
const wholeCheck = "integrity_check(1)"

// asked is a connection, or a pool of them.
type asked interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// checked runs a pragma that says ok, or what is wrong.
func checked(ctx context.Context, db asked, pragma string) error {
	var found string
	if err := db.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(&found); err != nil {
		return fmt.Errorf("check the memory: %w", Failure(err))
	}
	if found != "ok" {
		return ambry.MemoryUnavailable.Wrap(errors.New(found), `the memory file is damaged; see "ambry doctor"`)
	}
	return nil
}

// wholeBytes is a size that integrity_check reads in well under 100 ms, and
// QuickBytes one for quick_check, which does less.
const (
	wholeBytes = 8 << 20
	QuickBytes = 32 << 20
)
