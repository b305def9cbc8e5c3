package report

import (
	"context"
	"database/sql"
	"fmt"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/tables"
)

const summaryColumns = tables.SessionColumns + `, s.turns, s.messages, s.calls, s.input, s.cached, s.output,
	coalesce((SELECT m.title FROM turn AS t JOIN memory AS m ON m.turn = t.id WHERE t.session = s.id
		ORDER BY t.at, t.start, t.id LIMIT 1), '')`

// scanSummary reads summaryColumns. A session that its agent gave no title has
// that of its first turn.
func scanSummary(row sqlite.Scanner) (ambry.SessionSummary, error) {
	var s tables.Session
	var out ambry.SessionSummary
	var title string
	err := row.Scan(append(s.Fields(), &out.Turns, &out.Messages, &out.Calls,
		&out.Tokens.Input, &out.Tokens.Cached, &out.Tokens.Output, &title)...)
	if err != nil {
		return ambry.SessionSummary{}, err
	}
	out.Session = s.Public()
	if out.Title == "" {
		out.Title = title
	}
	return out, nil
}

// Sessions returns a page of the sessions that have turns of their own, newest
// first.
func (s *Reports) Sessions(ctx context.Context, q ambry.SessionsQuery) (ambry.Sessions, error) {
	out := ambry.Sessions{Sessions: []ambry.SessionSummary{}}
	err := s.Readers.Snapshot(ctx, func(r sqlite.Reader) error {
		var c conditions
		c.add("s.turns > 0")
		if q.Agent != "" {
			c.add("s.agent = (SELECT id FROM agent WHERE name = ?)", q.Agent)
		}
		if q.Project != "" {
			c.add("s.project = (SELECT id FROM project WHERE path = ?)", q.Project)
		}
		count := `SELECT count(*) FROM session AS s` + c.where()
		if len(c.args) == 0 {
			count = `SELECT sessions FROM total`
		}
		var total int64
		if err := r.Row(count, c.args...).Scan(&total); err != nil {
			return fmt.Errorf("count sessions: %w", err)
		}
		var offset int64
		out.Page, offset = s.page(q.Page, total)
		if offset >= total {
			return nil
		}
		rows, err := r.Rows(`SELECT `+summaryColumns+` FROM `+tables.SessionTables+` WHERE s.id IN (
				SELECT s.id FROM session AS s`+c.where()+` ORDER BY s.ended_at DESC, s.id DESC LIMIT ? OFFSET ?)
			ORDER BY s.ended_at DESC, s.id DESC`, append(c.args, PageSize, offset)...)
		out.Sessions, err = sqlite.Collect(rows, err, func(rows *sql.Rows) (ambry.SessionSummary, error) { return scanSummary(rows) })
		if err != nil {
			return fmt.Errorf("list sessions: %w", err)
		}
		return nil
	})
	if err != nil {
		return ambry.Sessions{}, err
	}
	return out, nil
}

// Transcript returns a session with a page of the turns that it owns, in order,
// or [ambry.NotFound]. When two agents have a session of that id it is the one
// with the newer turns.
func (s *Reports) Transcript(ctx context.Context, external string, page int) (ambry.Transcript, error) {
	out := ambry.Transcript{Turns: []ambry.Turn{}}
	err := s.Readers.Snapshot(ctx, func(r sqlite.Reader) error {
		var id int64
		err := r.Row(`SELECT id FROM session WHERE external = ? ORDER BY turns > 0 DESC, ended_at DESC, id DESC LIMIT 1`, external).Scan(&id)
		ok, err := sqlite.Found(err)
		if err != nil {
			return fmt.Errorf("look for a session: %w", err)
		}
		if !ok {
			return ambry.NotFound.Errorf("there is no session %q", document.Head(external, 64))
		}
		out.Session, err = scanSummary(r.Row(`SELECT `+summaryColumns+` FROM `+tables.SessionTables+` WHERE s.id = ?`, id))
		if err != nil {
			return fmt.Errorf("read a session: %w", err)
		}
		var offset int64
		out.Page, offset = s.page(page, out.Session.Turns)
		rows, err := r.Rows(`SELECT t.external, t.part, coalesce(f.path, ''), t.line, t.start, t.stop, t.row, t.body
			FROM turn AS t LEFT JOIN source AS f ON f.id = t.source WHERE t.session = ?
			ORDER BY t.at, t.start, t.id LIMIT ? OFFSET ?`, id, PageSize, offset)
		out.Turns, err = sqlite.Collect(rows, err, s.scanTurn)
		if err != nil {
			return fmt.Errorf("read turns: %w", err)
		}
		return nil
	})
	if err != nil {
		return ambry.Transcript{}, err
	}
	return out, nil
}

func (s *Reports) scanTurn(rows *sql.Rows) (ambry.Turn, error) {
	var id string
	var part int
	var at ambry.Source
	var packed []byte
	if err := rows.Scan(&id, &part, &at.Path, &at.Line, &at.Offset, &at.End, &at.Row, &packed); err != nil {
		return ambry.Turn{}, err
	}
	b, err := s.Bodies.Unpack(packed)
	if err != nil {
		return ambry.Turn{}, err
	}
	return b.Turn(id, part, at), nil
}
