package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"ambry.dev/ambry"
)

// What the connections that read may hold.
const (
	MaxReaders     = 3
	readerCacheKiB = 4 << 10
	readerIdle     = 30 * time.Second // then a reader gives its cache back
)

// Pool is the connections that read. All methods may be called at the same time.
type Pool struct {
	db     *sql.DB
	closed atomic.Bool

	mu         sync.Mutex // guards statements
	statements map[string]*sql.Stmt
}

// OpenPool returns the connections that read a file.
func OpenPool(path string) (*Pool, error) {
	db, err := Connect(path, MaxReaders, map[string]string{
		"query_only": "ON",
		"temp_store": "MEMORY",
		"cache_size": strconv.Itoa(-readerCacheKiB),
	})
	if err != nil {
		return nil, err
	}
	db.SetConnMaxIdleTime(readerIdle)
	return &Pool{db: db, statements: map[string]*sql.Stmt{}}, nil
}

// Close closes the connections. Whoever reads later is told so.
func (p *Pool) Close() error {
	p.closed.Store(true)
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, st := range p.statements {
		errs = append(errs, st.Close())
	}
	clear(p.statements)
	return errors.Join(append(errs, p.db.Close())...)
}

// ErrClosed is the error of who comes when the memory is being closed.
var ErrClosed = ambry.MemoryUnavailable.Errorf("the memory is shutting down")

// Reader runs queries on a connection that reads. Their statements are prepared
// once and kept.
type Reader struct {
	ctx    context.Context
	pool   *Pool
	tx     *sql.Tx   // nil: each query on a connection of its own
	missed *[]string // queries of tx that were not prepared yet
}

// Reader runs queries, each of which may see a newer state than the one before.
func (p *Pool) Reader(ctx context.Context) Reader { return Reader{ctx: ctx, pool: p} }

// Row runs a query that gives at most one row.
func (r Reader) Row(query string, args ...any) Scanner {
	st, err := r.statement(query)
	if err != nil {
		return FailedRow(err)
	}
	return st.QueryRowContext(r.ctx, args...)
}

// Rows runs a query.
func (r Reader) Rows(query string, args ...any) (*sql.Rows, error) {
	st, err := r.statement(query)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(r.ctx, args...)
}

// statement returns query, prepared once for all readers.
func (r Reader) statement(query string) (*sql.Stmt, error) {
	if r.tx == nil {
		return r.pool.prepared(r.ctx, query)
	}
	if st := r.pool.statement(query); st != nil {
		return r.tx.StmtContext(r.ctx, st), nil
	}
	// To prepare it for all would take another connection than that of tx, for
	// which others may wait who hold theirs.
	*r.missed = append(*r.missed, query)
	return r.tx.PrepareContext(r.ctx, query)
}

// statement returns query if it was prepared before.
func (p *Pool) statement(query string) *sql.Stmt {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.statements[query]
}

// Queries returns what was asked until now, for who wants to look at the plans.
func (p *Pool) Queries() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.statements))
}

// prepared returns query, prepared once. It waits for a connection.
func (p *Pool) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if st := p.statement(query); st != nil {
		return st, nil
	}
	st, err := p.db.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if other := p.statements[query]; other != nil {
		_ = st.Close()
		return other, nil
	}
	p.statements[query] = st
	return st, nil
}

// Read runs f, whose queries may each see a newer state than the one before.
func (p *Pool) Read(ctx context.Context, f func(Reader) error) error {
	if err := f(p.Reader(ctx)); err != nil {
		return p.Kind(ctx, err)
	}
	return nil
}

// Snapshot runs f on one state of the memory, however many queries it makes.
func (p *Pool) Snapshot(ctx context.Context, f func(Reader) error) error {
	tx, err := p.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return p.Kind(ctx, err)
	}
	defer func() { _ = tx.Rollback() }()
	var missed []string
	if err := f(Reader{ctx: ctx, pool: p, tx: tx, missed: &missed}); err != nil {
		return p.Kind(ctx, err)
	}
	_ = tx.Rollback()
	for _, query := range missed {
		_, _ = p.prepared(ctx, query) // for the next one who asks; this one was answered
	}
	return nil
}

// Kind gives an error of reading its kind.
func (p *Pool) Kind(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, sql.ErrConnDone), p.closed.Load():
		return ErrClosed
	}
	return Failure(err)
}
