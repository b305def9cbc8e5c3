package dump

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/tables"
)

// dumpBuffer is how much is written at once.
const dumpBuffer = 256 << 10

const cacheKiB = 8 << 10 // that the connection of an export may hold

// Write writes the memory in a file as it is now as records, one a line. It reads
// one state of it on a connection of its own; writes go on meanwhile.
func Write(ctx context.Context, path string, bodies document.Unpacker, out io.Writer) error {
	db, err := sqlite.Connect(path, 1, map[string]string{"query_only": "ON", "cache_size": strconv.Itoa(-cacheKiB)})
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return sqlite.Failure(err)
	}
	defer func() { _ = tx.Rollback() }()
	w := bufio.NewWriterSize(out, dumpBuffer)
	d := &dumper{ctx: ctx, tx: tx, out: w, bodies: bodies, json: json.NewEncoder(w), sessions: map[int64]Named{}}
	d.json.SetEscapeHTML(false)
	if err := d.dump(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return sqlite.Failure(err)
	}
	return w.Flush()
}

// dumper writes records. Rows are read in an order that they have again when
// they were restored.
type dumper struct {
	ctx      context.Context
	tx       *sql.Tx
	out      *bufio.Writer
	bodies   document.Unpacker
	json     *json.Encoder
	sessions map[int64]Named
	buf      []byte
}

