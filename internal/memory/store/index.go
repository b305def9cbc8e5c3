package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/index"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/tables"
)

// indexVersion grows when the terms, the columns, their weights or the files change; an index
// of another version is made anew when the memory is opened.
const indexVersion = 6

// The columns are lead, rest, around, day and scope: a request says in few words
// what an answer says in many, and what was said around a turn is only a hint.
var (
	columnWeights = [index.Columns]float64{1, 0.25, 0.4, 0.5, 0}
	ownColumns    = [index.Columns]bool{true, true}
)

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
	at := sqlite.Time(s.created)
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

// entry is a change of the text index, which is made right after the commit.
type entry struct {
	memory int64
	remove bool
	fresh  bool // the text is new or another one, not only what is around it
	text   document.Terms
	around string // what the neighbours of a turn lend
	scope  scope
}

// index writes the terms of a memory that has none. A trace is of a turn; what
// its neighbours lend is added at the end of the job.
func (t *tx) index(memory, turn int64, text document.Terms, s scope) {
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

// entered is what changes in the text index.
type entered struct {
	entries []index.Entry
	gone    []int64
}

// latest leaves only the last change of each memory.
func (w *writer) latest(entries []entry) entered {
	last := make(map[int64]int, len(entries))
	for i, e := range entries {
		last[e.memory] = i
	}
	var out entered
	for i, e := range entries {
		switch {
		case last[e.memory] != i:
		case e.remove:
			out.gone = append(out.gone, e.memory)
		default:
			out.entries = append(out.entries, w.indexed(e))
		}
	}
	return out
}

func (w *writer) indexed(e entry) index.Entry {
	return index.Entry{Doc: e.memory, At: e.scope.created, Columns: [index.Columns]string{
		e.text.Lead, e.text.Rest, e.around, w.builder.Day(e.scope.created), e.scope.terms(),
	}}
}

// promise notes, in the transaction that changes memories, what has to be done to
// the index, so that it is done after a crash too.
func (w *writer) promise(e entered) error {
	for _, one := range e.entries {
		if err := w.exec("INSERT OR IGNORE INTO index_todo (memory) VALUES (?)", one.Doc); err != nil {
			return fmt.Errorf("note what to index: %w", err)
		}
	}
	for _, memory := range e.gone {
		if err := w.exec("INSERT OR IGNORE INTO index_gone (memory) VALUES (?)", memory); err != nil {
			return fmt.Errorf("note what to index: %w", err)
		}
		if err := w.exec("DELETE FROM index_todo WHERE memory = ?", memory); err != nil {
			return fmt.Errorf("note what to index: %w", err)
		}
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
	lost   error  // why the note cannot be told
}

// texts reads memories with their texts; where is trusted SQL.
func (t *tx) texts(where string, args ...any) ([]text, error) {
	s, err := t.w.statement(`SELECT m.id, m.layer, m.status, m.agent, coalesce(m.project, 0), coalesce(m.session, 0),
			m.created_at, coalesce(m.turn, 0), m.tags, m.edited, m.title, m.body, m.sum, turn.body
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
		var note tables.Noted
		err := rows.Scan(&r.id, &r.scope.layer, &r.scope.status, &r.scope.agent, &r.scope.project, &r.scope.session,
			&r.scope.created, &r.turn, &tags, &r.edited, &r.title, &note.Body, &note.Sum, &r.packed)
		if err != nil {
			return nil, fmt.Errorf("read texts: %w", err)
		}
		if r.scope.tags, err = tables.ParseTags(tags); err != nil {
			return nil, err
		}
		r.note, r.lost = note.Text()
		out = append(out, r)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read texts: %w", err)
	}
	return out, nil
}

// termsOf cuts the texts of a memory as they were cut when it was added.
func (t *tx) termsOf(r text) (document.Terms, error) {
	w := t.w.builder
	if r.packed == nil {
		return w.NoteTerms(r.title, r.scope.tags, r.note), r.lost
	}
	b, err := t.w.store.unpacker.Unpack(r.packed)
	if err != nil {
		return document.Terms{}, err
	}
	out := w.Terms(b)
	if r.edited&tables.EditedTitle != 0 {
		out.Lead += w.Cut(r.title)
	}
	return out, nil
}

// termsFor cuts the texts of a memory as its rows are now.
func (t *tx) termsFor(memory int64) (document.Terms, error) {
	rows, err := t.texts(`WHERE m.id = ?`, memory)
	if err != nil {
		return document.Terms{}, err
	}
	if len(rows) != 1 {
		return document.Terms{}, fmt.Errorf("read the texts of a memory: %d rows", len(rows))
	}
	return t.termsOf(rows[0])
}
