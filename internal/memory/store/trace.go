package store

import (
	"fmt"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/tables"
)

func scopeOf(m tables.Memory) (scope, error) {
	tags, err := tables.ParseTags(m.Tags)
	return scope{
		layer: ambry.Layer(m.Cell.Layer), status: ambry.Status(m.Cell.Status), agent: m.Cell.Agent,
		project: m.Cell.Project, session: m.Session, created: m.Created, tags: tags,
	}, err
}

// trace brings the memory of a turn in line with it: there is one as long as the
// turn has anything to show.
func (t *tx) trace(turn int64, key document.Digest, s tables.Session, c document.Content) error {
	t.w.gists.put(turn, c.Terms.Gist())
	if err := t.moved(turn); err != nil {
		return err
	}
	if err := t.unlearned(turn); err != nil {
		return err
	}
	var m tables.Memory
	err := t.Row(`SELECT `+tables.MemoryColumns+` FROM memory WHERE turn = ?`, turn).Scan(m.Fields()...)
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

func (t *tx) addTrace(turn int64, key document.Digest, s tables.Session, c document.Content) error {
	m, err := t.traceRow(s, c)
	if err != nil {
		return err
	}
	m.Public = document.MemoryID(ambry.L1, key)
	m.Cell.Layer, m.Cell.Status = string(ambry.L1), string(ambry.Activated)
	if m.Tags, err = tables.FormatTags(c.Tags); err != nil {
		return err
	}
	m.ID, err = t.insert(`INSERT INTO memory (public, layer, status, agent, project, session, turn, created_at, updated_at, title, summary, tags)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		m.Public, m.Cell.Layer, m.Cell.Status, m.Cell.Agent, tables.Null(m.Cell.Project), s.ID, turn, m.Created, t.now, c.Title, c.Summary, m.Tags)
	if err != nil {
		return fmt.Errorf("add a memory: %w", err)
	}
	m.Turn, m.Version = turn, 1
	return t.entered(m, c.Terms)
}

// traceRow fills in what a trace takes from its session.
func (t *tx) traceRow(s tables.Session, c document.Content) (tables.Memory, error) {
	agent, err := t.agent(s.Agent)
	if err != nil {
		return tables.Memory{}, err
	}
	project, err := t.project(s.Project)
	if err != nil {
		return tables.Memory{}, err
	}
	return tables.Memory{Cell: tables.Cell{Agent: agent, Project: project.Int64}, Session: s.ID, Created: t.when(s, c)}, nil
}

// retrace updates the memory of a turn that changed.
func (t *tx) retrace(m tables.Memory, s tables.Session, c document.Content) error {
	now, err := t.traceRow(s, c)
	if err != nil {
		return err
	}
	t.countMemory(m.Cell, m.Created, -1)
	m.Cell.Agent, m.Cell.Project, m.Session, m.Created = now.Cell.Agent, now.Cell.Project, now.Session, now.Created
	m.Version++
	if m.Edited&tables.EditedTitle == 0 {
		m.Title = c.Title
	}
	if m.Edited&tables.EditedSummary == 0 {
		m.Summary = c.Summary
	}
	err = t.exec(`UPDATE memory SET agent = ?, project = ?, session = ?, created_at = ?, updated_at = ?, version = ?,
			title = ?, summary = ? WHERE id = ?`,
		m.Cell.Agent, tables.Null(m.Cell.Project), m.Session, m.Created, t.now, m.Version, m.Title, m.Summary, m.ID)
	if err != nil {
		return fmt.Errorf("update a memory: %w", err)
	}
	t.unindex(m.ID)
	if m.Edited != 0 {
		if c.Terms, err = t.termsFor(m.ID); err != nil {
			return err
		}
	}
	return t.entered(m, c.Terms)
}

// entered counts a memory, writes its terms and notes the change.
func (t *tx) entered(m tables.Memory, text document.Terms) error {
	t.countMemory(m.Cell, m.Created, 1)
	s, err := scopeOf(m)
	if err != nil {
		return err
	}
	t.index(m.ID, m.Turn, text, s)
	_, err = t.changed(m.ID, m.Version)
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
func (t *tx) drop(m tables.Memory) error {
	t.unindex(m.ID)
	if err := t.exec(`DELETE FROM memory WHERE id = ?`, m.ID); err != nil {
		return fmt.Errorf("delete a memory: %w", err)
	}
	if err := t.forgetHeld(m.ID); err != nil {
		return err
	}
	t.countMemory(m.Cell, m.Created, -1)
	_, err := t.changed(m.ID, 0)
	return err
}
