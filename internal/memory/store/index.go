package store

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"ambry.dev/ambry"
)

//go:embed schema/index.sql
var indexSQL string

// indexVersion grows when the terms or the columns change; an index of another
// version is made anew when the memory is opened.
const indexVersion = 2

// weights of the columns lead, rest, around, day and scope in bm25: a request
// says in few words what an answer says in many, and what was said around a turn
// is only a hint.
const weights = "1.0, 0.25, 0.4, 0.5, 0.0"

// scope is what a search can be limited to.
type scope struct {
	layer   ambry.Layer
	status  ambry.Status
	agent   int64
	project int64 // 0 for none
	session int64 // 0 for none
	created int64 // Unix milliseconds
	tags    []string
}

// terms are the words of the column scope. They begin with a dot, as no word of
// a text does, so that neither is taken for the other.
func (s scope) terms() string {
	at := timeOf(s.created)
	out := []string{layerTerm(s.layer), agentTerm(s.agent), dayTerm(at), monthTerm(at)}
	if s.project != 0 {
		out = append(out, projectTerm(s.project))
	}
	if s.session != 0 {
		out = append(out, sessionTerm(s.session))
	}
	if s.status == ambry.Archived {
		out = append(out, archivedTerm)
	}
	for _, tag := range s.tags {
		out = append(out, tagTerm(tag))
	}
	return strings.Join(out, " ")
}

const archivedTerm = ".archived"

func layerTerm(l ambry.Layer) string { return ".layer." + strings.ToLower(string(l)) }
func agentTerm(id int64) string      { return ".a" + strconv.FormatInt(id, 10) }
func projectTerm(id int64) string    { return ".p" + strconv.FormatInt(id, 10) }
func sessionTerm(id int64) string    { return ".s" + strconv.FormatInt(id, 10) }
func dayTerm(at time.Time) string    { return ".d" + at.Format("20060102") }
func monthTerm(at time.Time) string  { return ".m" + at.Format("200601") }

// tagTerm is a digest, since a tag may hold any character.
func tagTerm(tag string) string {
	sum := sha256.Sum256([]byte(tag))
	return ".t" + hex.EncodeToString(sum[:8])
}

// entry is a change of the text index. It is made right before the commit, since
// FTS5 writes a segment of its own for each savepoint that it takes part in.
type entry struct {
	memory int64
	remove bool
	fresh  bool // the text is new or another one, not only what is around it
	text   terms
	around string // what the neighbours of a turn lend
	scope  scope
}

// index writes the terms of a memory that has none. A trace is of a turn; what
// its neighbours lend is added at the end of the job.
func (t *tx) index(memory, turn int64, text terms, s scope) {
	if turn != 0 {
		if t.traces == nil {
			t.traces = map[int64]int{}
		}
		t.traces[turn] = len(t.entries)
	}
	t.entries = append(t.entries, entry{memory: memory, fresh: true, text: text, scope: s})
}

// unindex takes the terms of a memory out.
func (t *tx) unindex(memory int64) {
	t.entries = append(t.entries, entry{memory: memory, remove: true})
}

// enter makes the changes of the text index.
func (w *writer) enter(entries []entry) error {
	for _, e := range entries {
		var err error
		if e.remove {
			err = w.exec("DELETE FROM words WHERE rowid = ?", e.memory)
		} else {
			err = w.exec("INSERT OR REPLACE INTO words (rowid, lead, rest, around, day, scope) VALUES (?, ?, ?, ?, ?, ?)",
				e.memory, e.text.lead, e.text.rest, e.around, w.scribe.day(e.scope.created), e.scope.terms())
		}
		if err != nil {
			return fmt.Errorf("write the text index: %w", err)
		}
	}
	return nil
}

// ensureIndex makes the index if there is none, or one of another version.
func (w *writer) ensureIndex() error {
	var version int64
	err := w.conn.QueryRowContext(context.Background(), `SELECT value FROM meta WHERE name = 'index'`).Scan(&version)
	if ok, err := found(err); err != nil {
		return fmt.Errorf("read the version of the text index: %w", err)
	} else if ok && version == indexVersion {
		return nil
	}
	if err := w.commit([]*job{{ctx: context.Background(), run: (*tx).rebuild}}); err != nil {
		return err
	}
	return nil
}

// Rebuild makes the text index anew from the rows. Searches go on with the old
// one meanwhile; writes wait.
func (s *Store) Rebuild(ctx context.Context) error {
	return s.write(ctx, groupBytes, (*tx).rebuild)
}

