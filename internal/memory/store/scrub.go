package store

import (
	"context"
	"fmt"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/index"
	"ambry.dev/ambry/internal/memory/sqlite"
)

// What is deleted from a database stays readable in its file for a while: in
// pages that are free, in the log, in files of the text index. A scrub
// overwrites that. It is owed from the deletion on, in the same transaction, so
// that a crash between them only puts it off.
const (
	scrubQuick = 1 // the text index is merged, free pages are overwritten, the log is emptied
	scrubDeep  = 2 // the file is written anew
)

// smallBytes is the size up to which a file is written anew rather than looked
// through for what is free.
const smallBytes = 16 << 20

// secure makes SQLite overwrite what it deletes from now on, also pages that
// become free. A scrub ends it.
func (t *tx) secure() error {
	if t.w.secure {
		return nil
	}
	return t.w.setSecure(true)
}

// setSecure is not a kept statement: SQLite obeys this one when it reads it.
func (w *writer) setSecure(on bool) error {
	mode := "FAST"
	if on {
		mode = "ON"
	}
	if _, err := w.conn.ExecContext(context.Background(), `PRAGMA secure_delete = `+mode); err != nil {
		return fmt.Errorf("prepare to delete: %w", err)
	}
	w.secure = on
	return nil
}

func (t *tx) oweScrub(how int) error {
	err := t.exec(`INSERT INTO meta (name, value) VALUES ('scrub', ?) ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)`, how)
	return sqlite.Wrapf(err, "note what is left to overwrite")
}

// Scrub overwrites what was deleted; see memory.Custody.
func (s *Store) Scrub(ctx context.Context, deep bool) (ambry.Scrubbed, error) {
	var out ambry.Scrubbed
	err := s.alone(ctx, func(w *writer) (err error) {
		owed := w.owed()
		if deep {
			owed = scrubDeep
		}
		if err := w.scrub(owed); err != nil {
			return err
		}
		out, err = w.scrubbed()
		return err
	})
	return out, err
}

// owed returns which scrub is owed, 0 for none.
func (w *writer) owed() int {
	var how int
	_ = w.conn.QueryRowContext(context.Background(), `SELECT value FROM meta WHERE name = 'scrub'`).Scan(&how)
	return how
}

// scrub does what is owed. No transaction is open.
func (w *writer) scrub(how int) error {
	if how == 0 {
		return w.emptyLog()
	}
	if err := w.setSecure(true); err != nil {
		return err
	}
	w.names, w.gists = names{}, gists{}
	if err := w.commit([]*job{{ctx: context.Background(), run: (*tx).sweep}}); err != nil {
		return err
	}
	err := w.compact()
	if err != nil {
		return err
	}
	if how == scrubDeep || sqlite.FileSize(w.store.path) <= smallBytes {
		err = w.vacuum()
	} else {
		err = w.fillFree()
	}
	if err != nil {
		return err
	}
	if err := w.emptyLog(); err != nil {
		return err
	}
	if err := w.exec(`DELETE FROM meta WHERE name = 'scrub'`); err != nil {
		return fmt.Errorf("note what was overwritten: %w", err)
	}
	if err := w.setSecure(false); err != nil {
		return err
	}
	return w.emptyLog()
}

// sweep takes out what nothing refers to any more.
func (t *tx) sweep() error {
	for _, q := range []string{
		`DELETE FROM project WHERE id NOT IN (SELECT project FROM session WHERE project IS NOT NULL UNION SELECT project FROM memory WHERE project IS NOT NULL
			UNION SELECT project FROM claim WHERE project IS NOT NULL)`,
		`DELETE FROM source WHERE id NOT IN (SELECT source FROM turn WHERE source IS NOT NULL UNION SELECT source FROM copy WHERE source IS NOT NULL)`,
		`DELETE FROM tally WHERE n = 0`,
		`DELETE FROM learned_tally WHERE n = 0`,
		`DELETE FROM day WHERE n = 0`,
	} {
		if _, err := t.w.conn.ExecContext(t.ctx, q); err != nil {
			return fmt.Errorf("overwrite what was deleted: %w", err)
		}
	}
	return nil
}

// compact writes the text index as one file, without the terms of what was
// deleted.
func (w *writer) compact() error {
	if err := w.trySave(); err != nil {
		return err
	}
	x := w.store.index
	c, err := x.Merge(context.Background(), index.One)
	if err != nil || c == nil {
		return err
	}
	x.Prepare(c)
	if err := w.list(c); err != nil {
		x.Abandon(c)
		return err
	}
	return x.Install(c)
}

// vacuum writes the file anew, without anything that is not in a row.
func (w *writer) vacuum() error {
	for _, q := range []string{`PRAGMA temp_store = FILE`, `VACUUM`, `PRAGMA temp_store = MEMORY`} {
		if _, err := w.conn.ExecContext(context.Background(), q); err != nil {
			return w.broken(fmt.Errorf("write the memory anew: %w", err))
		}
	}
	return nil
}

