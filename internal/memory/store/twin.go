package store

import (
	"database/sql"
	"fmt"
	"strings"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/tables"
)

// A turn that an agent told of while it happened is told of again by the agent's
// log. They are one turn: by session and id, if the agent told its own; else by
// what was asked and answered, and when.

// How far apart, in milliseconds, an agent and its log may put one turn.
const (
	nearMs      = 2 * 60 * 1000  // the same request, another answer: the log was not complete
	shortSaidMs = 10 * 60 * 1000 // the same short request and answer, such as "go on", in another session
	longSaidMs  = tables.DayMs   // the same request and answer
)

// request returns what a person asked in a turn.
func request(b document.Body) string {
	for _, m := range b.Messages {
		if m.Role == ambry.User && !m.Hidden && m.Text != "" {
			return m.Text
		}
	}
	return ""
}

// squeezed returns text with white space made alike.
func squeezed(text string) string { return strings.Join(strings.Fields(text), " ") }

func askedOf(agent string, b document.Body) document.Digest {
	return document.DigestOf("asked", agent, squeezed(request(b)))
}

// saidOf recognises the answer of a turn: the last text of the agent, since
// agents tell that one as their answer, and all of its texts.
func saidOf(b document.Body) [2]document.Digest {
	last, all := "", []string{}
	for _, m := range b.Messages {
		if m.Role == ambry.Assistant && !m.Hidden && m.Text != "" {
			last = squeezed(m.Text)
			all = append(all, last)
		}
	}
	return [2]document.Digest{document.DigestOf("said", last), document.DigestOf("said", strings.Join(all, " "))}
}

// isTwin reports whether a turn that was told of and one of the agent's log, in
// session and at a time, are the same. They have the same request.
func (l liveTurn) isTwin(session, at int64, request string, sameAnswer bool) bool {
	sure := l.session == session || len(request) >= shortPrint
	apart := max(at-l.started, l.started-at)
	switch {
	case at == 0:
		return sameAnswer && len(request) >= shortPrint
	case sameAnswer && sure:
		return apart <= longSaidMs
	case sameAnswer:
		return apart <= shortSaidMs
	}
	return sure && apart <= nearMs
}

// anyTold reports whether any turn is known that a log may tell of again.
func (t *tx) anyTold() (bool, error) {
	if t.told == nil {
		var any bool
		err := t.Row(`SELECT EXISTS (SELECT 1 FROM live_turn INDEXED BY live_turn_by_asked WHERE state IN ('told', 'forgotten'))`).Scan(&any)
		if err != nil {
			return false, fmt.Errorf("look for turns that were told of: %w", err)
		}
		t.told = &any
	}
	return *t.told, nil
}

// toldTwin looks for the turn that an agent told of, of which d is what its log
// says.
func (t *tx) toldTwin(s tables.Session, d *draft) (liveTurn, bool, error) {
	if d.turn.Part != 0 {
		return liveTurn{}, false, nil
	}
	if any, err := t.anyTold(); err != nil || !any {
		return liveTurn{}, false, err
	}
	own, err := liveTurnOf(t, s.ID, d.turn.ID)
	if err != nil {
		return liveTurn{}, false, err
	}
	if own.state == turnTold || own.state == turnForgotten {
		return own, true, nil
	}
	request := request(d.body)
	if request == "" {
		return liveTurn{}, false, nil
	}
	asked, said := askedOf(s.Agent, d.body), saidOf(d.body)
	st, err := t.w.statement(`SELECT ` + liveTurnColumns + ` FROM live_turn WHERE asked = ? AND state IN ('told', 'forgotten') ORDER BY id DESC LIMIT 64`)
	if err != nil {
		return liveTurn{}, false, fmt.Errorf("look for a turn that was told of: %w", err)
	}
	rows, err := st.Query(asked[:])
	all, err := sqlite.Collect(rows, err, func(rows *sql.Rows) (l liveTurn, err error) { return l, rows.Scan(l.fields()...) })
	if err != nil {
		return liveTurn{}, false, fmt.Errorf("look for a turn that was told of: %w", err)
	}
	var best liveTurn
	for _, l := range all {
		same := string(l.said) == string(said[0][:]) || string(l.said) == string(said[1][:])
		if !l.isTwin(s.ID, sqlite.Millis(d.body.Began()), request, same) {
			continue
		}
		if same {
			return l, true, nil
		}
		if best.id == 0 {
			best = l
		}
	}
	return best, best.id != 0, nil
}

