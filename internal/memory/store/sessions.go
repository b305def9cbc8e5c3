package store

import (
	"database/sql"
	"fmt"

	"ambry.dev/ambry/internal/memory/tables"
)

// save writes the row and returns it with its id.
func (t *tx) save(s tables.Session) (tables.Session, error) {
	agent, err := t.agent(s.Agent)
	if err != nil {
		return tables.Session{}, err
	}
	project, err := t.project(s.Project)
	if err != nil {
		return tables.Session{}, err
	}
	copyOf := sql.NullInt64{Int64: s.CopyOf, Valid: s.CopyOf != 0}
	values := []any{
		s.Parent, s.Relation, s.Title, s.Cwd, project, s.Branch, s.Model, s.Version,
		s.Background, s.Archived, s.Started, s.Ended, s.Told, copyOf,
	}
	if s.ID != 0 {
		err = t.exec(`UPDATE session SET parent = ?, relation = ?, title = ?, cwd = ?, project = ?, branch = ?, model = ?,
			version = ?, background = ?, archived = ?, started_at = ?, ended_at = ?, told_at = ?, copy_of = ?
			WHERE id = ?`, append(values, s.ID)...)
	} else {
		s.ID, err = t.insert(`INSERT INTO session (parent, relation, title, cwd, project, branch, model,
			version, background, archived, started_at, ended_at, told_at, copy_of, agent, external)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, append(values, agent, s.External)...)
	}
	if err != nil {
		return tables.Session{}, fmt.Errorf("save a session: %w", err)
	}
	return s, nil
}
