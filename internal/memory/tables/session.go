package tables

import (
	"encoding/hex"
	"fmt"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/sqlite"
)

// Session is a row of the table, without its counts.
type Session struct {
	ID         int64
	Agent      string
	External   string
	Parent     string
	Relation   string
	Title      string
	Cwd        string
	Project    string
	Branch     string
	Model      string
	Version    string
	Background bool
	Archived   bool
	Started    int64
	Ended      int64
	Told       int64
	CopyOf     int64
	Original   string // external id of copyOf
}

// SessionColumns are what [Session.Fields] reads, from SessionTables.
const SessionColumns = `s.id, a.name, s.external, s.parent, s.relation, s.title, s.cwd, coalesce(p.path, ''), s.branch,
	s.model, s.version, s.background, s.archived, s.started_at, s.ended_at, s.told_at, coalesce(s.copy_of, 0), coalesce(o.external, '')`

// SessionTables are where SessionColumns are.
const SessionTables = `session AS s JOIN agent AS a ON a.id = s.agent
	LEFT JOIN project AS p ON p.id = s.project LEFT JOIN session AS o ON o.id = s.copy_of`

// Fields are where SessionColumns go.
func (s *Session) Fields() []any {
	return []any{
		&s.ID, &s.Agent, &s.External, &s.Parent, &s.Relation, &s.Title, &s.Cwd, &s.Project, &s.Branch,
		&s.Model, &s.Version, &s.Background, &s.Archived, &s.Started, &s.Ended, &s.Told, &s.CopyOf, &s.Original,
	}
}

// SessionOf reads the session of an agent; the zero session if there is none.
func SessionOf(r sqlite.Rower, agent, external string) (Session, error) {
	var s Session
	err := r.Row(`SELECT `+SessionColumns+` FROM `+SessionTables+`
		WHERE s.agent = (SELECT id FROM agent WHERE name = ?) AND s.external = ?`, agent, external).Scan(s.Fields()...)
	ok, err := sqlite.Found(err)
	if err != nil {
		return Session{}, fmt.Errorf("read a session: %w", err)
	}
	if !ok {
		return Session{Agent: agent, External: external}, nil
	}
	return s, nil
}

// SessionByID reads the session of a row.
func SessionByID(r sqlite.Rower, id int64) (Session, error) {
	var s Session
	err := r.Row(`SELECT `+SessionColumns+` FROM `+SessionTables+` WHERE s.id = ?`, id).Scan(s.Fields()...)
	if err != nil {
		return Session{}, fmt.Errorf("read a session: %w", err)
	}
	return s, nil
}

// With returns the session as it is after a piece of it came, whose latest time
// is stamp. What a session began with stays; what changes is as the newest piece
// says.
func (s Session) With(piece ambry.Session, stamp int64) Session {
	newer := stamp >= s.Told
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
	first(&s.Parent, piece.ParentID)
	if s.Relation == string(ambry.Root) && piece.Relation != "" {
		s.Relation = string(piece.Relation)
	}
	first(&s.Relation, string(piece.Relation))
	first(&s.Cwd, piece.Cwd)
	first(&s.Project, piece.Project)
	first(&s.Project, piece.Cwd)
	first(&s.Branch, piece.Branch)
	last(&s.Title, piece.Title)
	last(&s.Model, piece.Model)
	last(&s.Version, piece.Version)
	if newer {
		s.Background, s.Archived = piece.Background, piece.Archived
	}
	if at := sqlite.Millis(piece.StartedAt); at != 0 && (s.Started == 0 || at < s.Started) {
		s.Started = at
	}
	s.Ended = max(s.Ended, stamp)
	s.Told = max(s.Told, stamp)
	return s
}

// Before reports whether s rather than o owns a turn that both hold: what a
// person did before what an agent did, the older, the smaller id. So it does not
// matter which one is read first.
func (s Session) Before(o Session) bool {
	if s.Background != o.Background {
		return !s.Background
	}
	if s.Started != o.Started {
		return o.Started == 0 || s.Started != 0 && s.Started < o.Started
	}
	return s.External < o.External
}

// Public is the session as the API shows it. One that holds turns of another is
// its continuation, unless the agent calls it something else.
func (s Session) Public() ambry.Session {
	if s.CopyOf != 0 && (s.Relation == "" || s.Relation == string(ambry.Root)) {
		s.Relation = string(ambry.Continuation)
		if s.Parent == "" {
			s.Parent = s.Original
		}
	}
	return ambry.Session{
		ID: s.External, Agent: s.Agent, ParentID: s.Parent, Relation: ambry.Relation(s.Relation), Title: s.Title,
		Cwd: s.Cwd, Project: s.Project, Branch: s.Branch, Model: s.Model, Version: s.Version,
		Background: s.Background, Archived: s.Archived, StartedAt: sqlite.Time(s.Started), EndedAt: sqlite.Time(s.Ended),
	}
}

// EpisodeID names the only episode of a session.
func EpisodeID(s Session) string {
	d := document.DigestOf("episode", s.Agent, s.External)
	return "episode_" + hex.EncodeToString(d[:10])
}
