package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/tables"
)

// liveSession is a session that an agent opened.
type liveSession struct {
	tables.Session
	closed int64 // 0 while it is open
}

// madeUp returns an id with a prefix: always the same for a key, any other time
// a new one.
func madeUp(prefix, key string) string {
	d := document.DigestOf(prefix, key)
	if key == "" {
		_, _ = rand.Read(d[:]) // never fails
	}
	return prefix + hex.EncodeToString(d[:10])
}

// liveBy finds the session that was opened under an id. Of two agents that use
// the same id it is that of agent, or the one that is open and newer.
func liveBy(r sqlite.Rower, id, agent string) (liveSession, bool, error) {
	var l liveSession
	err := r.Row(`SELECT `+tables.SessionColumns+`, l.closed_at FROM `+tables.SessionTables+` JOIN live_session AS l ON l.session = s.id
		WHERE s.external = ?1 AND (?2 = '' OR a.name = ?2)
		ORDER BY l.closed_at = 0 DESC, l.opened_at DESC LIMIT 1`, id, agent).Scan(append(l.Fields(), &l.closed)...)
	ok, err := sqlite.Found(err)
	if err != nil {
		return liveSession{}, false, fmt.Errorf("look for a session: %w", err)
	}
	return l, ok, nil
}

func noSession(id string) error {
	return ambry.NotFound.Errorf("no session %q was opened; open it, or say the source", document.Head(id, 64))
}

// OpenSession opens a session, or resumes one, also one that was closed. Source
// must be given.
func (s *Store) OpenSession(ctx context.Context, o ambry.SessionOpen, key string) (ambry.SessionOpened, error) {
	print, err := fingerprint("session.open", "", o)
	if err != nil {
		return ambry.SessionOpened{}, err
	}
	id := madeUp("session_", key)
	var out ambry.SessionOpened
	err = s.write(ctx, 1<<10, func(t *tx) error {
		out = ambry.SessionOpened{}
		return t.once(key, print, "session", &out, func() error {
			l, resumed, err := t.openSession(o, id)
			out = ambry.SessionOpened{
				SessionID: l.External, EpisodeID: tables.EpisodeID(l.Session), Source: l.Agent,
				Status: ambry.SessionIsOpen, Resumed: resumed, ServerTime: sqlite.Time(t.now),
			}
			return err
		})
	})
	if err != nil {
		return ambry.SessionOpened{}, err
	}
	return out, nil
}

// openSession opens a session, which gets the id fresh if it has none. It
// reports whether it was opened before.
func (t *tx) openSession(o ambry.SessionOpen, fresh string) (liveSession, bool, error) {
	id := o.SessionID
	if id == "" && o.SessionKey != "" {
		_, err := sqlite.Found(t.Row(`SELECT s.external FROM live_session AS l JOIN session AS s ON s.id = l.session
			JOIN agent AS a ON a.id = s.agent WHERE l.key = ? AND l.key <> '' AND l.closed_at = 0 AND a.name = ?
			ORDER BY l.opened_at DESC LIMIT 1`, o.SessionKey, o.Source).Scan(&id))
		if err != nil {
			return liveSession{}, false, fmt.Errorf("look for a session: %w", err)
		}
	}
	if id == "" {
		id = fresh
	}
	_, resumed, err := liveBy(t, id, o.Source)
	if err != nil {
		return liveSession{}, false, err
	}
	old, err := tables.SessionOf(t, o.Source, id)
	if err != nil {
		return liveSession{}, false, err
	}
	piece := ambry.Session{Cwd: o.WorkspacePath, Branch: o.Branch, Title: o.Title, Model: o.Model, Background: old.Background, Archived: old.Archived}
	if old.ID == 0 {
		piece.StartedAt = sqlite.Time(t.now)
	}
	s := old.With(piece, t.now)
	if o.Title == "" && o.Model == "" {
		s.Told = old.Told // so that a log that tells of earlier can still say them
	}
	if s, err = t.save(s); err != nil {
		return liveSession{}, false, err
	}
	err = t.exec(`INSERT INTO live_session (session, key, opened_at, closed_at) VALUES (?, ?, ?, 0)
		ON CONFLICT DO UPDATE SET closed_at = 0, key = iif(excluded.key <> '', excluded.key, key),
			opened_at = iif(closed_at = 0, opened_at, excluded.opened_at)`, s.ID, o.SessionKey, t.now)
	if err != nil {
		return liveSession{}, false, fmt.Errorf("open a session: %w", err)
	}
	return liveSession{Session: s}, resumed, nil
}

// CloseSession closes a session; closing it again changes nothing.
func (s *Store) CloseSession(ctx context.Context, id string, c ambry.SessionClose, key string) (ambry.SessionClosed, error) {
	print, err := fingerprint("session.close", id, c)
	if err != nil {
		return ambry.SessionClosed{}, err
	}
	var out ambry.SessionClosed
	err = s.write(ctx, 1<<10, func(t *tx) error {
		out = ambry.SessionClosed{}
		return t.once(key, print, "session", &out, func() error {
			l, ok, err := liveBy(t, id, c.Source)
			if err != nil {
				return err
			}
			if !ok {
				return noSession(id)
			}
			if err := t.exec(`UPDATE live_session SET closed_at = ? WHERE session = ? AND closed_at = 0`, t.now, l.ID); err != nil {
				return fmt.Errorf("close a session: %w", err)
			}
			out = ambry.SessionClosed{
				OK: true, SessionID: l.External, Status: ambry.SessionIsClosed,
				Episodes: []string{tables.EpisodeID(l.Session)}, ServerTime: sqlite.Time(t.now),
			}
			return nil
		})
	})
	if err != nil {
		return ambry.SessionClosed{}, err
	}
	return out, nil
}
