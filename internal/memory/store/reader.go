package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"ambry.dev/ambry"
)

// reader runs queries on a connection that reads. Their statements are prepared
// once and kept.
type reader struct {
	ctx    context.Context
	store  *Store
	tx     *sql.Tx   // nil: each query on a connection of its own
	missed *[]string // queries of tx that were not prepared yet
}

func (s *Store) reader(ctx context.Context) reader { return reader{ctx: ctx, store: s} }

func (r reader) row(query string, args ...any) scanner {
	st, err := r.statement(query)
	if err != nil {
		return failed{err}
	}
	return st.QueryRowContext(r.ctx, args...)
}

func (r reader) rows(query string, args ...any) (*sql.Rows, error) {
	st, err := r.statement(query)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(r.ctx, args...)
}

// statement returns query, prepared once for all readers.
func (r reader) statement(query string) (*sql.Stmt, error) {
	if r.tx == nil {
		return r.store.prepared(r.ctx, query)
	}
	if st := r.store.statement(query); st != nil {
		return r.tx.StmtContext(r.ctx, st), nil
	}
	// To prepare it for all would take another connection than that of tx, for
	// which others may wait who hold theirs.
	*r.missed = append(*r.missed, query)
	return r.tx.PrepareContext(r.ctx, query)
}

// statement returns query if it was prepared before.
func (s *Store) statement(query string) *sql.Stmt {
	s.statementsMu.Lock()
	defer s.statementsMu.Unlock()
	return s.statements[query]
}

// prepared returns query, prepared once. It waits for a connection.
func (s *Store) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if st := s.statement(query); st != nil {
		return st, nil
	}
	st, err := s.readers.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s.statementsMu.Lock()
	defer s.statementsMu.Unlock()
	if other := s.statements[query]; other != nil {
		_ = st.Close()
		return other, nil
	}
	s.statements[query] = st
	return st, nil
}

// read runs f, whose queries may each see a newer state than the one before.
func (s *Store) read(ctx context.Context, f func(reader) error) error {
	if err := f(s.reader(ctx)); err != nil {
		return s.unread(ctx, err)
	}
	return nil
}

// snapshot runs f on one state of the memory, however many queries it makes.
func (s *Store) snapshot(ctx context.Context, f func(reader) error) error {
	tx, err := s.readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return s.unread(ctx, err)
	}
	defer func() { _ = tx.Rollback() }()
	var missed []string
	if err := f(reader{ctx: ctx, store: s, tx: tx, missed: &missed}); err != nil {
		return s.unread(ctx, err)
	}
	_ = tx.Rollback()
	for _, query := range missed {
		_, _ = s.prepared(ctx, query) // for the next one who asks; this one was answered
	}
	return nil
}

// unread gives an error of reading its kind.
func (s *Store) unread(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, sql.ErrConnDone), s.isClosed():
		return errClosed
	}
	return failure(err)
}

func (s *Store) isClosed() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.closed
}

// column collects the only column of a query.
func column[T any](rows *sql.Rows, err error) ([]T, error) {
	return collectRows(rows, err, func(rows *sql.Rows) (v T, err error) { return v, rows.Scan(&v) })
}

