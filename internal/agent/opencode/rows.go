package opencode

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"ambry.dev/ambry/internal/agent"
)

// burst is how many bytes are read at once: in between, OpenCode can clean up
// its log.
const burst = 4 << 20

// telling is a session that is being read.
type telling struct {
	*teller
	item    int      // bytes that make an item
	holds   uint64   // print of what holds for all turns
	next    position // of the first message that was not told yet
	before  mass     // of the rows before it
	resumes bool     // a turn must begin there, as it did before
	turn    place    // where the last turn begins
	took    int64    // bytes told since the last item

	undone position // the first message that is undone,
	part   string   // and its first part that is; "" means all of it
}

// read tells a session, from where its last turn begins if nothing changed
// before that; as is the print that it is known by then.
func (r *reading) read(ctx context.Context, s session, as uint64) error {
	from, _ := r.cursor.place(s)
	t, err := r.open(ctx, s, from)
	if err != nil {
		return err
	}
	for why := pause; why != endOfSession; {
		if why, err = r.burst(ctx, t); err != nil {
			return err
		}
		switch why {
		case itemFull:
			r.cursor.Open = t.here()
			err = r.deliver(t)
		case turnMoved:
			t, err = r.open(ctx, s, place{})
		}
		if err != nil {
			return err
		}
	}
	r.cursor.close(t.turn, s)
	r.cursor.Known.add(as)
	return r.deliver(t)
}

// deliver emits what was read of a session, if there is something.
func (r *reading) deliver(t *telling) error {
	if t.took == 0 {
		return nil
	}
	t.took = 0
	if !r.emit(t.Builder, r.cursor.String()) {
		return errStopped
	}
	return nil
}

// open prepares the reading of a session from a place, if nothing changed before
// it, and else from the beginning.
func (r *reading) open(ctx context.Context, s session, from place) (*telling, error) {
	t := &telling{item: r.item, holds: s.fixed()}
	if from.Session != "" {
		before, err := r.mass(ctx, s.layout.before, s.id, from.Position.At, from.Position.ID)
		if err != nil {
			return nil, err
		}
		if before == from.Before {
			t.next, t.before, t.resumes = from.Position, before, true
		}
	}
	if s.directory == "" {
		dir, err := r.directory(ctx, s)
		if err != nil {
			return nil, err
		}
		s.directory = dir
	}
	t.teller = newTeller(r.src.Path, s, !t.resumes)
	if t.resumes {
		t.Session.Model = from.Model
	}
	return t, r.revert(ctx, t)
}

// directory returns where a session was that does not tell it: it was in a tree
// of the first versions. The root stands for no directory.
func (r *reading) directory(ctx context.Context, s session) (dir string, err error) {
	if s.layout.place == "" {
		return "", nil
	}
	var record []byte
	err = r.db.QueryRowContext(ctx, s.layout.place, s.id).Scan(&record)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	r.decoder.Decode(record, func(v agent.Value) { dir = v.Text("path", "cwd") })
	return dir, err
}

// revert finds out what of a session is undone.
func (r *reading) revert(ctx context.Context, t *telling) error {
	var revert struct{ MessageID, PartID string }
	if json.Unmarshal([]byte(t.session.revert), &revert) != nil || revert.MessageID == "" {
		return nil
	}
	from := position{ID: revert.MessageID}
	err := r.db.QueryRowContext(ctx, t.layout.at, from.ID, t.id).Scan(&from.At)
	if errors.Is(err, sql.ErrNoRows) { // it is gone by now
		return nil
	}
	t.undone, t.part = from, revert.PartID
	return err
}

// here is the place to go on at.
func (t *telling) here() place {
	return place{
		Layout: t.layout.name, Session: t.id, Position: t.next, Before: t.before,
		Fixed: t.holds, Used: t.used, Model: t.Session.Model,
	}
}

// reason says why a burst ended.
type reason int

const (
	pause     reason = iota // enough was read for once
	itemFull                // a turn begins that is for the next item
	turnMoved               // where the reading resumed no turn begins any more
	endOfSession
)

// burst reads on in a session.
func (r *reading) burst(ctx context.Context, t *telling) (reason, error) {
	rows, err := r.db.QueryContext(ctx, t.layout.rows, t.id, t.next.At, t.next.ID)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var m *message
	var of, all mass // of the message, and of the burst
	for rows.Next() {
		row, err := scan(rows)
		if err != nil {
			return 0, err
		}
		if m != nil && m.id != row.ID {
			if why := t.take(m, of); why != pause {
				return why, nil
			}
			m, of = nil, mass{}
		}
		if m == nil {
			m, t.next = &message{id: row.ID}, row.position
			if all.Bytes >= burst {
				return pause, nil
			}
		}
		of, all = of.add(row.mass), all.add(row.mass)
		r.decode(t, m, row)
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	if m != nil {
		if why := t.take(m, of); why != pause {
			return why, nil
		}
	}
	return endOfSession, nil
}

// take tells the message at t.next and pauses, unless there is a reason not to
// tell it.
func (t *telling) take(m *message, of mass) reason {
	switch {
	case t.resumes && !m.asked():
		return turnMoved
	case m.asked() && t.took > 0 && t.took >= int64(t.item):
		return itemFull
	case m.asked():
		t.turn = t.here()
	}
	t.resumes = false
	undone := t.undone.ID != "" && !t.next.before(t.undone) && (t.part == "" || m.id != t.undone.ID)
	t.tell(m, undone)
	t.Took(of.Bytes)
	t.before, t.took = t.before.add(of), t.took+of.Bytes
	return pause
}

// row is a row of a message.
type row struct {
	position
	part, kind string
	mass       mass
	data       []byte
}

func scan(rows *sql.Rows) (row, error) {
	r := row{mass: mass{Rows: 1}}
	var updated, size sql.NullInt64
	err := rows.Scan(&r.At, &r.ID, &r.part, &r.kind, &updated, &size, &r.data)
	r.mass.Updated, r.mass.Bytes = updated.Int64&0xffffffff, size.Int64
	return r, err
}

// decode puts a row into its message.
func (r *reading) decode(t *telling, m *message, row row) {
	if t.part != "" && row.ID == t.undone.ID && row.part >= t.part {
		m = m.undoneRest()
	}
	n, ok := r.decoder.Decode(row.data, func(v agent.Value) { t.layout.record(m, row.part, row.kind, v) })
	switch {
	case row.mass.Bytes > maxRecord:
		m.broken = "longer than can be held"
	case !ok || n == 0:
		m.broken = "not JSON"
	}
}
