// Package state is the service's own database, app.db: how far histories were
// read, what was counted, and the person's choices. It is not for memories,
// which only the memory runtime stores, and not for config.yaml.
package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/home"
)

// DB is the open database. All methods may be called at the same time. What a
// method wrote without an error is on the disk: it survives kill -9 and power
// loss. A full disk answers [ambry.StorageFull].
type DB struct {
	// AppSettings, Onboarding, Privacy and ScanPreferences are the person's
	// choices, in a new home the defaults of package ambry.
	AppSettings     Document[ambry.AppSettings]
	Onboarding      Document[ambry.Onboarding]
	Privacy         Document[ambry.Privacy]
	ScanPreferences Document[ambry.ScanPreferences]

	ModelSetup Document[ambry.ModelSetup] // the models the person has chosen, without their keys

	Channels       Document[ambry.ChannelSetup]   // what was connected, without secrets
	ChannelCursors Document[ambry.ChannelCursors] // how far services were read

	lastScan    Document[ambry.ScanCompletion] // its JobID is empty if there was none
	write, read *sql.DB
}

// Open opens the database of a home, and brings its schema up to date after
// putting a copy into the home's backups. A database that a newer version wrote
// is refused and stays untouched. Whoever opens it holds the home's lock.
func Open(ctx context.Context, h home.Home) (*DB, error) {
	schema, err := fs.Sub(schemas, "schema")
	if err != nil {
		return nil, err
	}
	return open(ctx, h, schema)
}

func open(ctx context.Context, h home.Home, schema fs.FS) (*DB, error) {
	path := h.AppDB()
	steps, err := migrations(schema)
	if err != nil {
		return nil, err
	}
	if err := refuseNewer(ctx, path, len(steps)); err != nil {
		return nil, err
	}
	db := &DB{}
	if db.write, err = pool(path, 1, "_txlock", "immediate", "_pragma", "journal_mode(WAL)", "_pragma", "synchronous(FULL)"); err != nil {
		return nil, err
	}
	if db.read, err = pool(path, 2, "_query_only", "1"); err != nil {
		return nil, err
	}
	if err := migrate(ctx, db.write, steps, h.Backups()); err != nil {
		return nil, errors.Join(fmt.Errorf("open app.db: %w", err), db.Close())
	}
	db.AppSettings = Document[ambry.AppSettings]{db, "app_settings", ambry.DefaultAppSettings}
	db.Onboarding = Document[ambry.Onboarding]{db, "onboarding", ambry.DefaultOnboarding}
	db.Privacy = Document[ambry.Privacy]{db, "privacy", zero[ambry.Privacy]}
	db.ScanPreferences = Document[ambry.ScanPreferences]{db, "scan_preferences", ambry.DefaultScanPreferences}
	db.ModelSetup = Document[ambry.ModelSetup]{db, "model_setup", ambry.DefaultModelSetup}
	db.Channels = Document[ambry.ChannelSetup]{db, "channels", zero[ambry.ChannelSetup]}
	db.ChannelCursors = Document[ambry.ChannelCursors]{db, "channel_cursors", zero[ambry.ChannelCursors]}
	db.lastScan = Document[ambry.ScanCompletion]{db, "last_scan", zero[ambry.ScanCompletion]}
	return db, nil
}

func zero[T any]() (v T) { return v }

// Close waits for what is being done, and closes the database.
func (db *DB) Close() error { return errors.Join(db.read.Close(), db.write.Close()) }

// pool returns connections to the file at path. Each keeps at most 1 MiB of
// pages; options are names and values of the driver.
func pool(path string, connections int, options ...string) (*sql.DB, error) {
	query := url.Values{"_pragma": {"busy_timeout(5000)", "cache_size(-1024)"}}
	for i := 0; i < len(options); i += 2 {
		query.Add(options[i], options[i+1])
	}
	name := filepath.ToSlash(path)
	if !strings.HasPrefix(name, "/") {
		name = "/" + name // C:/… on Windows
	}
	dsn := url.URL{Scheme: "file", Path: name, RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(1)
	return db, nil
}

// transact runs do within a write transaction. doing says what for.
func (db *DB) transact(ctx context.Context, doing string, do func(*sql.Tx) error) error {
	tx, err := db.write.BeginTx(ctx, nil)
	if err != nil {
		return failed(doing, err)
	}
	defer tx.Rollback() // after Commit it does nothing
	if err := do(tx); err != nil {
		return failed(doing, err)
	}
	return failed(doing, tx.Commit())
}

// failed says what was being done when err happened.
func failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s: %w", doing, err)
	if e, ok := errors.AsType[*sqlite.Error](err); ok && e.Code()&0xff == sqlite3.SQLITE_FULL {
		return ambry.StorageFull.Wrap(err, "the disk is full; free some space and try again")
	}
	return err
}
