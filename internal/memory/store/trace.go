package store

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/sqlite"
)

// Bits of memory.edited: what a person set stays when the turn changes.
const (
	editedTitle = 1 << iota
	editedSummary
	editedStatus
)

// row is what the writer needs to know of a memory.
type memoryRow struct {
	id      int64
	public  string
	cell    cell
	session int64
	turn    int64 // 0 for a note
	created int64
	version int64
	edited  int64
	title   string
	summary string
	tags    string
	origin  int64 // the turn it was learned from
}

const memoryRowColumns = `id, public, layer, status, agent, coalesce(project, 0), coalesce(session, 0), coalesce(turn, 0),
	created_at, version, edited, title, summary, tags, rule, coalesce(origin, 0)`

func (m *memoryRow) fields() []any {
	return []any{
		&m.id, &m.public, &m.cell.layer, &m.cell.status, &m.cell.agent, &m.cell.project, &m.session, &m.turn,
		&m.created, &m.version, &m.edited, &m.title, &m.summary, &m.tags, &m.cell.rule, &m.origin,
	}
}

func (m memoryRow) scope() (scope, error) {
	tags, err := parseTags(m.tags)
	return scope{
		layer: ambry.Layer(m.cell.layer), status: ambry.Status(m.cell.status), agent: m.cell.agent,
		project: m.cell.project, session: m.session, created: m.created, tags: tags,
	}, err
}

// trace brings the memory of a turn in line with it: there is one as long as the
// turn has anything to show.
func (t *tx) trace(turn int64, key document.Digest, s session, c document.Content) error {
	t.w.gists.put(turn, c.Terms.Gist())
	if err := t.moved(turn); err != nil {
		return err
	}
	if err := t.unlearned(turn); err != nil {
		return err
	}
	var m memoryRow
	err := t.Row(`SELECT `+memoryRowColumns+` FROM memory WHERE turn = ?`, turn).Scan(m.fields()...)
	ok, err := sqlite.Found(err)
	if err != nil {
		return fmt.Errorf("read a memory: %w", err)
	}
	switch {
	case ok && !c.Visible:
		return t.drop(m)
	case ok:
		return t.retrace(m, s, c)
	case c.Visible:
		return t.addTrace(turn, key, s, c)
	}
	return nil
}

func (t *tx) addTrace(turn int64, key document.Digest, s session, c document.Content) error {
	m, err := t.traceRow(s, c)
	if err != nil {
		return err
	}
	m.public = document.MemoryID(ambry.L1, key)
	m.cell.layer, m.cell.status = string(ambry.L1), string(ambry.Activated)
	if m.tags, err = formatTags(c.Tags); err != nil {
		return err
	}
	m.id, err = t.insert(`INSERT INTO memory (public, layer, status, agent, project, session, turn, created_at, updated_at, title, summary, tags)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		m.public, m.cell.layer, m.cell.status, m.cell.agent, null(m.cell.project), s.id, turn, m.created, t.now, c.Title, c.Summary, m.tags)
	if err != nil {
		return fmt.Errorf("add a memory: %w", err)
	}
	m.turn, m.version = turn, 1
	return t.entered(m, c.Terms)
}

// traceRow fills in what a trace takes from its session.
func (t *tx) traceRow(s session, c document.Content) (memoryRow, error) {
	agent, err := t.agent(s.agent)
	if err != nil {
		return memoryRow{}, err
	}
	project, err := t.project(s.project)
	if err != nil {
		return memoryRow{}, err
	}
	return memoryRow{cell: cell{agent: agent, project: project.Int64}, session: s.id, created: t.when(s, c)}, nil
}

// retrace updates the memory of a turn that changed.
func (t *tx) retrace(m memoryRow, s session, c document.Content) error {
	now, err := t.traceRow(s, c)
	if err != nil {
		return err
	}
	t.countMemory(m.cell, m.created, -1)
	m.cell.agent, m.cell.project, m.session, m.created = now.cell.agent, now.cell.project, now.session, now.created
	m.version++
	if m.edited&editedTitle == 0 {
		m.title = c.Title
	}
	if m.edited&editedSummary == 0 {
		m.summary = c.Summary
	}
	err = t.exec(`UPDATE memory SET agent = ?, project = ?, session = ?, created_at = ?, updated_at = ?, version = ?,
			title = ?, summary = ? WHERE id = ?`,
		m.cell.agent, null(m.cell.project), m.session, m.created, t.now, m.version, m.title, m.summary, m.id)
	if err != nil {
		return fmt.Errorf("update a memory: %w", err)
	}
	t.unindex(m.id)
	if m.edited != 0 {
		if c.Terms, err = t.termsFor(m.id); err != nil {
			return err
		}
	}
	return t.entered(m, c.Terms)
}

// entered counts a memory, writes its terms and notes the change.
func (t *tx) entered(m memoryRow, text document.Terms) error {
	t.countMemory(m.cell, m.created, 1)
	s, err := m.scope()
	if err != nil {
		return err
	}
	t.index(m.id, m.turn, text, s)
	_, err = t.changed(m.id, m.version)
	return err
}

// changed notes a change and returns its number.
func (t *tx) changed(memory, version int64) (int64, error) {
	seq, err := t.insert(`INSERT INTO change (memory, version, at) VALUES (?, ?, ?)`, memory, version, t.now)
	if err != nil {
		return 0, fmt.Errorf("note a change: %w", err)
	}
	return seq, nil
}

// drop takes a memory out of everything but its turn.
func (t *tx) drop(m memoryRow) error {
	t.unindex(m.id)
	if err := t.exec(`DELETE FROM memory WHERE id = ?`, m.id); err != nil {
		return fmt.Errorf("delete a memory: %w", err)
	}
	if err := t.forgetHeld(m.id); err != nil {
		return err
	}
	t.countMemory(m.cell, m.created, -1)
	_, err := t.changed(m.id, 0)
	return err
}

func null(id int64) sql.NullInt64 { return sql.NullInt64{Int64: id, Valid: id != 0} }

func parseTags(text string) ([]string, error) {
	tags := []string{}
	if text == "[]" {
		return tags, nil
	}
	if err := json.Unmarshal([]byte(text), &tags); err != nil {
		return nil, sqlite.Unreadable("read tags", err)
	}
	return tags, nil
}

func formatTags(tags []string) (string, error) {
	if len(tags) == 0 {
		return "[]", nil
	}
	b, err := json.Marshal(tags)
	return string(b), err
}