func (d *dumper) dump() error {
	if err := d.json.Encode(Record{Header: &Header{Format: Format, Version: Version, Schema: sqlite.SchemaVersion()}}); err != nil {
		return err
	}
	for _, part := range []func() error{
		d.dumpSessions, d.dumpTurns, d.dumpMemories, d.dumpClaims, d.dumpLive, d.dumpForgotten, d.dumpUses, d.dumpCalls,
	} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// each calls do for each row of a query.
func (d *dumper) each(query string, do func(*sql.Rows) error) error {
	rows, err := d.tx.QueryContext(d.ctx, query)
	if err != nil {
		return fmt.Errorf("read for an export: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := do(rows); err != nil {
			return fmt.Errorf("read for an export: %w", err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read for an export: %w", err)
	}
	return nil
}

func (d *dumper) dumpSessions() error {
	err := d.each(`SELECT `+tables.SessionColumns+` FROM `+tables.SessionTables+` ORDER BY s.id`, func(rows *sql.Rows) error {
		var s tables.Session
		if err := rows.Scan(s.Fields()...); err != nil {
			return err
		}
		d.sessions[s.ID] = Named{Agent: s.Agent, ID: s.External}
		return d.json.Encode(Record{Session: &Session{Session: ambry.Session{
			ID: s.External, Agent: s.Agent, ParentID: s.Parent, Relation: ambry.Relation(s.Relation), Title: s.Title,
			Cwd: s.Cwd, Project: s.Project, Branch: s.Branch, Model: s.Model, Version: s.Version,
			Background: s.Background, Archived: s.Archived, StartedAt: sqlite.Time(s.Started), EndedAt: sqlite.Time(s.Ended),
		}, ToldAt: sqlite.Time(s.Told)}})
	})
	if err != nil {
		return err
	}
	return d.each(`SELECT id, copy_of FROM session WHERE copy_of IS NOT NULL ORDER BY id`, func(rows *sql.Rows) error {
		var id, of int64
		if err := rows.Scan(&id, &of); err != nil {
			return err
		}
		return d.json.Encode(Record{Continuation: &Continuation{Agent: d.sessions[id].Agent, Session: d.sessions[id].ID, Of: d.sessions[of].ID}})
	})
}

func (d *dumper) dumpTurns() error {
	return d.each(`SELECT t.id, t.external, t.part, t.session, t.at, coalesce(f.path, ''), t.line, t.start, t.stop, t.row, t.hash, t.copies, t.body
		FROM turn AS t LEFT JOIN source AS f ON f.id = t.source ORDER BY t.id`, func(rows *sql.Rows) error {
		var id, owner, at int64
		var copies int
		var t Turn
		var packed sql.RawBytes
		err := rows.Scan(&id, &t.ID, &t.Part, &owner, &at, &t.Source.Path, &t.Source.Line, &t.Source.Offset, &t.Source.End,
			&t.Source.Row, (*[]byte)(&t.Hash), &copies, &packed)
		if err != nil {
			return err
		}
		t.Agent, t.Session, t.At = d.sessions[owner].Agent, d.sessions[owner].ID, sqlite.Time(at)
		if d.buf, err = d.bodies.Expand(packed, d.buf[:0]); err != nil {
			return fmt.Errorf("unpack a turn: %w", err)
		}
		if copies == 0 {
			return d.turn(t, d.buf)
		}
		return d.sharedTurn(id, t)
	})
}

// turn writes a turn whose body is JSON already: it has the names of a record.
func (d *dumper) turn(t Turn, encoded []byte) error {
	line, err := json.Marshal(t) // with "body":null as its end
	if err != nil {
		return err
	}
	const end = `null}`
	for _, part := range [][]byte{[]byte(`{"turn":`), line[:len(line)-len(end)], trimLine(encoded), []byte("}}\n")} {
		if _, err := d.out.Write(part); err != nil {
			return err
		}
	}
	return nil
}

func trimLine(encoded []byte) []byte {
	if n := len(encoded); n > 0 && encoded[n-1] == '\n' {
		return encoded[:n-1]
	}
	return encoded
}

// sharedTurn writes a turn that several sessions hold. Its body in d.buf names
// them by their rows.
func (d *dumper) sharedTurn(id int64, t Turn) error {
	var b document.Body
	if err := json.Unmarshal(d.buf, &b); err != nil {
		return fmt.Errorf("decode a turn: %w", err)
	}
	rows, err := d.tx.QueryContext(d.ctx, `SELECT c.session, coalesce(f.path, ''), c.line, c.start, c.stop, c.row, c.hash
		FROM copy AS c LEFT JOIN source AS f ON f.id = c.source WHERE c.turn = ? ORDER BY c.session`, id)
	t.Copies, err = sqlite.Collect(rows, err, func(rows *sql.Rows) (p Place, err error) {
		var session int64
		err = rows.Scan(&session, &p.Source.Path, &p.Source.Line, &p.Source.Offset, &p.Source.End, &p.Source.Row, (*[]byte)(&p.Hash))
		p.Session = d.sessions[session].ID
		return p, err
	})
	if err != nil {
		return err
	}
	t.Body = &Body{At: b.At, Cwd: b.Cwd, Branch: b.Branch, Model: b.Model, Tokens: b.Tokens, Messages: make([]ambry.Message, len(b.Messages))}
	t.From = make([]string, len(b.Messages))
	for i, m := range b.Messages {
		t.Body.Messages[i] = m.Message
		if m.From != 0 {
			t.From[i] = d.sessions[m.From].ID
		}
	}
	return d.json.Encode(Record{Turn: &t})
}

func (d *dumper) dumpMemories() error {
	return d.each(`SELECT m.public, m.layer, m.status, a.name, coalesce(p.path, ''), coalesce(m.session, 0), coalesce(t.external, ''), coalesce(t.part, 0),
			coalesce(t.session, 0), m.turn_ref, m.created_at, m.updated_at, m.version, m.edited, m.title, m.summary, m.tags, m.body, m.sum, m.rule
		FROM memory AS m JOIN agent AS a ON a.id = m.agent LEFT JOIN project AS p ON p.id = m.project LEFT JOIN turn AS t ON t.id = coalesce(m.turn, m.origin)
		ORDER BY m.id`, func(rows *sql.Rows) error {
		var m Memory
		var session, owner, created, updated int64
		var turn Named
		var tags string
		var note tables.Noted
		err := rows.Scan(&m.ID, &m.Layer, &m.Status, &m.Agent, &m.Project, &session, &turn.ID, &turn.Part, &owner, &m.TurnRef,
			&created, &updated, &m.Version, &m.Edited, &m.Title, &m.Summary, &tags, &note.Body, &note.Sum, &m.Rule)
		if err != nil {
			return err
		}
		if m.Tags, err = tables.ParseTags(tags); err != nil {
			return err
		}
		text, err := note.Text()
		if err != nil {
			return err
		}
		if note.Body.Valid {
			m.Body = &text
		}
		m.CreatedAt, m.UpdatedAt = sqlite.Time(created), sqlite.Time(updated)
		if session != 0 {
			s := d.sessions[session]
			m.Session = &s
		}
		if owner != 0 {
			turn.Agent = d.sessions[owner].Agent
			m.Turn = &turn
			if m.Rule != "" {
				m.Turn, m.Origin = nil, &turn
			}
		}
		return d.json.Encode(Record{Memory: &m})
	})
}

func (d *dumper) dumpLive() error {
	err := d.each(`SELECT session, key, opened_at, closed_at FROM live_session ORDER BY session`, func(rows *sql.Rows) error {
		var l LiveSession
		var session, opened, closed int64
		if err := rows.Scan(&session, &l.Key, &opened, &closed); err != nil {
			return err
		}
		l.Session, l.OpenedAt, l.ClosedAt = d.sessions[session], sqlite.Time(opened), sqlite.Time(closed)
		return d.json.Encode(Record{LiveSession: &l})
	})
	if err != nil {
		return err
	}
	return d.each(`SELECT l.session, l.external, l.state, coalesce(t.external, ''), coalesce(t.part, 0), coalesce(t.session, 0), l.query, l.started_at, l.asked, l.said
		FROM live_turn AS l LEFT JOIN turn AS t ON t.id = l.turn ORDER BY l.id`, func(rows *sql.Rows) error {
		var l LiveTurn
		var session, owner, started int64
		var turn Named
		if err := rows.Scan(&session, &l.ID, &l.State, &turn.ID, &turn.Part, &owner, &l.Query, &started, (*[]byte)(&l.Asked), (*[]byte)(&l.Said)); err != nil {
			return err
		}
		l.Session, l.StartedAt = d.sessions[session], sqlite.Time(started)
		if owner != 0 {
			turn.Agent = d.sessions[owner].Agent
			l.Turn = &turn
		}
		return d.json.Encode(Record{LiveTurn: &l})
	})
}

func (d *dumper) dumpForgotten() error {
	err := d.each(`SELECT public, turn, print, forgotten_at FROM tombstone ORDER BY public`, func(rows *sql.Rows) error {
		var t Tombstone
		var at int64
		if err := rows.Scan(&t.ID, (*[]byte)(&t.Turn), (*[]byte)(&t.Print), &at); err != nil {
			return err
		}
		t.ForgottenAt = sqlite.Time(at)
		return d.json.Encode(Record{Tombstone: &t})
	})
	if err != nil {
		return err
	}
	return d.each(`SELECT print, forgotten_at FROM gone ORDER BY print`, func(rows *sql.Rows) error {
		var g Gone
		var at int64
		if err := rows.Scan((*[]byte)(&g.Print), &at); err != nil {
			return err
		}
		g.ForgottenAt = sqlite.Time(at)
		return d.json.Encode(Record{Gone: &g})
	})
}

func (d *dumper) dumpUses() error {
	err := d.each(`SELECT m.public, f.search, f.verdict, f.note, f.at FROM feedback AS f JOIN memory AS m ON m.id = f.memory ORDER BY f.memory, f.search`, func(rows *sql.Rows) error {
		var f Feedback
		var at int64
		if err := rows.Scan(&f.Memory, &f.Search, &f.Verdict, &f.Note, &at); err != nil {
			return err
		}
		f.At = sqlite.Time(at)
		return d.json.Encode(Record{Feedback: &f})
	})
	if err != nil {
		return err
	}
	return d.each(`SELECT m.public, u.shown, u.used, u.ignored, u.helpful, u.wrong, u.last_at FROM uses AS u JOIN memory AS m ON m.id = u.memory ORDER BY u.memory`, func(rows *sql.Rows) error {
		var u Uses
		var at int64
		if err := rows.Scan(&u.Memory, &u.Shown, &u.Used, &u.Ignored, &u.Helpful, &u.Wrong, &at); err != nil {
			return err
		}
		u.LastAt = sqlite.Time(at)
		return d.json.Encode(Record{Uses: &u})
	})
}

func (d *dumper) dumpCalls() error {
	return d.each(`SELECT r.public, r.tool, a.name, r.session, r.turn, r.at, r.took, r.failed, r.input, r.output
		FROM recall_log AS r JOIN agent AS a ON a.id = r.agent ORDER BY r.id`, func(rows *sql.Rows) error {
		var c Call
		var at int64
		if err := rows.Scan(&c.ID, &c.Tool, &c.Agent, &c.Session, &c.Turn, &at, &c.Took, &c.Failed, (*[]byte)(&c.Input), (*[]byte)(&c.Output)); err != nil {
			return err
		}
		c.At = sqlite.Time(at)
		return d.json.Encode(Record{Call: &c})
	})
}

// dumpClaims writes what was learned, with its evidence. Claims of one topic
// stand together.
func (d *dumper) dumpClaims() error {
	return d.each(`SELECT c.id, c.key, c.topic, c.rule, c.layer, coalesce(p.path, ''), c.need, c.most, c.instead, c.title, c.body
		FROM claim AS c LEFT JOIN project AS p ON p.id = c.project ORDER BY c.topic, c.key`, func(rows *sql.Rows) error {
		var id int64
		var c Claim
		err := rows.Scan(&id, (*[]byte)(&c.Key), (*[]byte)(&c.Topic), &c.Rule, &c.Layer, &c.Project, &c.Need, &c.Most, (*[]byte)(&c.Instead), &c.Title, &c.Body)
		if err != nil {
			return err
		}
		of, err := d.tx.QueryContext(d.ctx, `SELECT t.external, t.part, t.session, e.at, e.nth, e.sure, e.hash
			FROM evidence AS e JOIN turn AS t ON t.id = e.turn WHERE e.claim = ? ORDER BY e.at, t.key`, id)
		c.Evidence, err = sqlite.Collect(of, err, func(rows *sql.Rows) (e Evidence, err error) {
			var owner, at int64
			err = rows.Scan(&e.ID, &e.Part, &owner, &at, &e.Nth, &e.Sure, (*[]byte)(&e.Hash))
			e.Agent, e.At = d.sessions[owner].Agent, sqlite.Time(at)
			return e, err
		})
		if err != nil {
			return err
		}
		return d.json.Encode(Record{Claim: &c})
	})
}
