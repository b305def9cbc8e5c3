package store

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/home"
	"ambry.dev/ambry/internal/memory/index"
	"ambry.dev/ambry/internal/memory/sqlite"
)

//go:embed schema/index.sql
var indexSQL string

// worthSaving is how many memories that are indexed only in memory are written as
// a file when nothing else is to be done. Fewer are indexed again at the next
// start, if there is no clean stop.
const worthSaving = 64

func (s *Store) indexConfig() index.Config {
	c := configAt(s.path)
	c.Room = func(bytes uint64) bool {
		free, err := home.Free(c.Dir)
		return err != nil || free/mergeShare >= bytes
	}
	return c
}

// mergeShare says how much of what is left of the disk a merge of the index may take for
// a while: one part of so many. What is told meanwhile needs room more than a search that
// reads fewer files.
const mergeShare = 2

func configAt(path string) index.Config {
	return index.Config{Dir: indexDir(path), Weights: columnWeights, Own: ownColumns}
}

// indexDir is where the index of a memory is: beside it, and named like it.
func indexDir(path string) string { return strings.TrimSuffix(path, filepath.Ext(path)) + ".index" }

// openIndex opens the index and adds what it lacks. One of another version, or
// one that is damaged, is made anew.
func (w *writer) openIndex(ctx context.Context, working func(at string)) error {
	c := w.store.indexConfig()
	defer w.store.removeAside()
	var version int64
	err := w.conn.QueryRowContext(ctx, `SELECT value FROM meta WHERE name = 'index'`).Scan(&version)
	ok, err := sqlite.Found(err)
	if err != nil {
		return fmt.Errorf("read the version of the text index: %w", err)
	}
	if ok && version == indexVersion {
		x, err := listedIndex(ctx, w.conn, c)
		if err == nil {
			w.store.index = x // it is closed whatever happens
			err = w.fits(x)
		}
		if err == nil {
			return w.catchUp()
		}
		w.store.log.Warn("the text index is made anew", "err", err)
	}
	if w.store.index != nil {
		_ = w.store.index.Close()
	}
	if w.store.index, err = w.store.emptyIndex(c); err != nil {
		return err
	}
	return w.commit([]*job{{ctx: context.Background(), run: func(t *tx) error { return t.rebuild(working) }}})
}

// fits looks through all of an index that is read quickly; a larger one is looked
// through when the memory is open already.
func (w *writer) fits(x *index.Index) error {
	if err := x.Tidy(); err != nil {
		return err
	}
	if x.Size() > sqlite.QuickBytes {
		w.store.merge.check = true
		return nil
	}
	return x.Verify()
}

