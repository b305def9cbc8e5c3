// Package store keeps the memory in one SQLite file. It is the only package
// that knows memory.db: its tables, its text index and its counters. It does not
// rank (that is recall) and does not clean (whoever calls it has).
//
// One goroutine writes; many may read. Writes that wait at the same time are
// committed together, and each is answered after the disk has it.
package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/index"
	"ambry.dev/ambry/internal/memory/report"
	"ambry.dev/ambry/internal/memory/sqlite"
)

// Config says where the memory is. Path is needed, the rest has defaults.
type Config struct {
	Path      string           // of memory.db; its directory must exist
	BackupDir string           // for copies of days and before migrations; "backups" beside Path if empty
	Logger    *slog.Logger     // nil logs nothing
	Now       func() time.Time // nil is time.Now

	// Working is told, once a second or so, what takes long when the memory is
	// opened, as in "indexes its memories anew, 3,000 of 7,000". It may be nil.
	Working func(at string)

	// The log of calls keeps what is no older and, together, no larger.
	LogLife  time.Duration // 90 days if 0
	LogBytes int64         // 32 MiB if 0
}

// Store is an open memory. All methods may be called at the same time.
type Store struct {
	path    string
	backups string
	now     func() time.Time
	log     *slog.Logger
	readers *sqlite.Pool
	writers *sql.DB

	slots    chan struct{} // one for each builder that is lent
	builders sync.Pool
	unpacker document.Unpacker

	index  *index.Index
	recent recent
	merge  merging

	mu     sync.RWMutex // guards closed, and sending to jobs
	closed bool
	jobs   chan *job
	done   chan struct{} // closed when the writer has ended

	trouble sqlite.Trouble
	watch   VectorWatch // nil if nobody wants to know

	arrived chan struct{} // turns wait to be learned from
	busy    busy          // with what a person asked for

	written  atomic.Int64 // grows whenever something is written
	counters settled[Health]
	due      settled[int64] // memories that need a vector

	reports      *report.Reports
	journal      *journal
	closeJournal sync.Once

	logLife  time.Duration
	logBytes int64
}

// Open opens the memory, and makes or migrates it first if need be. An error is
// of kind [ambry.MemoryUnavailable] when the file is damaged, of another program
// or of a newer version; then nothing was changed.
func Open(ctx context.Context, c Config) (*Store, error) {
	s := &Store{
		path:    c.Path,
		backups: cmp.Or(c.BackupDir, filepath.Join(filepath.Dir(c.Path), "backups")),
		now:     c.Now,
		log:     c.Logger,
		jobs:    make(chan *job, maxGroup),
		done:    make(chan struct{}),

		merge:   newMerging(),
		recent:  recent{changed: make(chan struct{}, 1)},
		arrived: make(chan struct{}, 1),

		slots:    make(chan struct{}, maxBuilders),
		unpacker: document.NewUnpacker(),

		journal:  newJournal(),
		logLife:  cmp.Or(c.LogLife, logLife),
		logBytes: cmp.Or(c.LogBytes, maxLogBytes),
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	w, err := s.open(ctx, c)
	if err != nil {
		return nil, errors.Join(sqlite.Failure(err), s.closeFiles())
	}
	go func() {
		defer close(s.done)
		w.run(s.jobs)
	}()
	s.reports = &report.Reports{
		Readers: s.readers, Bodies: s.unpacker, Path: s.path, Now: s.now,
		Flush: s.journal.flush, Dropped: s.journal.dropped.Load,
	}
	go s.journal.run(s.record)
	s.merge.start(s)
	return s, nil
}

// Close waits for the writes that were accepted, moves everything into the main
// file and closes it. Later calls of any method fail.
func (s *Store) Close() error {
	s.closeJournal.Do(s.journal.close)
	s.merge.stop()
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		<-s.done
		return nil
	}
	s.closed = true
	close(s.jobs)
	s.mu.Unlock()
	<-s.done
	s.recent.clear() // who comes now is told that it is closed
	return s.closeFiles()
}

func (s *Store) closeFiles() error {
	var errs []error
	if s.index != nil {
		errs = append(errs, s.index.Close())
	}
	if s.readers != nil {
		errs = append(errs, s.readers.Close())
	}
	if s.writers != nil {
		errs = append(errs, s.writers.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close the memory: %w", err)
	}
	return nil
}

// Reports reads the memory for those who look at it.
func (s *Store) Reports() *report.Reports { return s.reports }

// Health is what the store knows of itself.
type Health struct {
	SchemaVersion int
	Memories      int64
	Sessions      int64
	Unlearned     int64 // turns that were not learned from yet, up to 10,000
	Bytes         int64 // on the disk
	Writable      bool
	Reason        string // why it is not writable
}

// Health reports the state and the first counts. It fails only if the memory
// cannot be read.
func (s *Store) Health(ctx context.Context) (Health, error) {
	h := Health{SchemaVersion: sqlite.SchemaVersion(), Bytes: sqlite.FileSize(s.path) + sqlite.FileSize(s.path+"-wal")}
	h.Reason = s.trouble.Reason()
	h.Writable = h.Reason == ""
	n, err := s.counters.get(s, func() (n Health, err error) {
		return n, s.readers.Reader(ctx).Row(`
			SELECT (SELECT coalesce(sum(n), 0) FROM tally), sessions, (SELECT count(*) FROM (SELECT 1 FROM unlearned LIMIT 10000)) FROM total`).Scan(
			&n.Memories, &n.Sessions, &n.Unlearned)
	})
	if err != nil {
		return Health{}, fmt.Errorf("read counters: %w", sqlite.Failure(err))
	}
	h.Memories, h.Sessions, h.Unlearned = n.Memories, n.Sessions, n.Unlearned
	return h, nil
}

func (s *Store) isClosed() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.closed
}

// settled is something that was read, and is good until something is written: the
// service asks how we are every few seconds, mostly while nothing happens. The
// zero value is ready.
type settled[T any] struct {
	mu    sync.Mutex // guards the rest
	known bool
	at    int64 // what was written then
	value T
}

func (s *settled[T]) get(of *Store, read func() (T, error)) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := of.written.Load()
	if s.known && s.at == at && !of.isClosed() {
		return s.value, nil
	}
	value, err := read()
	s.known, s.at, s.value = err == nil, at, value
	return value, err
}
