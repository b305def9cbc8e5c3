package store

import (
	"context"
	"fmt"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/tables"
)

// The states of a turn that an agent told of; see the schema.
const (
	turnStarted   = "started"
	turnTold      = "told"
	turnRead      = "read"
	turnForgotten = "forgotten"
)

// keepStarted is how long a turn is remembered that never ended.
const keepStarted = 30 * 24 * time.Hour

// liveTurn is a turn that an agent told of. It has no id while it is not known.
type liveTurn struct {
	id       int64
	session  int64
	external string
	state    string
	turn     int64 // row of the turn that it became
	query    string
	started  int64
	said     []byte
}

const liveTurnColumns = `id, session, external, state, coalesce(turn, 0), query, started_at, coalesce(said, x'')`

func (l *liveTurn) fields() []any {
	return []any{&l.id, &l.session, &l.external, &l.state, &l.turn, &l.query, &l.started, &l.said}
}

func liveTurnOf(r sqlite.Rower, session int64, id string) (liveTurn, error) {
	l := liveTurn{session: session, external: id}
	_, err := sqlite.Found(r.Row(`SELECT `+liveTurnColumns+` FROM live_turn WHERE session = ? AND external = ?`, session, id).Scan(l.fields()...))
	if err != nil {
		return liveTurn{}, fmt.Errorf("look for a turn that was told of: %w", err)
	}
	return l, nil
}

// Began is what is known of a turn before it is complete.
type Began struct {
	Session   string // the caller's id
	EpisodeID string
	Agent     string
	Turn      string
	Query     string    // what was asked, if that was told
	At        time.Time // when it was first told of
}

// TurnID makes up an id for a turn of a session, always the same for a key.
func TurnID(session, key string) string {
	if key != "" {
		key = session + "\x00" + key
	}
	return madeUp("turn_", key)
}

// StartTurn notes that a turn began. Starting it again changes nothing but what
// was asked.
func (s *Store) StartTurn(ctx context.Context, b ambry.TurnStart) (Began, error) {
	var out Began
	err := s.write(ctx, len(b.Query), func(t *tx) (err error) {
		out, err = t.startTurn(b)
		return err
	})
	return out, err
}

func (t *tx) startTurn(b ambry.TurnStart) (Began, error) {
	s, err := t.liveFor(b.SessionID, b.Source)
	if err != nil {
		return Began{}, err
	}
	if s.closed != 0 {
		return Began{}, errSessionClosed
	}
	l, err := liveTurnOf(t, s.ID, b.TurnID)
	if err != nil {
		return Began{}, err
	}
	if l.state == "" || l.state == turnStarted {
		err = t.exec(`INSERT INTO live_turn (session, external, state, query, started_at) VALUES (?, ?, 'started', ?, ?)
			ON CONFLICT DO UPDATE SET query = excluded.query`, s.ID, b.TurnID, b.Query, t.now)
		if err != nil {
			return Began{}, fmt.Errorf("start a turn: %w", err)
		}
	}
	return Began{Session: s.External, EpisodeID: tables.EpisodeID(s.Session), Agent: s.Agent, Turn: b.TurnID}, nil
}

var errSessionClosed = ambry.Conflict.Errorf("the session is closed; open it again")

// liveFor finds the session that was opened under an id, or opens it if the
// agent is named.
func (t *tx) liveFor(id, agent string) (liveSession, error) {
	l, ok, err := liveBy(t, id, agent)
	switch {
	case err != nil || ok:
		return l, err
	case agent == "":
		return liveSession{}, noSession(id)
	}
	l, _, err = t.openSession(ambry.SessionOpen{SessionID: id, Source: agent}, "")
	return l, err
}

// Session looks for an open session before something is asked for it. It may be
// unknown if the agent is named.
func (s *Store) Session(ctx context.Context, id, agent string) (string, error) {
	l, ok, err := liveBy(s.readers.Reader(ctx), id, agent)
	switch {
	case err != nil:
		return "", s.readers.Kind(ctx, err)
	case !ok && agent == "":
		return "", noSession(id)
	case !ok:
		return agent, nil
	case l.closed != 0:
		return "", errSessionClosed
	}
	return l.Agent, nil
}

// Began returns what is known of a turn of a session. The session may be unknown
// if the agent is named.
func (s *Store) Began(ctx context.Context, session, agent, turn string) (Began, error) {
	out := Began{Session: session, Agent: agent, Turn: turn}
	err := s.readers.Snapshot(ctx, func(r sqlite.Reader) error {
		l, ok, err := liveBy(r, session, agent)
		switch {
		case err != nil:
			return err
		case !ok && agent == "":
			return noSession(session)
		case !ok:
			return nil
		}
		out.Agent = l.Agent
		known, err := liveTurnOf(r, l.ID, turn)
		if err != nil {
			return err
		}
		out.Query, out.At = known.query, sqlite.Time(known.started)
		if known.turn == 0 {
			return nil
		}
		var packed []byte
		if err := r.Row(`SELECT body FROM turn WHERE id = ?`, known.turn).Scan(&packed); err != nil {
			return fmt.Errorf("read a turn: %w", err)
		}
		b, err := s.unpacker.Unpack(packed)
		out.Query = request(b)
		return err
	})
	return out, err
}

// Told is a turn that an agent told of when it had ended.
type Told struct {
	Session ambry.Session // agent, id, and what is new of it
	Turn    ambry.Turn
	Tags    []string
	Request any // by which another use of the key is known
}

