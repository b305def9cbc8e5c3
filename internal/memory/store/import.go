package store

import (
	"context"
	"database/sql"
	"fmt"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/tables"
)

// piece is a conversation ready for the disk.
type piece struct {
	session ambry.Session
	stamp   int64 // latest time in it
	drafts  []draft
}

// draft is a turn ready for the disk.
type draft struct {
	turn ambry.Turn
	key  document.Digest
	hash document.Digest
	body document.Body
	document.Content
}

// Import adds conversations, all or none. See memory.Runtime for what it
// promises; Redactions is left to the caller.
func (s *Store) Import(ctx context.Context, cs []ambry.Conversation) (ambry.Imported, error) {
	var received ambry.Imported
	for _, c := range cs {
		if err := c.Validate(); err != nil {
			return ambry.Imported{}, err
		}
		received = received.Add(measure(c))
	}
	pieces, cost, err := s.prepare(ctx, cs)
	if err != nil {
		return ambry.Imported{}, err
	}
	var done ambry.Imported
	if len(pieces) > 0 {
		err = s.write(ctx, cost, func(t *tx) error {
			done = ambry.Imported{}
			for i := range pieces {
				if err := t.importPiece(&pieces[i], &done); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return ambry.Imported{}, err
		}
	}
	received.Added, received.Updated = done.Added, done.Updated
	received.Unchanged = received.Turns - done.Added - done.Updated
	return received, nil
}

// measure counts what a conversation holds.
func measure(c ambry.Conversation) ambry.Imported {
	n := ambry.Imported{Conversations: 1, Turns: len(c.Turns)}
	for _, t := range c.Turns {
		n.Messages += len(t.Messages)
		for _, m := range t.Messages {
			n.Bytes += int64(len(m.Text))
			for _, call := range m.Calls {
				n.Bytes += int64(len(call.Input) + len(call.Output))
			}
		}
	}
	return n
}

// prepare gets ready what is not in the memory yet, without holding the writer.
// It returns about how many bytes it is.
func (s *Store) prepare(ctx context.Context, cs []ambry.Conversation) ([]piece, int, error) {
	w, done, err := s.borrow(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer done()
	var pieces []piece
	cost := 0
	for _, c := range cs {
		p, changed, err := s.preparePiece(ctx, w, c)
		if err != nil {
			return nil, 0, err
		}
		if !changed {
			continue
		}
		for _, d := range p.drafts {
			cost += len(d.Packed) + len(d.Terms.Lead) + len(d.Terms.Rest)
		}
		pieces = append(pieces, p)
	}
	return pieces, cost, nil
}

func (s *Store) preparePiece(ctx context.Context, w *document.Builder, c ambry.Conversation) (piece, bool, error) {
	r := s.readers.Reader(ctx)
	p := piece{session: c.Session, stamp: stampOf(c)}
	old, err := tables.SessionOf(r, c.Session.Agent, c.Session.ID)
	if err != nil {
		return piece{}, false, sqlite.Failure(err)
	}
	for _, t := range c.Turns {
		if err := ctx.Err(); err != nil {
			return piece{}, false, err
		}
		d := draft{turn: t, key: turnKey(c.Session.Agent, t.ID, t.Part), body: document.BodyOf(t)}
		encoded, hash, err := w.Encode(d.body)
		if err != nil {
			return piece{}, false, err
		}
		d.hash = hash
		if same, err := unchanged(r, old.ID, d); err != nil {
			return piece{}, false, sqlite.Failure(err)
		} else if same {
			continue
		}
		d.Content = w.Content(d.body, encoded)
		p.drafts = append(p.drafts, d)
	}
	changed := len(p.drafts) > 0 || old.ID == 0 || old.With(c.Session, p.stamp) != old
	return p, changed, nil
}

// stampOf returns the latest time that a conversation tells of.
func stampOf(c ambry.Conversation) int64 {
	latest := max(sqlite.Millis(c.Session.StartedAt), sqlite.Millis(c.Session.EndedAt))
	for _, t := range c.Turns {
		latest = max(latest, sqlite.Millis(t.At))
		for _, m := range t.Messages {
			latest = max(latest, sqlite.Millis(m.At))
		}
	}
	return latest
}

// unchanged reports whether the memory holds a turn just as this session sends
// it, and from the same place.
func unchanged(r sqlite.Rower, session int64, d draft) (bool, error) {
	if session == 0 {
		return false, nil
	}
	var hash []byte
	var at ambry.Source
	err := r.Row(`SELECT coalesce(c.hash, t.hash), coalesce(f.path, ''), coalesce(c.line, t.line),
			coalesce(c.start, t.start), coalesce(c.stop, t.stop), coalesce(c.row, t.row)
		FROM turn AS t LEFT JOIN copy AS c ON c.turn = t.id AND c.session = ?2
			LEFT JOIN source AS f ON f.id = iif(c.turn IS NULL, t.source, c.source)
		WHERE t.key = ?1 AND (c.turn IS NOT NULL OR t.session = ?2)`, d.key[:], session).Scan(
		&hash, &at.Path, &at.Line, &at.Offset, &at.End, &at.Row)
	ok, err := sqlite.Found(err)
	if err != nil {
		return false, fmt.Errorf("look for a turn: %w", err)
	}
	return ok && string(hash) == string(d.hash[:]) && at == d.turn.Source, nil
}

// importPiece writes what is new in one conversation.
func (t *tx) importPiece(p *piece, n *ambry.Imported) error {
	old, err := tables.SessionOf(t, p.session.Agent, p.session.ID)
	if err != nil {
		return err
	}
	told := p.session
	if again, err := t.buried(titlePrint(told.Title)); err != nil {
		return err
	} else if again {
		told.Title = ""
	}
	if gone, err := t.allForgotten(old, p.drafts); err != nil || gone {
		return err
	}
	s := old.With(told, p.stamp)
	if s != old || s.ID == 0 {
		if s, err = t.save(s); err != nil {
			return err
		}
	}
	for i := range p.drafts {
		outcome, err := t.importTurn(&s, &p.drafts[i])
		if err != nil {
			return err
		}
		switch outcome {
		case added:
			n.Added++
		case updated:
			n.Updated++
		}
	}
	return nil
}

// allForgotten reports whether a piece has turns, all of which were forgotten,
// and its session has none: then nothing of it is kept, not even its place.
func (t *tx) allForgotten(s tables.Session, drafts []draft) (bool, error) {
	if len(drafts) == 0 {
		return false, nil
	}
	if s.ID != 0 {
		var turns int64
		err := t.Row(`SELECT turns FROM session WHERE id = ?`, s.ID).Scan(&turns)
		if err != nil || turns > 0 {
			return false, sqlite.Wrapf(err, "read a session")
		}
	}
	for i := range drafts {
		if gone, err := t.forgotten(s.Agent, &drafts[i]); err != nil || !gone {
			return false, err
		}
	}
	return true, nil
}

// outcome is what an import did with a turn.
type outcome int

const (
	left outcome = iota
	added
	updated
)

func (t *tx) importTurn(s *tables.Session, d *draft) (outcome, error) {
	held, ok, err := t.held(d.key)
	if err != nil {
		return left, err
	}
	if !ok {
		return t.importNew(*s, d)
	}
	// Another import may have brought it since it was prepared.
	if same, err := unchanged(t, s.ID, *d); err != nil || same {
		return left, err
	}
	if held.session == s.ID && held.copies == 0 {
		if out, met, err := t.meet(*s, held, d); err != nil || met {
			return out, err
		}
		return updated, t.replace(*s, held, d)
	}
	return updated, t.share(s, held, d)
}

// importNew writes a turn that is not known under its id: it may have been told
// of by the agent itself, or forgotten.
func (t *tx) importNew(s tables.Session, d *draft) (outcome, error) {
	if gone, err := t.forgotten(s.Agent, d); err != nil || gone {
		return left, err
	}
	twin, ok, err := t.toldTwin(s, d)
	switch {
	case err != nil || ok && twin.state == turnForgotten:
		return left, err
	case ok:
		return updated, t.adopt(s, twin, d)
	}
	return added, t.addTurn(s, d)
}

// place is where a session's copy of a turn stands.
type place struct {
	source      sql.NullInt64
	line        int
	start, stop int64
	row         string
}

func (t *tx) place(s ambry.Source) (place, error) {
	source, err := t.source(s.Path)
	return place{source: source, line: s.Line, start: s.Offset, stop: s.End, row: s.Row}, err
}

// heldTurn is what the tables hold of a turn, without its text.
type heldTurn struct {
	id       int64
	external string
	part     int
	session  int64
	copies   int
	hash     []byte
	counts   document.Counts
	place    place
}

// held looks a turn up by its key.
func (t *tx) held(key document.Digest) (heldTurn, bool, error) {
	h := heldTurn{counts: document.Counts{Turns: 1}}
	err := t.Row(`SELECT id, external, part, session, copies, hash, messages, calls, input, cached, output,
			source, line, start, stop, row FROM turn WHERE key = ?`, key[:]).Scan(
		&h.id, &h.external, &h.part, &h.session, &h.copies, &h.hash, &h.counts.Messages, &h.counts.Calls,
		&h.counts.Input, &h.counts.Cached, &h.counts.Output,
		&h.place.source, &h.place.line, &h.place.start, &h.place.stop, &h.place.row)
	ok, err := sqlite.Found(err)
	if err != nil {
		return heldTurn{}, false, fmt.Errorf("look for a turn: %w", err)
	}
	return h, ok, nil
}

// turnKey is what makes a turn one: its agent, its id and its part.
func turnKey(agent, id string, part int) document.Digest {
	return document.DigestOf("turn", agent, id, fmt.Sprint(part))
}

func (t *tx) addTurn(s tables.Session, d *draft) error {
	p, err := t.place(d.turn.Source)
	if err != nil {
		return err
	}
	id, err := t.insert(`INSERT INTO turn (key, external, part, session, at, source, line, start, stop, row, hash,
			messages, calls, input, cached, output, body)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		d.key[:], d.turn.ID, d.turn.Part, s.ID, t.when(s, d.Content), p.source, p.line, p.start, p.stop, p.row, d.hash[:],
		d.Counts.Messages, d.Counts.Calls, d.Counts.Input, d.Counts.Cached, d.Counts.Output, d.Packed)
	if err != nil {
		return fmt.Errorf("add a turn: %w", err)
	}
	t.countTurns(s.ID, d.Counts)
	return t.trace(id, d.key, s, d.Content)
}

// when is the time that a turn is listed by: its own, or else its session's.
func (t *tx) when(s tables.Session, c document.Content) int64 {
	switch {
	case c.At != 0:
		return c.At
	case s.Started != 0:
		return s.Started
	}
	return t.now
}

// replace brings a turn that one session holds up to date.
func (t *tx) replace(s tables.Session, held heldTurn, d *draft) error {
	p, err := t.place(d.turn.Source)
	if err != nil {
		return err
	}
	return t.update(held, s, p, d.key, d.hash[:], held.copies, d.Content)
}

// update writes a turn anew, with the session that owns it now.
func (t *tx) update(held heldTurn, owner tables.Session, p place, key document.Digest, hash []byte, copies int, c document.Content) error {
	if err := t.moved(held.id); err != nil { // from here, to where trace says
		return err
	}
	err := t.exec(`UPDATE turn SET session = ?, at = ?, source = ?, line = ?, start = ?, stop = ?, row = ?, hash = ?, copies = ?,
			messages = ?, calls = ?, input = ?, cached = ?, output = ?, body = ? WHERE id = ?`,
		owner.ID, t.when(owner, c), p.source, p.line, p.start, p.stop, p.row, hash, copies,
		c.Counts.Messages, c.Counts.Calls, c.Counts.Input, c.Counts.Cached, c.Counts.Output, c.Packed, held.id)
	if err != nil {
		return fmt.Errorf("update a turn: %w", err)
	}
	t.countTurns(held.session, held.counts.Negated())
	t.countTurns(owner.ID, c.Counts)
	return t.trace(held.id, key, owner, c)
}