// collectRows collects what scan makes of each row.
func collectRows[T any](rows *sql.Rows, err error, scan func(*sql.Rows) (T, error)) ([]T, error) {
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

// memoryColumns are what scanMemory reads, from memoryTables.
const (
	memoryColumns = `m.public, m.layer, m.status, m.title, m.summary, m.tags, a.name, coalesce(p.path, ''),
	coalesce(s.external, ''), coalesce(t.external, m.turn_ref), coalesce(f.path, ''), coalesce(t.line, 0),
	coalesce(t.start, 0), coalesce(t.stop, 0), coalesce(t.row, ''), m.created_at, m.updated_at, m.version, m.rule`

	memoryTables = `memory AS m JOIN agent AS a ON a.id = m.agent
	LEFT JOIN project AS p ON p.id = m.project LEFT JOIN session AS s ON s.id = m.session
	LEFT JOIN turn AS t ON t.id = coalesce(m.turn, m.origin) LEFT JOIN source AS f ON f.id = t.source`

	// tracedBody is the text of the turn, if the memory is its trace.
	tracedBody = `iif(m.turn IS NULL, NULL, t.body)`
)

// scanMemory reads memoryColumns, and whatever columns stand after them.
func scanMemory(row scanner, more ...any) (ambry.Memory, error) {
	var m ambry.Memory
	var tags string
	var created, updated int64
	fields := []any{
		&m.ID, &m.Layer, &m.Status, &m.Title, &m.Summary, &tags, &m.Agent, &m.Project,
		&m.SessionID, &m.TurnID, &m.Source.Path, &m.Source.Line, &m.Source.Offset, &m.Source.End, &m.Source.Row,
		&created, &updated, &m.Version, &m.Rule,
	}
	if err := row.Scan(append(fields, more...)...); err != nil {
		return ambry.Memory{}, err
	}
	var err error
	m.Kind, m.CreatedAt, m.UpdatedAt = m.Layer.MemoryKind(), timeOf(created), timeOf(updated)
	m.Tags, err = parseTags(tags)
	return m, err
}

// memoryBy reads one memory, or fails with [ambry.NotFound].
func memoryBy(r rower, where string, args ...any) (ambry.Memory, error) {
	m, err := scanMemory(r.row(`SELECT `+memoryColumns+` FROM `+memoryTables+` WHERE `+where, args...))
	ok, err := found(err)
	if err != nil {
		return ambry.Memory{}, fmt.Errorf("read a memory: %w", err)
	}
	if !ok {
		return ambry.Memory{}, errNoMemory
	}
	return m, nil
}

var errNoMemory = ambry.NotFound.Errorf("there is no such memory")

// Get returns a memory with its whole text, or [ambry.NotFound].
func (s *Store) Get(ctx context.Context, id string) (ambry.Detail, error) {
	var d ambry.Detail
	err := s.snapshot(ctx, func(r reader) error {
		var note sql.NullString
		var packed []byte
		var part int
		var sessionID sql.NullInt64
		m, err := scanMemory(r.row(`SELECT `+memoryColumns+`, m.body, `+tracedBody+`, coalesce(t.part, 0), m.session
			FROM `+memoryTables+` WHERE m.public = ?`, id), &note, &packed, &part, &sessionID)
		ok, err := found(err)
		switch {
		case err != nil:
			return fmt.Errorf("read a memory: %w", err)
		case !ok:
			return notFound(id)
		}
		d = ambry.Detail{Memory: m, Body: note.String}
		if sessionID.Valid {
			row, err := sessionByID(r, sessionID.Int64)
			if err != nil {
				return err
			}
			public := row.public()
			d.Session = &public
		}
		switch {
		case packed == nil && !note.Valid:
			return errTurnLost
		case packed == nil:
			d.Learned, err = r.learned(m)
			return err
		}
		b, err := s.unpack(packed)
		if err != nil {
			return err
		}
		turn := b.turn(m.TurnID, part, m.Source)
		d.Turn, d.Body = &turn, transcript(turn)
		return nil
	})
	if err != nil {
		return ambry.Detail{}, err
	}
	return d, nil
}

// errTurnLost is the error of a memory that is the trace of a turn which is not
// there: rows of a damaged page are just absent.
var errTurnLost = ambry.MemoryUnavailable.Errorf(`the memory file is damaged: a turn is missing; see "ambry doctor"`)

// turn returns the turn as it came.
func (b body) turn(id string, part int, at ambry.Source) ambry.Turn {
	t := ambry.Turn{
		ID: id, Part: part, At: b.At, Cwd: b.Cwd, Branch: b.Branch, Model: b.Model, Tokens: b.Tokens, Source: at,
		Messages: make([]ambry.Message, len(b.Messages)),
	}
	for i, m := range b.Messages {
		t.Messages[i] = m.Message
		if m.From != 0 { // it stands in another file than the turn
			t.Messages[i].Line, t.Messages[i].Offset = 0, 0
		}
	}
	return t
}

// scanTwo reads rows of two columns.
func scanTwo[A, B, T any](with func(A, B) T) func(*sql.Rows) (T, error) {
	return func(rows *sql.Rows) (T, error) {
		var a A
		var b B
		err := rows.Scan(&a, &b)
		return with(a, b), err
	}
}