// CompleteTurn adds a turn as its agent tells of it. Told again it is brought up
// to date. When the agent's own log has told of it, that stands.
func (s *Store) CompleteTurn(ctx context.Context, told Told, key string) (ambry.TurnCompleted, error) {
	agent, session := told.Session.Agent, told.Session.ID
	print, err := fingerprint("turn.complete", told.Turn.ID, told.Request)
	if err != nil {
		return ambry.TurnCompleted{}, err
	}
	w, done, err := s.borrow(ctx)
	if err != nil {
		return ambry.TurnCompleted{}, err
	}
	d := draft{turn: told.Turn, key: document.DigestOf("live", agent, session, told.Turn.ID), body: document.BodyOf(told.Turn)}
	encoded, hash, err := w.Encode(d.body)
	if err == nil {
		d.hash, d.Content = hash, w.Content(d.body, encoded)
		d.Tags = told.Tags
	}
	done()
	if err != nil {
		return ambry.TurnCompleted{}, err
	}
	var out ambry.TurnCompleted
	err = s.write(ctx, len(d.Packed)+len(d.Terms.Lead)+len(d.Terms.Rest), func(t *tx) error {
		out = ambry.TurnCompleted{}
		return t.once(key, print, document.MemoryID(ambry.L1, d.key), &out, func() (err error) {
			out, err = t.complete(told.Session, &d)
			return err
		})
	})
	if err != nil {
		return ambry.TurnCompleted{}, err
	}
	return out, nil
}

func (t *tx) complete(told ambry.Session, d *draft) (ambry.TurnCompleted, error) {
	live, err := t.liveFor(told.ID, told.Agent)
	if err != nil {
		return ambry.TurnCompleted{}, err
	}
	l, err := liveTurnOf(t, live.ID, d.turn.ID)
	if err != nil {
		return ambry.TurnCompleted{}, err
	}
	s := live.Session
	told.Background, told.Archived = s.Background, s.Archived
	stamp := stampOf(ambry.Conversation{Session: told, Turns: []ambry.Turn{d.turn}})
	if s, err = t.save(s.With(told, stamp)); err != nil {
		return ambry.TurnCompleted{}, err
	}
	switch l.state {
	case turnForgotten:
		return ambry.TurnCompleted{}, errTurnForgotten
	case turnTold:
		err = t.tellAgain(s, d)
	case turnRead:
	default:
		l, err = t.tell(s, l, d)
	}
	if err != nil {
		return ambry.TurnCompleted{}, err
	}
	return t.completed(s, l, d)
}

var errTurnForgotten = ambry.Gone.Errorf("what this turn said was forgotten")

// tell adds a turn, unless the agent's log has told of it already.
func (t *tx) tell(s tables.Session, l liveTurn, d *draft) (liveTurn, error) {
	l.started = sqlite.Millis(d.turn.At)
	read, err := t.readTwin(s, l, d)
	if err != nil {
		return l, err
	}
	l.state, l.turn = turnRead, read
	if read == 0 {
		asLogged := draft{key: turnKey(s.Agent, d.turn.ID, 0), body: d.body}
		if gone, err := t.forgotten(s.Agent, &asLogged); err != nil {
			return l, err
		} else if gone {
			return l, errTurnForgotten
		}
		l.state = turnTold
		if err := t.addTurn(s, d); err != nil {
			return l, err
		}
		if err := t.Row(`SELECT id FROM turn WHERE key = ?`, d.key[:]).Scan(&l.turn); err != nil {
			return l, fmt.Errorf("read a turn: %w", err)
		}
	}
	asked, said := askedOf(s.Agent, d.body), saidOf(d.body)[0]
	err = t.exec(`INSERT INTO live_turn (session, external, state, turn, query, started_at, asked, said) VALUES (?, ?, ?, ?, '', ?, ?, ?)
		ON CONFLICT DO UPDATE SET state = excluded.state, turn = excluded.turn, query = '', started_at = excluded.started_at, asked = excluded.asked, said = excluded.said`,
		s.ID, d.turn.ID, l.state, l.turn, l.started, asked[:], said[:])
	if err != nil {
		return l, fmt.Errorf("complete a turn: %w", err)
	}
	return l, nil
}

// tellAgain brings a turn up to date that only its agent told of.
func (t *tx) tellAgain(s tables.Session, d *draft) error {
	held, ok, err := t.held(d.key)
	if err != nil || !ok || string(held.hash) == string(d.hash[:]) {
		return err
	}
	asked, said := askedOf(s.Agent, d.body), saidOf(d.body)[0]
	if err := t.exec(`UPDATE live_turn SET asked = ?, said = ? WHERE turn = ?`, asked[:], said[:], held.id); err != nil {
		return fmt.Errorf("complete a turn again: %w", err)
	}
	return t.replace(s, held, d)
}

func (t *tx) completed(s tables.Session, l liveTurn, d *draft) (ambry.TurnCompleted, error) {
	out := ambry.TurnCompleted{
		TurnID: d.turn.ID, SessionID: s.External, EpisodeID: tables.EpisodeID(s),
		Known: l.state == turnRead, Jobs: []ambry.Job{}, ServerTime: sqlite.Time(t.now),
	}
	var key []byte
	err := t.Row(`SELECT t.key, coalesce(m.public, '') FROM turn AS t LEFT JOIN memory AS m ON m.turn = t.id WHERE t.id = ?`, l.turn).Scan(&key, &out.MemoryID)
	out.RawTurnID = document.RawTurnID(key)
	if err == nil {
		err = t.Row(`SELECT coalesce(max(seq), 0) FROM change`).Scan(&out.ChangeSeq)
	}
	if err != nil {
		return ambry.TurnCompleted{}, fmt.Errorf("read a completed turn: %w", err)
	}
	return out, nil
}
