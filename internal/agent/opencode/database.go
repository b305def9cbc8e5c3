package opencode

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"ambry.dev/ambry/internal/agent"
)

// All sessions are compared with what is known if the last time that was done is
// this long ago: it takes a look at every row. In between it is done for so many
// of the sessions that were used last, and for those that have new rows, unless
// there are as many of them that to compare all is cheaper.
const (
	fullEvery = 10 * time.Minute
	hot       = 32
	newRows   = 10_000
)

// reading is the reading of a database.
type reading struct {
	db      *sql.DB
	src     agent.Source
	emit    agent.Emit
	item    int
	cursor  cursor
	decoder agent.Decoder
}

// errStopped ends a reading of which no more is wanted.
var errStopped = errors.New("no more is wanted")

// each emits what changed in a database since the cursor, the sessions that
// were used last before the others.
func (x history) each(ctx context.Context, db *sql.DB, src agent.Source, text string, emit agent.Emit) error {
	r := &reading{db: db, src: src, emit: emit, item: x.item(), cursor: parseCursor(text)}
	switch err := r.run(ctx); {
	case errors.Is(err, errStopped):
		return nil
	case err != nil:
		return err
	}
	if now := r.cursor.String(); now != text {
		emit(agent.NewBuilder(src.Path, ""), now)
	}
	return nil
}

func (r *reading) run(ctx context.Context) error {
	all, err := layouts(ctx, r.db)
	if err != nil {
		return err
	}
	tops, fresh, err := r.news(ctx, all)
	if err != nil {
		return fmt.Errorf("look for new rows: %w", err)
	}
	sessions, err := r.sessions(ctx, all)
	if err != nil {
		return fmt.Errorf("read the list of sessions: %w", err)
	}
	full := fresh == nil
	var seen prints
	var broken error
	for i, s := range sessions {
		if !full && i >= hot && !fresh[s.id] {
			continue
		}
		as, err := r.session(ctx, s)
		switch {
		case err == nil:
			seen.add(as)
		case errors.Is(err, errStopped) || ctx.Err() != nil || isBusy(err):
			return err
		case broken == nil: // a page of it is, and the others may be well
			broken = fmt.Errorf("session %s: %w", s.id, err)
		}
	}
	if broken != nil {
		return broken
	}
	r.cursor.Tops = tops
	if full {
		r.cursor.Known, r.cursor.Full = seen, r.src.ModTime
	}
	return nil
}

// session reads a session if it is not known as it is, and returns its print.
func (r *reading) session(ctx context.Context, s session) (uint64, error) {
	all, err := r.mass(ctx, s.layout.all, s.id)
	if err != nil {
		return 0, err
	}
	as := printOf(s.layout.name, s.id, s.parent, s.fork, s.directory, s.title, s.revert, s.updated, s.archived, all)
	if r.cursor.Known.has(as) {
		return as, nil
	}
	return as, r.read(ctx, s, as)
}

// news returns the highest rows, and which sessions have rows that are higher
// than those were; nil means that all are to be compared.
func (r *reading) news(ctx context.Context, all []*layout) (tops map[string]int64, fresh map[string]bool, err error) {
	since := r.src.ModTime.Sub(r.cursor.Full)
	full := since < 0 || since > fullEvery
	tops, fresh = map[string]int64{}, map[string]bool{}
	for _, l := range all {
		for _, table := range l.tables[1:] {
			var top int64
			if err := r.db.QueryRowContext(ctx, "SELECT coalesce(max(rowid), 0) FROM "+table).Scan(&top); err != nil {
				return nil, nil, err
			}
			before := r.cursor.Tops[table]
			if tops[table], full = top, full || top < before; full {
				continue
			}
			ids, err := texts(ctx, r.db, "SELECT session_id FROM "+table+" WHERE rowid > ? LIMIT ?", before, newRows)
			if err != nil {
				return nil, nil, err
			}
			full = len(ids) == newRows
			for _, id := range ids {
				fresh[id] = true
			}
		}
	}
	if full {
		return tops, nil, nil
	}
	return tops, fresh, nil
}

// sessions returns the sessions of all layouts, those first that were used
// last. Of a session that was migrated the older rows count only where they are
// newer: somebody went on with it in the older version.
func (r *reading) sessions(ctx context.Context, all []*layout) ([]session, error) {
	var list []session
	migrated := map[string]int{}
	for _, l := range all {
		found, err := r.list(ctx, l)
		if err != nil {
			return nil, err
		}
		for _, s := range found {
			if i, ok := migrated[s.id]; !ok {
				migrated[s.id] = len(list)
			} else if s.updated > list[i].updated {
				list[i].used = s.used
			} else {
				continue
			}
			list = append(list, s)
		}
	}
	slices.SortStableFunc(list, func(a, b session) int {
		return cmp.Or(cmp.Compare(b.used, a.used), cmp.Compare(a.id, b.id))
	})
	return list, nil
}

func (r *reading) list(ctx context.Context, l *layout) ([]session, error) {
	rows, err := r.db.QueryContext(ctx, l.list)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []session
	for rows.Next() {
		var id, parent, fork, directory, title, version, revert sql.NullString
		var created, updated, archived sql.NullInt64
		if err := rows.Scan(&id, &parent, &fork, &directory, &title, &version, &revert, &created, &updated, &archived); err != nil {
			return nil, err
		}
		list = append(list, session{
			layout: l, id: id.String, parent: parent.String, fork: fork.String, directory: directory.String,
			title: title.String, version: version.String, revert: revert.String,
			created: created.Int64, updated: updated.Int64, archived: archived.Int64, used: updated.Int64,
		})
	}
	return list, rows.Err()
}

func (r *reading) mass(ctx context.Context, query string, args ...any) (m mass, err error) {
	err = r.db.QueryRowContext(ctx, query, args...).Scan(&m.Rows, &m.Updated, &m.Bytes)
	return m, err
}

// count returns how many messages are in a database.
func count(ctx context.Context, db *sql.DB) (int64, error) {
	all, err := layouts(ctx, db)
	if err != nil {
		return 0, err
	}
	total := int64(0)
	for _, l := range all {
		var n int64
		if err := db.QueryRowContext(ctx, l.count).Scan(&n); err != nil {
			return 0, fmt.Errorf("count messages: %w", err)
		}
		total += n
	}
	return total, nil
}

// heldIn returns the ids of the sessions whose messages are in the databases.
// What is no database of sessions holds none; that is told when it is read. A
// busy one is an error, since it may hold any.
func heldIn(ctx context.Context, paths []string) (map[string]bool, error) {
	all := map[string]bool{}
	for _, path := range paths {
		ids, err := idsIn(ctx, path)
		if isBusy(err) {
			return nil, err
		}
		for _, id := range ids {
			all[id] = true
		}
	}
	return all, nil
}

func idsIn(ctx context.Context, path string) ([]string, error) {
	db, err := agent.OpenDatabase(ctx, path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	known, err := layouts(ctx, db)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, l := range known {
		ids, err := texts(ctx, db, l.held)
		if err != nil {
			return nil, err
		}
		all = append(all, ids...)
	}
	return all, nil
}

func texts(ctx context.Context, db *sql.DB, query string, args ...any) ([]string, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var text sql.NullString
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text.String)
	}
	return all, rows.Err()
}

// isBusy reports whether a database was in use so that it could not be read.
func isBusy(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	const primary = 0xff // the code without its details
	code := e.Code() & primary
	return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED
}
