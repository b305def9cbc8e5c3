package store

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/tables"
)

// share adds a session's copy of a turn that another session holds too, or
// brings it up to date: the turn becomes the union of all copies, and belongs to
// the first of their sessions.
func (t *tx) share(s *tables.Session, held heldTurn, d *draft) error {
	if held.copies == 0 {
		if err := t.saveCopy(held.id, held.session, held.place, held.hash); err != nil {
			return err
		}
	}
	p, err := t.place(d.turn.Source)
	if err != nil {
		return err
	}
	if err := t.saveCopy(held.id, s.ID, p, d.hash[:]); err != nil {
		return err
	}
	holders, err := t.holders(held.id)
	if err != nil {
		return err
	}
	owner := holders[0]
	if err := t.continuations(owner, holders[1:], s); err != nil {
		return err
	}
	var packed []byte
	if err := t.Row(`SELECT body FROM turn WHERE id = ?`, held.id).Scan(&packed); err != nil {
		return fmt.Errorf("read a turn: %w", err)
	}
	old, err := t.w.store.unpacker.Unpack(packed)
	if err != nil {
		return err
	}
	both := ownedBy(union(from(old, held.session), from(d.body, s.ID), ranks(holders)), owner.ID)
	encoded, _, err := t.w.builder.Encode(both)
	if err != nil {
		return err
	}
	p, hash, err := t.copyOf(held.id, owner.ID)
	if err != nil {
		return err
	}
	return t.update(held, owner, p, d.key, hash, len(holders), t.w.builder.Content(both, encoded))
}

func (t *tx) saveCopy(turn, session int64, p place, hash []byte) error {
	err := t.exec(`INSERT INTO copy (turn, session, source, line, start, stop, row, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET source = excluded.source, line = excluded.line, start = excluded.start,
			stop = excluded.stop, row = excluded.row, hash = excluded.hash`,
		turn, session, p.source, p.line, p.start, p.stop, p.row, hash)
	if err != nil {
		return fmt.Errorf("save a copy of a turn: %w", err)
	}
	return nil
}

func (t *tx) copyOf(turn, session int64) (place, []byte, error) {
	var p place
	var hash []byte
	err := t.Row(`SELECT source, line, start, stop, row, hash FROM copy WHERE turn = ? AND session = ?`, turn, session).Scan(
		&p.source, &p.line, &p.start, &p.stop, &p.row, &hash)
	if err != nil {
		return place{}, nil, fmt.Errorf("read a copy of a turn: %w", err)
	}
	return p, hash, nil
}

// holders returns the sessions that hold a turn, its owner first.
func (t *tx) holders(turn int64) ([]tables.Session, error) {
	st, err := t.w.statement(`SELECT session FROM copy WHERE turn = ?`)
	if err != nil {
		return nil, fmt.Errorf("read the copies of a turn: %w", err)
	}
	ids, err := sqlite.Column[int64](st.Query(turn))
	if err != nil {
		return nil, fmt.Errorf("read the copies of a turn: %w", err)
	}
	out := make([]tables.Session, 0, len(ids))
	for _, id := range ids {
		s, err := tables.SessionByID(t, id)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b tables.Session) int {
		if a.Before(b) {
			return -1
		}
		return 1
	})
	return out, nil
}

// continuations marks the other holders of a turn as continuing its owner, or
// whoever comes before it. current is the session being imported, whose row is
// in memory.
func (t *tx) continuations(owner tables.Session, others []tables.Session, current *tables.Session) error {
	for _, s := range others {
		if s.CopyOf == owner.ID {
			continue
		}
		if s.CopyOf != 0 {
			known, err := tables.SessionByID(t, s.CopyOf)
			if err != nil {
				return err
			}
			if known.Before(owner) {
				continue
			}
		}
		s.CopyOf, s.Original = owner.ID, owner.External
		if _, err := t.save(s); err != nil {
			return err
		}
		if s.ID == current.ID {
			*current = s
		}
	}
	return nil
}

// ranks gives each session its place among the holders of a turn.
func ranks(holders []tables.Session) map[int64]int {
	out := make(map[int64]int, len(holders))
	for i, s := range holders {
		out[s.ID] = i
	}
	return out
}

// from returns b with the session named that each message came from.
func from(b document.Body, session int64) document.Body {
	b.Messages = slices.Clone(b.Messages)
	for i := range b.Messages {
		if b.Messages[i].From == 0 {
			b.Messages[i].From = session
		}
	}
	return b
}

// ownedBy returns b with the owner's messages not named.
func ownedBy(b document.Body, session int64) document.Body {
	for i := range b.Messages {
		if b.Messages[i].From == session {
			b.Messages[i].From = 0
		}
	}
	return b
}

// union joins two copies of a turn. It gives the same for any order in which any
// number of copies are joined: of two versions of a message one wins by what is
// in it, and the order is by what the messages say of themselves.
func union(a, b document.Body, rank map[int64]int) document.Body {
	out := document.Body{
		At:     earlier(a.At, b.At),
		Cwd:    smaller(a.Cwd, b.Cwd),
		Branch: smaller(a.Branch, b.Branch),
		Model:  smaller(a.Model, b.Model),
		Tokens: ambry.Tokens{
			Input:  max(a.Tokens.Input, b.Tokens.Input),
			Cached: max(a.Tokens.Cached, b.Tokens.Cached),
			Output: max(a.Tokens.Output, b.Tokens.Output),
		},
	}
	at := map[string]int{}
	for _, m := range slices.Concat(a.Messages, b.Messages) {
		id := identity(m)
		i, ok := at[id]
		if !ok {
			at[id] = len(out.Messages)
			out.Messages = append(out.Messages, m)
			continue
		}
		out.Messages[i] = better(out.Messages[i], m, rank)
	}
	slices.SortStableFunc(out.Messages, func(a, b document.Message) int {
		return cmp.Or(when(a, out.At).Compare(when(b, out.At)), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Line, b.Line), cmp.Compare(identity(a), identity(b)))
	})
	return out
}

// identity is what two versions of one message share.
func identity(m document.Message) string {
	if m.ID != "" {
		return m.ID
	}
	return string(m.Role) + "\x00" + strconv.FormatInt(sqlite.Millis(m.At), 10) + "\x00" + m.Text
}

// when is the time of a message, or of its turn if it tells none.
func when(m document.Message, turn time.Time) time.Time {
	if m.At.IsZero() {
		return turn
	}
	return m.At
}

// weight is how much a message says.
func weight(m document.Message) int {
	n := len(m.Text) + len(m.Files)
	for _, c := range m.Calls {
		n += 1 + len(c.Input) + len(c.Output)
		if c.Done {
			n++
		}
	}
	return n
}

// better returns the version that is shown rather than hidden, else the one that
// says more, else the one of the session that comes first. It happened when the
// earlier of them says.
func better(a, b document.Message, rank map[int64]int) document.Message {
	at := earlier(a.At, b.At)
	shown := func(m document.Message) int {
		if m.Hidden {
			return 0
		}
		return 1
	}
	order := cmp.Or(cmp.Compare(shown(b), shown(a)), cmp.Compare(weight(b), weight(a)), cmp.Compare(rank[a.From], rank[b.From]))
	if order >= 0 { // the same session sends it anew
		a = b
	}
	a.At = at
	return a
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// smaller returns the first of two strings that are not empty.
func smaller(a, b string) string {
	if a == "" || b != "" && b < a {
		return b
	}
	return a
}