// Numbers of the index: it takes terms in memory and writes them as segments,
// which it merges when there are too many. Larger pieces and later merges write
// less; searches look into each segment.
var indexSettings = [...]struct {
	name  string
	value int
}{
	{"automerge", 8},
	{"crisismerge", 32},
	{"hashsize", 4 << 20},
	{"pgsz", 4050},
}

func (t *tx) rebuild() error {
	t.w.entries = t.w.entries[:0] // of rows that are read below
	for _, table := range []string{"vocabulary", "words"} {
		if err := t.execOnce("DROP TABLE IF EXISTS " + table); err != nil {
			return err
		}
	}
	if err := t.execOnce(indexSQL); err != nil {
		return err
	}
	for _, s := range indexSettings {
		if err := t.execOnce("INSERT INTO words (words, rank) VALUES (?, ?)", s.name, s.value); err != nil {
			return err
		}
	}
	for after := int64(0); ; {
		n, last, err := t.rebuildSome(after)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		after = last
	}
	return t.execOnce(`INSERT INTO meta (name, value) VALUES ('index', ?)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`, indexVersion)
}

// rebuildBatch is how many memories are held while their terms are written.
const rebuildBatch = 64

// rebuildSome indexes the next memories after an id, and returns how many and
// the last one.
func (t *tx) rebuildSome(after int64) (n int, last int64, err error) {
	rows, err := t.texts(`WHERE m.id > ? ORDER BY m.id LIMIT ?`, after, rebuildBatch)
	if err != nil {
		return 0, 0, err
	}
	for _, r := range rows {
		text, err := t.termsOf(r)
		if err != nil {
			return 0, 0, err
		}
		e := entry{memory: r.id, text: text, scope: r.scope}
		if r.turn != 0 {
			if e.around, err = t.aroundTurn(r.turn); err != nil {
				return 0, 0, err
			}
		}
		if err := t.w.enter([]entry{e}); err != nil {
			return 0, 0, err
		}
		last = r.id
	}
	return len(rows), last, nil
}

// execOnce runs a statement that is not worth keeping prepared.
func (t *tx) execOnce(query string, args ...any) error {
	if _, err := t.w.conn.ExecContext(t.ctx, query, args...); err != nil {
		return fmt.Errorf("make the text index: %w", err)
	}
	return nil
}

// text is what the terms of a memory are made from.
type text struct {
	id     int64
	turn   int64 // 0 for a note
	scope  scope
	edited int64
	title  string
	note   string
	packed []byte // of a trace
}

// texts reads memories with their texts; where is trusted SQL.
func (t *tx) texts(where string, args ...any) ([]text, error) {
	s, err := t.w.statement(`SELECT m.id, m.layer, m.status, m.agent, coalesce(m.project, 0), coalesce(m.session, 0),
			m.created_at, coalesce(m.turn, 0), m.tags, m.edited, m.title, coalesce(m.body, ''), turn.body
		FROM memory AS m LEFT JOIN turn ON turn.id = m.turn ` + where)
	if err != nil {
		return nil, fmt.Errorf("read texts: %w", err)
	}
	rows, err := s.Query(args...)
	if err != nil {
		return nil, fmt.Errorf("read texts: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var out []text
	for rows.Next() {
		var r text
		var tags string
		err := rows.Scan(&r.id, &r.scope.layer, &r.scope.status, &r.scope.agent, &r.scope.project, &r.scope.session,
			&r.scope.created, &r.turn, &tags, &r.edited, &r.title, &r.note, &r.packed)
		if err != nil {
			return nil, fmt.Errorf("read texts: %w", err)
		}
		if r.scope.tags, err = parseTags(tags); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read texts: %w", err)
	}
	return out, nil
}

// termsOf cuts the texts of a memory as they were cut when it was added.
func (t *tx) termsOf(r text) (terms, error) {
	w := t.w.scribe
	if r.packed == nil {
		return w.noteTerms(r.title, r.scope.tags, r.note), nil
	}
	b, err := t.w.store.unpack(r.packed)
	if err != nil {
		return terms{}, err
	}
	out := w.terms(b)
	if r.edited&editedTitle != 0 {
		w.cutter.Begin()
		out.lead += string(w.cutter.Append(nil, r.title))
	}
	return out, nil
}

// termsFor cuts the texts of a memory as its rows are now.
func (t *tx) termsFor(memory int64) (terms, error) {
	rows, err := t.texts(`WHERE m.id = ?`, memory)
	if err != nil {
		return terms{}, err
	}
	if len(rows) != 1 {
		return terms{}, fmt.Errorf("read the texts of a memory: %d rows", len(rows))
	}
	return t.termsOf(rows[0])
}
