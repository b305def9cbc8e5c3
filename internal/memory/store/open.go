package store

import (
	"context"
	"fmt"
	"strconv"

	"ambry.dev/ambry/internal/memory/sqlite"
)

// What the connections may hold. The file is not mapped: with these caches that
// gains nothing (measured, ADR 0002), counts as memory of the process, and turns
// a disk error into a crash.
const (
	writerCacheKiB  = 6 << 10
	checkpointPages = 4 << 10  // of 4 KiB: the log is moved into the file at 16 MB
	logLimitBytes   = 32 << 20 // and cut to this once it is empty
)

// synchronous is a variable only so that a program can be built that loses what
// it acknowledges: the test of power cuts must see that.
var synchronous = "FULL"

// open opens the file, brings it to the newest schema and returns its writer.
func (s *Store) open(ctx context.Context, c Config) (*writer, error) {
	if err := sqlite.CheckFile(c.Path); err != nil {
		return nil, err
	}
	var err error
	s.writers, err = sqlite.Connect(c.Path, 1, map[string]string{
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
	if err := sqlite.CheckContent(ctx, w.conn, c.Path); err != nil {
		return err
	}
	if err := sqlite.SweepParts(s.backups); err != nil {
		s.log.Warn("half a backup stays", "err", err)
	}
	if err := sqlite.Migrate(ctx, w.conn, c.Path, s.backups, s.now, s.log); err != nil {
		return err
	}
	var err error
	s.readers, err = sqlite.OpenPool(c.Path)
	if err != nil {
		return err
	}
	if err := w.ensureVectors(); err != nil {
		return err
	}
	return w.openIndex(ctx, c.Working)
}