// fillPiece is how much is written at once into free pages.
const fillPiece = 32 << 20

// fillFree fills the free pages with zeros, by giving them to a table that is
// dropped again.
func (w *writer) fillFree() error {
	return w.commit([]*job{{ctx: context.Background(), run: func(t *tx) error {
		var free, page int64
		for q, to := range map[string]*int64{`PRAGMA freelist_count`: &free, `PRAGMA page_size`: &page} {
			if err := w.conn.QueryRowContext(t.ctx, q).Scan(to); err != nil {
				return fmt.Errorf("count free pages: %w", err)
			}
		}
		if _, err := w.conn.ExecContext(t.ctx, `CREATE TABLE filler (zeros BLOB)`); err != nil {
			return fmt.Errorf("overwrite free pages: %w", err)
		}
		for left := free * page; left > 0; left -= fillPiece {
			if _, err := w.conn.ExecContext(t.ctx, `INSERT INTO filler VALUES (zeroblob(?))`, min(left, fillPiece)); err != nil {
				return fmt.Errorf("overwrite free pages: %w", err)
			}
		}
		_, err := w.conn.ExecContext(t.ctx, `DROP TABLE filler`)
		return sqlite.Wrapf(err, "overwrite free pages")
	}}})
}

// How long the log is waited for while somebody reads what is in it.
const (
	emptyTries = 20
	emptyPause = 250 * time.Millisecond
)

// emptyLog moves the log into the file and cuts it to nothing.
func (w *writer) emptyLog() error {
	for range emptyTries {
		var busy, frames, moved int
		err := w.conn.QueryRowContext(context.Background(), `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &frames, &moved)
		if err != nil {
			return w.broken(fmt.Errorf("move the log into the memory file: %w", err))
		}
		if busy == 0 {
			return nil
		}
		time.Sleep(emptyPause)
	}
	return ambry.MemoryUnavailable.Errorf("somebody has been reading the memory all the time; try again")
}

// scrubbed tells how the files are now.
func (w *writer) scrubbed() (ambry.Scrubbed, error) {
	out := ambry.Scrubbed{Done: w.owed() == 0, ServerTime: sqlite.Time(w.store.now().UnixMilli())}
	var free, page int64
	for q, to := range map[string]*int64{`PRAGMA freelist_count`: &free, `PRAGMA page_size`: &page} {
		if err := w.conn.QueryRowContext(context.Background(), q).Scan(to); err != nil {
			return out, fmt.Errorf("count free pages: %w", err)
		}
	}
	out.Free = free * page
	out.Bytes = sqlite.FileSize(w.store.path) + sqlite.FileSize(w.store.path+"-wal")
	return out, nil
}

// Wipe empties the memory; see memory.Custody.
func (s *Store) Wipe(ctx context.Context, all bool) (ambry.Wiped, error) {
	if err := s.journal.flush(ctx); err != nil {
		return ambry.Wiped{}, err
	}
	var out ambry.Wiped
	err := s.write(ctx, groupBytes, func(t *tx) error { return t.wipe(all, &out) })
	if err != nil {
		return ambry.Wiped{}, err
	}
	done, err := s.Scrub(ctx, false)
	out.Scrubbed = err == nil && done.Done
	return out, nil // it is empty; what is left to overwrite is owed
}

func (t *tx) wipe(all bool, out *ambry.Wiped) error {
	*out = ambry.Wiped{ServerTime: sqlite.Time(t.now)}
	err := t.Row(`SELECT (SELECT coalesce(sum(n), 0) FROM tally), sessions, turns, (SELECT coalesce(sum(n), 0) FROM recall_tally) FROM total`).
		Scan(&out.Memories, &out.Sessions, &out.Turns, &out.Calls)
	if err != nil {
		return fmt.Errorf("count what is deleted: %w", err)
	}
	// Pages are overwritten by the scrub, so that they need not be written twice.
	queries := []string{`PRAGMA defer_foreign_keys = ON`}
	for _, h := range holdings {
		if h.wipe == wiped || h.wipe == wipedAll && all {
			queries = append(queries, "DELETE FROM "+h.table)
		}
	}
	if t.w.vectors {
		queries = append(queries, `DELETE FROM vector`, `DELETE FROM vector_due`)
	}
	queries = append(queries, `UPDATE total SET sessions = 0, turns = 0, messages = 0, calls = 0, input = 0, cached = 0, output = 0`,
		`DELETE FROM meta WHERE name = 'index'`)
	for _, q := range queries {
		if _, err := t.w.conn.ExecContext(t.ctx, q); err != nil {
			return fmt.Errorf("empty the memory: %w", err)
		}
	}
	t.w.names, t.w.gists, t.told, t.emptied = names{}, gists{}, nil, true
	if err := t.rebuild(nil); err != nil {
		return err
	}
	return t.oweScrub(scrubDeep)
}