// adopt makes a turn that an agent told of what the agent's log says of it. The
// memory keeps its id.
func (t *tx) adopt(s tables.Session, l liveTurn, d *draft) error {
	if err := t.exec(`UPDATE turn SET key = ?, external = ?, part = ? WHERE id = ?`, d.key[:], d.turn.ID, d.turn.Part, l.turn); err != nil {
		return fmt.Errorf("rename a turn: %w", err)
	}
	t.renamed = append(t.renamed, l.turn)
	if err := t.exec(`UPDATE live_turn SET state = 'read' WHERE id = ?`, l.id); err != nil {
		return fmt.Errorf("complete a turn from its log: %w", err)
	}
	held, _, err := t.held(d.key)
	if err != nil {
		return err
	}
	return t.replace(s, held, d)
}

// meet makes one turn of two: one whose log was read before it said anything, and
// one that the agent told of meanwhile. It reports whether there were two.
func (t *tx) meet(s tables.Session, held heldTurn, d *draft) (outcome, bool, error) {
	if any, err := t.anyTold(); err != nil || !any {
		return left, false, err
	}
	if silent, err := t.silent(held); err != nil || !silent {
		return left, false, err
	}
	twin, ok, err := t.toldTwin(s, d)
	if err != nil || !ok {
		return left, false, err
	}
	if err := t.dropTurn(held.id, held.session); err != nil {
		return left, false, err
	}
	if twin.state == turnForgotten {
		return left, true, nil
	}
	return updated, true, t.adopt(s, twin, d)
}

// silent reports whether a turn of a log says nothing yet that can be found.
func (t *tx) silent(held heldTurn) (bool, error) {
	var says bool
	err := t.Row(`SELECT EXISTS (SELECT 1 FROM memory WHERE turn = ?1) OR EXISTS (SELECT 1 FROM live_turn WHERE turn = ?1)`, held.id).Scan(&says)
	if err != nil {
		return false, fmt.Errorf("look for the memory of a turn: %w", err)
	}
	return !says && held.copies == 0, nil
}

// maxTwins is how many of an agent's latest turns are looked at.
const maxTwins = 500

// readTwin returns the row of the turn that the log of an agent has told of
// before the agent did, 0 if there is none.
func (t *tx) readTwin(s tables.Session, l liveTurn, d *draft) (int64, error) {
	held, ok, err := t.held(turnKey(s.Agent, d.turn.ID, 0))
	if err != nil {
		return 0, err
	}
	if ok {
		if held.session == s.ID {
			if silent, err := t.silent(held); err != nil || !silent {
				return held.id, err
			}
			return 0, t.dropTurn(held.id, held.session) // the log brings it again, as told
		}
		var one int
		copied, err := sqlite.Found(t.Row(`SELECT 1 FROM copy WHERE turn = ? AND session = ?`, held.id, s.ID).Scan(&one))
		if err != nil {
			return 0, fmt.Errorf("look for a copy of a turn: %w", err)
		}
		if copied {
			return held.id, nil
		}
	}
	return t.readAlike(s, l, d)
}

// readAlike is readTwin by what was said.
func (t *tx) readAlike(s tables.Session, l liveTurn, d *draft) (int64, error) {
	request := request(d.body)
	if request == "" {
		return 0, nil
	}
	type twin struct {
		turn, session int64
		packed        []byte
	}
	agent, err := t.agent(s.Agent)
	if err != nil {
		return 0, err
	}
	st, err := t.w.statement(`SELECT t.id, t.session, t.body FROM (
			SELECT turn, title FROM memory WHERE agent = ? AND created_at >= ? ORDER BY created_at DESC LIMIT ?) AS m
		JOIN turn AS t ON t.id = m.turn WHERE m.title = ? AND t.part = 0
			AND NOT EXISTS (SELECT 1 FROM live_turn AS l WHERE l.turn = t.id)`)
	if err != nil {
		return 0, fmt.Errorf("look for a turn in the log: %w", err)
	}
	rows, err := st.Query(agent, l.started-longSaidMs, maxTwins, d.Title)
	twins, err := sqlite.Collect(rows, err, func(rows *sql.Rows) (w twin, err error) {
		return w, rows.Scan(&w.turn, &w.session, &w.packed)
	})
	if err != nil {
		return 0, fmt.Errorf("look for a turn in the log: %w", err)
	}
	asked, said := askedOf(s.Agent, d.body), saidOf(d.body)[0]
	best := int64(0)
	for _, w := range twins {
		b, err := t.w.store.unpacker.Unpack(w.packed)
		if err != nil {
			return 0, err
		}
		if askedOf(s.Agent, b) != asked {
			continue
		}
		logged := saidOf(b)
		same := said == logged[0] || said == logged[1]
		l.session = s.ID
		if !l.isTwin(w.session, sqlite.Millis(b.Began()), request, same) {
			continue
		}
		if same {
			return w.turn, nil
		}
		if best == 0 {
			best = w.turn
		}
	}
	return best, nil
}
