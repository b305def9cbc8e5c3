package store

import (
	"context"
	"database/sql"
	"fmt"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/sqlite"
)

// memoryColumns are what scanMemory reads, from memoryTables.
const (
	memoryColumns = `m.public, m.layer, m.status, m.title, m.summary, m.tags, a.name, coalesce(p.path, ''),
	coalesce(s.external, ''), coalesce(t.external, m.turn_ref), coalesce(f.path, ''), coalesce(t.line, 0),
	coalesce(t.start, 0), coalesce(t.stop, 0), coalesce(t.row, ''), m.created_at, m.updated_at, m.version, m.rule`

	memoryTables = `memory AS m JOIN agent AS a ON a.id = m.agent
	LEFT JOIN project AS p ON p.id = m.project LEFT JOIN session AS s ON s.id = m.session
	LEFT JOIN turn AS t ON t.id = coalesce(m.turn, m.origin) LEFT JOIN source AS f ON f.id = t.source`

	// tracedBody is the text of the turn, if the memory is its trace.
	tracedBody = `iif(m.turn IS NULL, NULL, t.body)`
)

// scanMemory reads memoryColumns, and whatever columns stand after them.
func scanMemory(row sqlite.Scanner, more ...any) (ambry.Memory, error) {
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
	m.Tags, err = parseTags(tags)
	return m, err
}

// memoryBy reads one memory, or fails with [ambry.NotFound].
func memoryBy(r sqlite.Rower, where string, args ...any) (ambry.Memory, error) {
	m, err := scanMemory(r.Row(`SELECT `+memoryColumns+` FROM `+memoryTables+` WHERE `+where, args...))
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

// Get returns a memory with its whole text, or [ambry.NotFound].
func (s *Store) Get(ctx context.Context, id string) (ambry.Detail, error) {
	var d ambry.Detail
	err := s.readers.Snapshot(ctx, func(r sqlite.Reader) error {
		var note noted
		var packed []byte
		var part int
		var sessionID sql.NullInt64
		m, err := scanMemory(r.Row(`SELECT `+memoryColumns+`, m.body, m.sum, `+tracedBody+`, coalesce(t.part, 0), m.session
			FROM `+memoryTables+` WHERE m.public = ?`, id), &note.body, &note.sum, &packed, &part, &sessionID)
		ok, err := sqlite.Found(err)
		switch {
		case err != nil:
			return fmt.Errorf("read a memory: %w", err)
		case !ok:
			return notFound(id)
		}
		d = ambry.Detail{Memory: m}
		if d.Body, err = note.text(); err != nil {
			return err
		}
		if sessionID.Valid {
			row, err := sessionByID(r, sessionID.Int64)
			if err != nil {
				return err
			}
			public := row.public()
			d.Session = &public
		}
		switch {
		case packed == nil && !note.body.Valid:
			return errTurnLost
		case packed == nil:
			d.Learned, err = learned(r, m)
			return err
		}
		b, err := s.unpacker.Unpack(packed)
		if err != nil {
			return err
		}
		turn := b.Turn(m.TurnID, part, m.Source)
		d.Turn, d.Body = &turn, document.Transcript(turn)
		return nil
	})
	if err != nil {
		return ambry.Detail{}, err
	}
	return d, nil
}

// errTurnLost is the error of a memory that is the trace of a turn which is not
// there: rows of a damaged page are just absent.
var errTurnLost = ambry.MemoryUnavailable.Errorf(`the memory file is damaged: a turn is missing; see "ambry doctor"`)
