package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/tables"
)

// unlearned notes that a turn is new or has changed, so that it is learned from.
func (t *tx) unlearned(turn int64) error {
	t.queued = true
	if err := t.exec(`INSERT INTO unlearned (turn) VALUES (?) ON CONFLICT DO NOTHING`, turn); err != nil {
		return fmt.Errorf("note a turn to learn from: %w", err)
	}
	return nil
}

// wake tells who learns that there is something to learn from.
func (s *Store) wake() {
	select {
	case s.arrived <- struct{}{}:
	default:
	}
}

// Arrived is sent to when there are turns to learn from. One must listen.
func (s *Store) Arrived() <-chan struct{} { return s.arrived }

// Relearn has all turns learned from anew if that was last done by other rules.
// It returns whether it was.
func (s *Store) Relearn(ctx context.Context, rules int) (bool, error) {
	again := false
	err := s.write(ctx, 1<<10, func(t *tx) error {
		again = false
		var version int
		ok, err := sqlite.Found(t.Row(`SELECT value FROM meta WHERE name = 'rules'`).Scan(&version))
		if err != nil {
			return fmt.Errorf("read the version of the rules: %w", err)
		}
		if ok && version == rules {
			return nil
		}
		again = true
		if err := t.exec(`INSERT OR IGNORE INTO unlearned SELECT id FROM turn`); err != nil {
			return fmt.Errorf("learn anew: %w", err)
		}
		t.queued = true
		err = t.exec(`INSERT INTO meta (name, value) VALUES ('rules', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, rules)
		if err != nil {
			return fmt.Errorf("note the version of the rules: %w", err)
		}
		return nil
	})
	return again, err
}

// Lesson is a turn to learn from.
type Lesson struct {
	Row      int64
	Hash     []byte
	At       time.Time
	Agent    string
	Session  string // the agent's id
	Project  string
	Person   bool            // what a user says in it, a person has said
	Messages []ambry.Message // visible ones, with role, text and calls
}

// Lessons returns turns to learn from in the order in which they came: at most
// limit, and no more after the first that makes it more than budget bytes as they
// are stored.
func (s *Store) Lessons(ctx context.Context, limit, budget int) ([]Lesson, error) {
	var out []Lesson
	err := s.readers.Read(ctx, func(r sqlite.Reader) error {
		out = nil
		rows, err := r.Rows(`SELECT t.id, t.hash, t.at, a.name, s.external, coalesce(p.path, ''),
				NOT s.background AND s.relation NOT IN ('subagent', 'review'), t.body
			FROM unlearned AS u CROSS JOIN turn AS t ON t.id = u.turn JOIN session AS s ON s.id = t.session
				JOIN agent AS a ON a.id = s.agent LEFT JOIN project AS p ON p.id = s.project
			ORDER BY u.turn LIMIT ?`, limit)
		if err != nil {
			return fmt.Errorf("read turns to learn from: %w", err)
		}
		out, err = s.lessons(rows, budget)
		if err != nil {
			return fmt.Errorf("read turns to learn from: %w", err)
		}
		return nil
	})
	return out, err
}

func (s *Store) lessons(rows *sql.Rows, budget int) ([]Lesson, error) {
	defer func() { _ = rows.Close() }()
	var out []Lesson
	for rows.Next() {
		var l Lesson
		var at int64
		var packed []byte
		if err := rows.Scan(&l.Row, &l.Hash, &at, &l.Agent, &l.Session, &l.Project, &l.Person, &packed); err != nil {
			return nil, err
		}
		l.At = sqlite.Time(at)
		var err error
		if l.Messages, err = document.UnpackShown(s.unpacker, packed, func(m document.Message) ambry.Message { return m.Message }); err != nil {
			return nil, err
		}
		out = append(out, l)
		if budget -= len(packed); budget < 0 {
			break
		}
	}
	return out, rows.Err()
}

// requeue has turns of a project learned from again that came after a time: what
// they say may concern something that was not known when they were read.
func (t *tx) requeue(project int64, after int64, limit int) error {
	t.queued = true
	err := t.exec(`INSERT OR IGNORE INTO unlearned SELECT m.turn FROM memory AS m INDEXED BY memory_by_project_time
		WHERE m.project IS ? AND m.created_at > ? AND m.turn IS NOT NULL ORDER BY m.created_at LIMIT ?`, tables.Null(project), after, limit)
	if err != nil {
		return fmt.Errorf("note turns to learn from again: %w", err)
	}
	return nil
}
