package store

import (
	"context"
	"database/sql"
	"fmt"
	"runtime/debug"
	"time"

	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/sqlite"
)

// How much is committed together, and what an idle or broken writer does.
const (
	maxGroup   = 512
	groupBytes = 4 << 20
	tidyAfter  = 5 * time.Second // without a write: move the log into the file, give memory back
	probeEvery = 2 * time.Second // while the disk takes nothing
)

// job is one write that waits for its turn. run may be called twice, when the
// transaction it was part of had to be given up because of another one.
type job struct {
	ctx  context.Context
	cost int // bytes it will write, roughly
	run  func(*tx) error
	err  error
	done chan struct{}

	alone func(*writer) error // instead of run: outside of any transaction
}

// alone has the writer do something outside of any transaction, and returns
// after it is done.
func (s *Store) alone(ctx context.Context, do func(*writer) error) error {
	j := &job{ctx: ctx, cost: groupBytes, alone: do, done: make(chan struct{})}
	if err := s.enqueue(j); err != nil {
		return err
	}
	select {
	case <-j.done:
		return j.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// write has the writer run a job, and returns after it is on the disk. When ctx
// ends first, the job may still be done or not.
func (s *Store) write(ctx context.Context, cost int, run func(*tx) error) error {
	j := &job{ctx: ctx, cost: cost, run: run, done: make(chan struct{})}
	if err := s.enqueue(j); err != nil {
		return err
	}
	select {
	case <-j.done:
		return j.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Store) enqueue(j *job) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return sqlite.ErrClosed
	}
	select {
	case s.jobs <- j:
		return nil
	case <-j.ctx.Done():
		return j.ctx.Err()
	}
}

// writer owns the only connection that writes. Everything in it belongs to the
// goroutine of run.
type writer struct {
	store      *Store
	conn       *sql.Conn
	statements map[string]*sql.Stmt
	names      names
	gists      gists
	builder    *document.Builder
	entries    []entry  // of the jobs in the transaction at hand
	stored     []Placed // likewise, vectors
	judged     []int64  // likewise, memories that were of use, or not
	renamed    []int64  // likewise, turns
	emptied    bool     // likewise, the memory was wiped
	vectors    bool     // there are tables of vectors
	after      []func() // what they do when it is on the disk
	pruned     int64    // when keys were pruned, Unix milliseconds
	prunedLog  int64    // likewise, the counters of calls
	queued     bool     // turns wait to be learned from
	tidy       bool     // nothing was written since it tidied up
	secure     bool     // what is deleted is overwritten
}

func newWriter(s *Store, conn *sql.Conn) *writer {
	return &writer{store: s, conn: conn, statements: map[string]*sql.Stmt{}, names: names{}, gists: gists{}, builder: document.NewBuilder()}
}

// run writes until jobs is closed and empty.
func (w *writer) run(jobs <-chan *job) {
	timer := time.NewTimer(tidyAfter)
	for {
		select {
		case j, ok := <-jobs:
			if !ok {
				w.end()
				return
			}
			w.serve(collect(j, jobs))
		case <-timer.C:
			w.idle()
		}
		if w.store.trouble.Reason() != "" {
			timer.Reset(probeEvery)
		} else if !w.tidy {
			timer.Reset(tidyAfter)
		}
	}
}

// collect returns first and the jobs that wait behind it already.
func collect(first *job, jobs <-chan *job) []*job {
	group, cost := []*job{first}, first.cost
	for len(group) < maxGroup && cost < groupBytes {
		select {
		case j, ok := <-jobs:
			if !ok {
				return group // run sees it again
			}
			group, cost = append(group, j), cost+j.cost
		default:
			return group
		}
	}
	return group
}

// serve runs jobs in their order: those that write together in one transaction,
// between those that want none.
func (w *writer) serve(jobs []*job) {
	for from := 0; from < len(jobs); {
		to := from
		for to < len(jobs) && jobs[to].alone == nil {
			to++
		}
		if to > from {
			w.group(jobs[from:to])
		}
		if to < len(jobs) {
			j := jobs[to]
			w.tidy = false
			if j.err = j.ctx.Err(); j.err == nil {
				j.err = sqlite.Failure(j.alone(w))
				w.store.written.Add(1)
			}
			close(j.done)
			to++
		}
		from = to
	}
}

// group runs jobs in one transaction and answers them once it is on the disk.
// One that fails does not take the others with it.
func (w *writer) group(jobs []*job) {
	w.tidy = false
	if err := w.commit(jobs); err != nil {
		if len(jobs) > 1 {
			for _, j := range jobs {
				w.group([]*job{j})
			}
			return
		}
		jobs[0].err = err
	}
	for _, j := range jobs {
		j.err = sqlite.Failure(j.err)
		close(j.done)
	}
}

// commit sets the err of each job that failed by itself. An error of its own
// means that nothing of the whole group was written.
func (w *writer) commit(jobs []*job) error {
	if err := w.exec("BEGIN IMMEDIATE"); err != nil {
		return w.broken(fmt.Errorf("begin to write: %w", err))
	}
	defer w.letGo()
	for _, j := range jobs {
		if j.err = j.ctx.Err(); j.err != nil {
			continue
		}
		if j.err = w.attempt(j); sqlite.OfStorage(j.err) {
			w.rollback()
			return w.broken(j.err)
		}
	}
	changed := w.latest(w.entries)
	err := w.promise(changed)
	if err == nil {
		err = w.disembody(w.entries)
	}
	if err != nil {
		w.rollback()
		return w.broken(err)
	}
	if err := w.exec("COMMIT"); err != nil {
		w.rollback()
		return w.broken(fmt.Errorf("commit: %w", err))
	}
	w.store.written.Add(1)
	w.outdate()
	for _, f := range w.after {
		f()
	}
	w.store.index.Add(changed.entries, changed.gone)
	w.tell()
	if w.store.trouble.Clear() {
		w.store.log.Info("the memory can be written again")
	}
	if _, full := w.store.index.Unsaved(); full {
		w.save()
	}
	if w.queued {
		w.queued = false
		w.store.wake()
	}
	return nil
}

// letGo forgets what a transaction has gathered: after a merge, files of the index
// that are no more.
func (w *writer) letGo() {
	w.entries, w.stored, w.judged, w.renamed, w.after, w.emptied = nil, nil, nil, nil, nil, false
}

// outdate takes out of what is held of memories what the transaction changed.
func (w *writer) outdate() {
	if w.emptied {
		w.store.recent.clear()
		return
	}
	changed := w.judged
	for _, e := range w.entries {
		if e.remove || e.fresh {
			changed = append(changed, e.memory)
		}
	}
	w.store.recent.drop(changed, w.renamed)
}

// attempt runs one job in a savepoint.
func (w *writer) attempt(j *job) error {
	if err := w.exec("SAVEPOINT job"); err != nil {
		return err
	}
	t := &tx{w: w, ctx: context.Background(), now: w.store.now().UnixMilli()}
	err := j.run(t)
	if err == nil {
		err = t.link()
	}
	if err == nil {
		err = t.flush()
	}
	if err != nil {
		w.names, w.gists = names{}, gists{}
		if back := w.exec("ROLLBACK TO job"); back != nil && !sqlite.OfStorage(err) {
			return back
		}
		if back := w.ensureVectors(); back != nil && !sqlite.OfStorage(err) {
			return back
		}
		if sqlite.OfStorage(err) {
			return err
		}
	}
	if done := w.exec("RELEASE job"); done != nil {
		return done
	}
	if err == nil {
		w.entries, w.after, w.stored = append(w.entries, t.entries...), append(w.after, t.after...), append(w.stored, t.stored...)
		w.judged, w.renamed = append(w.judged, t.judged...), append(w.renamed, t.renamed...)
		w.emptied = w.emptied || t.emptied
		w.queued = w.queued || t.queued
	}
	return err
}

// rollback ends a transaction that SQLite may have ended already.
func (w *writer) rollback() {
	w.names, w.gists = names{}, gists{}
	_ = w.exec("ROLLBACK")
	if err := w.ensureVectors(); err != nil {
		w.store.log.Error("look for vectors after a rollback", "err", err)
	}
}

// broken remembers that the disk did not take what was written.
func (w *writer) broken(err error) error {
	if w.store.trouble.Set(err) {
		w.store.log.Error("the memory cannot be written", "err", err)
	}
	return err
}

// idle is called when nothing was written for a while.
func (w *writer) idle() {
	if w.store.trouble.Reason() != "" {
		_ = w.exec("PRAGMA wal_checkpoint(PASSIVE)") // may free room in the log
		_ = w.commit([]*job{{ctx: context.Background(), run: (*tx).probe}})
		return
	}
	if w.tidy {
		return
	}
	if owed := w.owed(); owed != 0 {
		if err := w.scrub(owed); err != nil {
			w.store.log.Warn("overwrite what was forgotten; it is tried again", "err", err)
			return
		}
	}
	if n, _ := w.store.index.Unsaved(); n >= worthSaving {
		w.save()
	}
	w.checkpoint()
	_ = w.exec("PRAGMA shrink_memory")
	w.builder, w.entries = document.NewBuilder(), nil
	w.store.recent.clear()
	w.store.index.Rest()
	debug.FreeOSMemory() // what a scan took
	w.tidy = true
}

// probe writes something small, to see whether the disk takes it.
func (t *tx) probe() error {
	return t.exec(`INSERT INTO meta (name, value) VALUES ('probe', 1)
		ON CONFLICT (name) DO UPDATE SET value = value + 1`)
}

// end moves the log into the file and closes what the writer holds.
func (w *writer) end() {
	if owed := w.owed(); owed != 0 && w.store.trouble.Reason() == "" {
		if err := w.scrub(owed); err != nil {
			w.store.log.Warn("overwrite what was forgotten; the next start tries again", "err", err)
		}
	}
	if w.store.trouble.Reason() == "" {
		w.save()
	}
	w.checkpoint()
	w.close()
}

func (w *writer) close() {
	for _, s := range w.statements {
		_ = s.Close()
	}
	if err := w.conn.Close(); err != nil {
		w.store.log.Warn("close the memory", "err", err)
	}
}

func (w *writer) checkpoint() {
	if err := w.exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		w.store.log.Warn("move the log into the memory file", "err", err)
	}
}

func (w *writer) exec(query string, args ...any) error {
	s, err := w.statement(query)
	if err != nil {
		return err
	}
	_, err = s.Exec(args...)
	return err
}

// statement returns query, prepared once.
func (w *writer) statement(query string) (*sql.Stmt, error) {
	if s := w.statements[query]; s != nil {
		return s, nil
	}
	s, err := w.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	w.statements[query] = s
	return s, nil
}
