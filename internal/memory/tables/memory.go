// Package tables reads rows of the memory: those of sessions and memories, as who
// writes them needs them and as the API shows them. Writing is for package store.
package tables

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/sqlite"
)

// Bits of the column edited: what a person set stays when the turn changes.
const (
	EditedTitle = 1 << iota
	EditedSummary
	EditedStatus
)

// Memory is what a writer needs to know of a row of the table.
type Memory struct {
	ID      int64
	Public  string
	Cell    Cell
	Session int64
	Turn    int64 // 0 for a note
	Created int64
	Version int64
	Edited  int64
	Title   string
	Summary string
	Tags    string
	Origin  int64 // the turn it was learned from
}

// MemoryColumns are what [Memory.Fields] reads.
const MemoryColumns = `id, public, layer, status, agent, coalesce(project, 0), coalesce(session, 0), coalesce(turn, 0),
	created_at, version, edited, title, summary, tags, rule, coalesce(origin, 0)`

// Fields are where MemoryColumns go.
func (m *Memory) Fields() []any {
	return []any{
		&m.ID, &m.Public, &m.Cell.Layer, &m.Cell.Status, &m.Cell.Agent, &m.Cell.Project, &m.Session, &m.Turn,
		&m.Created, &m.Version, &m.Edited, &m.Title, &m.Summary, &m.Tags, &m.Cell.Rule, &m.Origin,
	}
}

// Cell is one combination that memories are counted by.
type Cell struct {
	Layer, Status string
	Agent         int64
	Project       int64 // 0 for none
	Rule          string
}

// PublicColumns are what ScanPublic reads, from PublicTables.
const (
	PublicColumns = `m.public, m.layer, m.status, m.title, m.summary, m.tags, a.name, coalesce(p.path, ''),
	coalesce(s.external, ''), coalesce(t.external, m.turn_ref), coalesce(f.path, ''), coalesce(t.line, 0),
	coalesce(t.start, 0), coalesce(t.stop, 0), coalesce(t.row, ''), m.created_at, m.updated_at, m.version, m.rule`

	PublicTables = `memory AS m JOIN agent AS a ON a.id = m.agent
	LEFT JOIN project AS p ON p.id = m.project LEFT JOIN session AS s ON s.id = m.session
	LEFT JOIN turn AS t ON t.id = coalesce(m.turn, m.origin) LEFT JOIN source AS f ON f.id = t.source`

	// TracedBody is the text of the turn, if the memory is its trace.
	TracedBody = `iif(m.turn IS NULL, NULL, t.body)`
)

// ScanPublic reads PublicColumns, and whatever columns stand after them.
func ScanPublic(row sqlite.Scanner, more ...any) (ambry.Memory, error) {
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
	m.Kind, m.CreatedAt, m.UpdatedAt = m.Layer.MemoryKind(), sqlite.Time(created), sqlite.Time(updated)
	m.Tags, err = ParseTags(tags)
	return m, err
}

// PublicBy reads one memory, or fails with [ambry.NotFound].
func PublicBy(r sqlite.Rower, where string, args ...any) (ambry.Memory, error) {
	m, err := ScanPublic(r.Row(`SELECT `+PublicColumns+` FROM `+PublicTables+` WHERE `+where, args...))
	ok, err := sqlite.Found(err)
	if err != nil {
		return ambry.Memory{}, fmt.Errorf("read a memory: %w", err)
	}
	if !ok {
		return ambry.Memory{}, errNoMemory
	}
	return m, nil
}

var errNoMemory = ambry.NotFound.Errorf("there is no such memory")

// NotFound says so without repeating much of what somebody sent.
func NotFound(id string) error {
	return ambry.NotFound.Errorf("there is no memory %q", document.Head(id, 64))
}

// Null is an id as a column holds it, NULL for 0.
func Null(id int64) sql.NullInt64 { return sql.NullInt64{Int64: id, Valid: id != 0} }

// ParseTags reads tags as a column holds them.
func ParseTags(text string) ([]string, error) {
	tags := []string{}
	if text == "[]" {
		return tags, nil
	}
	if err := json.Unmarshal([]byte(text), &tags); err != nil {
		return nil, sqlite.Unreadable("read tags", err)
	}
	return tags, nil
}

// FormatTags writes tags as a column holds them.
func FormatTags(tags []string) (string, error) {
	if len(tags) == 0 {
		return "[]", nil
	}
	b, err := json.Marshal(tags)
	return string(b), err
}
