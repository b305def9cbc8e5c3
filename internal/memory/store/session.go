package store

import (
	"database/sql"
	"fmt"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/sqlite"
)

// session is a row of the table, without its counts.
type session struct {
	id         int64
	agent      string
	external   string
	parent     string
	relation   string
	title      string
	cwd        string
	project    string
	branch     string
	model      string
	version    string
	background bool
	archived   bool
	started    int64
	ended      int64
	told       int64
	copyOf     int64
	original   string // external id of copyOf
}

const sessionColumns = `s.id, a.name, s.external, s.parent, s.relation, s.title, s.cwd, coalesce(p.path, ''), s.branch,
	s.model, s.version, s.background, s.archived, s.started_at, s.ended_at, s.told_at, coalesce(s.copy_of, 0), coalesce(o.external, '')`

const sessionTables = `session AS s JOIN agent AS a ON a.id = s.agent
	LEFT JOIN project AS p ON p.id = s.project LEFT JOIN session AS o ON o.id = s.copy_of`

func (s *session) fields() []any {
	return []any{
		&s.id, &s.agent, &s.external, &s.parent, &s.relation, &s.title, &s.cwd, &s.project, &s.branch,
		&s.model, &s.version, &s.background, &s.archived, &s.started, &s.ended, &s.told, &s.copyOf, &s.original,
	}
}

// sessionOf reads the session of an agent; the zero session if there is none.
func sessionOf(r sqlite.Rower, agent, external string) (session, error) {
	var s session
	err := r.Row(`SELECT `+sessionColumns+` FROM `+sessionTables+`
		WHERE s.agent = (SELECT id FROM agent WHERE name = ?) AND s.external = ?`, agent, external).Scan(s.fields()...)
	ok, err := sqlite.Found(err)
	if err != nil {
		return session{}, fmt.Errorf("read a session: %w", err)
	}
	if !ok {
		return session{agent: agent, external: external}, nil
	}
	return s, nil
}

func sessionByID(r sqlite.Rower, id int64) (session, error) {
	var s session
	err := r.Row(`SELECT `+sessionColumns+` FROM `+sessionTables+` WHERE s.id = ?`, id).Scan(s.fields()...)
	if err != nil {
		return session{}, fmt.Errorf("read a session: %w", err)
	}
	return s, nil
}

// with returns the session as it is after a piece of it came, whose latest time
// is stamp. What a session began with stays; what changes is as the newest piece
// says.
func (s session) with(piece ambry.Session, stamp int64) session {
	newer := stamp >= s.told
	first := func(old *string, value string) {
		if *old == "" {
			*old = value
		}
	}
	last := func(old *string, value string) {
		if value != "" && (newer || *old == "") {
			*old = value
		}
	}
	first(&s.parent, piece.ParentID)
	if s.relation == string(ambry.Root) && piece.Relation != "" {
		s.relation = string(piece.Relation)
	}
	first(&s.relation, string(piece.Relation))
	first(&s.cwd, piece.Cwd)
	first(&s.project, piece.Project)
	first(&s.project, piece.Cwd)
	first(&s.branch, piece.Branch)
	last(&s.title, piece.Title)
	last(&s.model, piece.Model)
	last(&s.version, piece.Version)
	if newer {
		s.background, s.archived = piece.Background, piece.Archived
	}
	if at := sqlite.Millis(piece.StartedAt); at != 0 && (s.started == 0 || at < s.started) {
		s.started = at
	}
	s.ended = max(s.ended, stamp)
	s.told = max(s.told, stamp)
	return s
}

// before reports whether s rather than o owns a turn that both hold: what a
// person did before what an agent did, the older, the smaller id. So it does not
// matter which one is read first.
func (s session) before(o session) bool {
	if s.background != o.background {
		return !s.background
	}
	if s.started != o.started {
		return o.started == 0 || s.started != 0 && s.started < o.started
	}
	return s.external < o.external
}

// save writes the row and returns it with its id.
func (t *tx) save(s session) (session, error) {
	agent, err := t.agent(s.agent)
	if err != nil {
		return session{}, err
	}
	project, err := t.project(s.project)
	if err != nil {
		return session{}, err
	}
	copyOf := sql.NullInt64{Int64: s.copyOf, Valid: s.copyOf != 0}
	values := []any{
		s.parent, s.relation, s.title, s.cwd, project, s.branch, s.model, s.version,
		s.background, s.archived, s.started, s.ended, s.told, copyOf,
	}
	if s.id != 0 {
		err = t.exec(`UPDATE session SET parent = ?, relation = ?, title = ?, cwd = ?, project = ?, branch = ?, model = ?,
			version = ?, background = ?, archived = ?, started_at = ?, ended_at = ?, told_at = ?, copy_of = ?
			WHERE id = ?`, append(values, s.id)...)
	} else {
		s.id, err = t.insert(`INSERT INTO session (parent, relation, title, cwd, project, branch, model,
			version, background, archived, started_at, ended_at, told_at, copy_of, agent, external)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, append(values, agent, s.external)...)
	}
	if err != nil {
		return session{}, fmt.Errorf("save a session: %w", err)
	}
	return s, nil
}

// public is the session as the API shows it. One that holds turns of another is
// its continuation, unless the agent calls it something else.
func (s session) public() ambry.Session {
	if s.copyOf != 0 && (s.relation == "" || s.relation == string(ambry.Root)) {
		s.relation = string(ambry.Continuation)
		if s.parent == "" {
			s.parent = s.original
		}
	}
	return ambry.Session{
		ID: s.external, Agent: s.agent, ParentID: s.parent, Relation: ambry.Relation(s.relation), Title: s.title,
		Cwd: s.cwd, Project: s.project, Branch: s.branch, Model: s.model, Version: s.version,
		Background: s.background, Archived: s.archived, StartedAt: sqlite.Time(s.started), EndedAt: sqlite.Time(s.ended),
	}
}