// querier is a connection, or a pool of them.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// listedIndex opens the files that the tables name.
func listedIndex(ctx context.Context, db querier, c index.Config) (*index.Index, error) {
	rows, err := db.QueryContext(ctx, `SELECT id, seq, mark FROM index_file`)
	files, err := sqlite.Collect(rows, err, func(rows *sql.Rows) (f index.Segment, err error) {
		var mark []byte
		err = rows.Scan(&f.ID, &f.Seq, &mark)
		f.Mark = string(mark)
		return f, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the list of index files: %w", err)
	}
	gone, err := sqlite.Column[int64](db.QueryContext(ctx, `SELECT memory FROM index_gone`))
	if err != nil {
		return nil, fmt.Errorf("read what is not to be found: %w", err)
	}
	return index.Open(c, files, gone)
}

// checkIndex reads all of the index of a memory that nobody writes to, and says
// what is wrong with it.
func checkIndex(ctx context.Context, db *sql.DB, path string) error {
	x, err := listedIndex(ctx, db, configAt(path))
	if err != nil {
		return err
	}
	defer func() { _ = x.Close() }()
	if err := x.Verify(); err != nil {
		return err
	}
	todo, err := sqlite.Column[int64](db.QueryContext(ctx, `SELECT memory FROM index_todo`))
	if err != nil {
		return err
	}
	rows, err := sqlite.Column[int64](db.QueryContext(ctx, `SELECT id FROM memory ORDER BY id`))
	if err != nil {
		return err
	}
	indexed := append(x.Docs(), todo...)
	slices.Sort(indexed)
	if !slices.Equal(slices.Compact(indexed), rows) {
		return errors.New("it does not have the memories that there are")
	}
	return nil
}

// catchUp indexes what was promised before a crash.
func (w *writer) catchUp() error {
	t := &tx{w: w, ctx: context.Background()}
	for after := int64(0); ; {
		batch, err := sqlite.Column[int64](w.conn.QueryContext(t.ctx, `SELECT memory FROM index_todo WHERE memory > ? ORDER BY memory LIMIT ?`, after, rebuildBatch))
		if err != nil {
			return fmt.Errorf("read what to index: %w", err)
		}
		if len(batch) == 0 {
			return nil
		}
		ids, err := json.Marshal(batch)
		if err != nil {
			return err
		}
		entries, err := t.indexable(`WHERE m.id IN (SELECT value FROM json_each(?))`, string(ids))
		if err != nil {
			return err
		}
		w.store.index.Add(entries, nil)
		after = batch[len(batch)-1]
	}
}

// save writes what is indexed only in memory as a file. When that cannot be done
// it stays in memory, and is tried again.
func (w *writer) save() {
	if err := w.trySave(); err != nil {
		w.store.log.Error("the text index cannot be saved", "err", err)
		return
	}
	w.store.merge.wake()
}

func (w *writer) trySave() error {
	x := w.store.index
	c, err := x.Save()
	if err != nil || c == nil {
		return err
	}
	if err := w.list(c, "DELETE FROM index_todo"); err != nil {
		x.Abandon(c)
		return err
	}
	return x.Install(c)
}

// list writes a change of the files into the tables, in a transaction of its own.
func (w *writer) list(c *index.Change, more ...string) error {
	if err := w.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	t := &tx{w: w, ctx: context.Background()}
	err := t.listFiles(c)
	for _, q := range more {
		if err == nil {
			err = t.exec(q)
		}
	}
	if err == nil {
		err = w.exec("COMMIT")
	}
	if err != nil {
		w.rollback()
		return fmt.Errorf("write the list of index files: %w", err)
	}
	return nil
}

func (t *tx) listFiles(c *index.Change) error {
	for _, id := range c.Removed {
		if err := t.exec("DELETE FROM index_file WHERE id = ?", id); err != nil {
			return fmt.Errorf("write the list of index files: %w", err)
		}
	}
	for _, memory := range c.Cleared {
		if err := t.exec("DELETE FROM index_gone WHERE memory = ?", memory); err != nil {
			return fmt.Errorf("write the list of index files: %w", err)
		}
	}
	if f := c.Added; f != nil {
		if err := t.exec("INSERT INTO index_file (id, seq, mark) VALUES (?, ?, ?)", f.ID, f.Seq, []byte(f.Mark)); err != nil {
			return fmt.Errorf("write the list of index files: %w", err)
		}
	}
	return nil
}

// Rebuild makes the text index anew from the rows. Searches go on with the old
// one meanwhile; writes wait.
func (s *Store) Rebuild(ctx context.Context) error {
	return s.write(ctx, groupBytes, func(t *tx) error { return t.rebuild(nil) })
}

// VerifyIndex reads all of the text index. It returns an error unless that is
// whole and has exactly the memories that there are; then [Store.Rebuild] helps.
func (s *Store) VerifyIndex(ctx context.Context) error {
	err := s.alone(ctx, func(w *writer) error { // nothing changes meanwhile
		if err := s.index.Verify(); err != nil {
			return err
		}
		rows, err := sqlite.Column[int64](w.conn.QueryContext(ctx, `SELECT id FROM memory ORDER BY id`))
		if err == nil && !slices.Equal(rows, s.index.Docs()) {
			err = ambry.MemoryUnavailable.Errorf("the text index does not have what the memory has")
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("check the text index: %w", err)
	}
	return nil
}

// rebuildBatch is how many memories are held while they are indexed.
const rebuildBatch = 64

// rebuild makes the text index anew, and tells how far it is if somebody wants to
// know.
func (t *tx) rebuild(working func(at string)) error {
	t.w.entries = nil // of rows that are read below
	progress := newProgress(working, "indexes its memories anew")
	if err := t.Row(`SELECT count(*) FROM memory`).Scan(&progress.total); err != nil {
		return fmt.Errorf("count the memories: %w", err)
	}
	fresh := t.w.store.index.Fresh(t.w.store.indexConfig())
	for after := int64(0); ; {
		entries, err := t.indexable(`WHERE m.id > ? ORDER BY m.id LIMIT ?`, after, rebuildBatch)
		if err != nil {
			return err
		}
		progress.add(len(entries))
		if len(entries) > 0 {
			fresh.Add(entries, nil)
			after = entries[len(entries)-1].Doc
		}
		if _, full := fresh.Unsaved(); full || len(entries) == 0 {
			if err := settle(t.ctx, fresh); err != nil {
				return err
			}
		}
		if len(entries) == 0 {
			break
		}
	}
	if _, err := t.w.conn.ExecContext(t.ctx, indexSQL); err != nil {
		return fmt.Errorf("make the tables of the text index: %w", err)
	}
	for _, f := range fresh.Segments() {
		if err := t.listFiles(&index.Change{Added: &f}); err != nil {
			return err
		}
	}
	t.after = append(t.after, func() {
		if err := t.w.store.index.Replace(fresh); err != nil {
			t.w.store.log.Warn("replace the text index", "err", err)
		}
	})
	return t.exec(`INSERT INTO meta (name, value) VALUES ('index', ?)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`, indexVersion)
}

// settle writes an index that nobody else uses, and merges its files.
func settle(ctx context.Context, x *index.Index) error {
	c, err := x.Save()
	for err == nil && c != nil {
		x.Prepare(c)
		if err = x.Install(c); err == nil {
			c, err = x.Merge(ctx, index.Few)
		}
	}
	return err
}

// indexable reads memories as they are indexed; where is trusted SQL.
func (t *tx) indexable(where string, args ...any) ([]index.Entry, error) {
	rows, err := t.texts(where, args...)
	if err != nil {
		return nil, err
	}
	out := make([]index.Entry, 0, len(rows))
	for _, r := range rows {
		e := entry{memory: r.id, scope: r.scope}
		e.text, err = t.termsOf(r)
		if err == nil && r.turn != 0 {
			e.around, err = t.aroundTurn(r.turn)
		}
		if sqlite.Damaged(err) { // the others can be found all the same
			t.w.store.log.Error("index a damaged memory by its title only", "memory", r.id, "err", err)
			e.text, err = t.w.builder.NoteTerms(r.title, r.scope.tags, ""), nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, t.w.indexed(e))
	}
	return out, nil
}
