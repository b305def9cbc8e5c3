package store

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
	"strconv"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver

	"ambry.dev/ambry"
)

// applicationID marks our files, "Ambr" (https://sqlite.org/fileformat2.html#application_id).
const applicationID = 0x416d6272

// What the connections may hold. The file is not mapped: with these caches that
// gains nothing (measured, ADR 0002), counts as memory of the process, and turns
// a disk error into a crash.
const (
	writerCacheKiB  = 8 << 10
	readerCacheKiB  = 8 << 10
	maxReaders      = 3
	readerIdle      = 30 * time.Second // then a reader gives its cache back
	checkpointPages = 4 << 10          // of 4 KiB: the log is moved into the file at 16 MB
	logLimitBytes   = 32 << 20         // and cut to this once it is empty
)

// synchronous is a variable only so that a program can be built that loses what
// it acknowledges: the test of power cuts must see that.
var synchronous = "FULL"

// open opens the file, brings it to the newest schema and returns its writer.
func (s *Store) open(ctx context.Context, c Config) (*writer, error) {
	if err := checkFile(c.Path); err != nil {
		return nil, err
	}
	var err error
	s.writers, err = connect(c.Path, 1, map[string]string{
		"journal_mode":       "WAL",
		"synchronous":        synchronous,
		"foreign_keys":       "ON",
		"secure_delete":      "FAST",
		"temp_store":         "MEMORY",
		"cache_size":         strconv.Itoa(-writerCacheKiB),
		"wal_autocheckpoint": strconv.Itoa(checkpointPages),
		"journal_size_limit": strconv.Itoa(logLimitBytes),
	})
	if err != nil {
		return nil, err
	}
	conn, err := s.writers.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the memory: %w", err)
	}
	w := newWriter(s, conn)
	if err := s.prepareFile(ctx, c, w); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// prepareFile checks the file, brings it to the newest schema and index, and
// opens the readers.
func (s *Store) prepareFile(ctx context.Context, c Config, w *writer) error {
	if err := checkContent(ctx, w.conn, c.Path); err != nil {
		return err
	}
	if err := sweepParts(s.backups); err != nil {
		return err
	}
	m := migrator{conn: w.conn, path: c.Path, backups: s.backups, now: s.now, log: s.log}
	if err := m.run(ctx, migrations()); err != nil {
		return err
	}
	var err error
	s.readers, err = connect(c.Path, maxReaders, map[string]string{
		"query_only": "ON",
		"temp_store": "MEMORY",
		"cache_size": strconv.Itoa(-readerCacheKiB),
	})
	if err != nil {
		return err
	}
	s.readers.SetConnMaxIdleTime(readerIdle)
	if err := w.ensureVectors(); err != nil {
		return err
	}
	return w.openIndex(ctx)
}

// connect returns a pool of at most n connections with the given pragmas.
func connect(path string, n int, pragmas map[string]string) (*sql.DB, error) {
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

// checkFile looks at the first bytes without SQLite, which would touch the file.
// It makes an empty one that only its owner can read if there is none.
func checkFile(path string) error {
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

// checkContent looks for damage. After a clean stop it looks at the small tables
// only; when a log was left behind, at everything that can be read quickly.
func checkContent(ctx context.Context, conn *sql.Conn, path string) error {
	var version int
	if err := conn.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
		return fmt.Errorf("read the version of the memory: %w", err)
	}
	if err := checkVersion(version); err != nil || version == 0 {
		return err
	}
	checks := []string{"agent", "project", "tally", "total", "meta"} // tables
	if dirty(path) {
		checks = []string{"1"} // all of them, as far as the first error
	}
	for _, c := range checks {
		var found string
		if err := conn.QueryRowContext(ctx, "PRAGMA quick_check("+c+")").Scan(&found); err != nil {
			return fmt.Errorf("check the memory: %w", err)
		}
		if found != "ok" {
			return ambry.MemoryUnavailable.Wrap(errors.New(found), `the memory file is damaged; see "ambry doctor"`)
		}
	}
	return nil
}

// quickBytes is a size that quick_check reads in well under 100 ms.
const quickBytes = 32 << 20

// dirty reports whether a log was left behind by a process that did not stop
// cleanly, and the file is small enough to look at all of it.
func dirty(path string) bool {
	wal, err := os.Stat(path + "-wal")
	if err != nil || wal.Size() == 0 {
		return false
	}
	main, err := os.Stat(path)
	return err == nil && main.Size() <= quickBytes
}
