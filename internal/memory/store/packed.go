package store

import (
	"database/sql"
	"encoding/json"
	"math"

	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/tables"
)

// minApart is how many rows are worth a second connection.
const minApart = 8

// glances reads no further than Glance promises. Most of its time SQLite walks
// its trees, so two connections share the rows; who has no budget is in no hurry
// and leaves the second one to others.
func (s *Store) glances(r sqlite.Reader, rows []int64, least, budget int) ([]*Text, error) {
	least = min(least, len(rows))
	half := least / 2
	if half < minApart || budget == math.MaxInt {
		half = 0
	}
	// The first half has its connection before the second asks for one, and waits
	// for nobody: so searches cannot wait for each other in a circle.
	first, err := glanceRows(r, rows[:half]) //nolint:rowserrcheck // eachGlance checks it
	if err != nil {
		return nil, err
	}
	type result struct {
		texts []*Text
		bytes int
		err   error
	}
	ready := make(chan result, 1)
	read := func() {
		one := result{texts: make([]*Text, 0, least)}
		one.err = eachGlance(first, func(g *glance) (more bool, err error) {
			one.bytes += g.bytes()
			one.texts, err = s.take(one.texts, g)
			return true, err
		})
		ready <- one
	}
	if half == 0 {
		ready <- result{}
	} else {
		go read()
	}
	var before *result // what the first half has, once that matters
	out := make([]*Text, 0, max(least-half, 0))
	bytes := 0
	second, err := glanceRows(r, rows[half:])
	if err == nil {
		err = eachGlance(second, func(g *glance) (more bool, err error) {
			bytes += g.bytes()
			if len(out) >= least-half {
				if before == nil {
					one := <-ready
					before = &one
				}
				if len(before.texts)+len(out) >= least && before.bytes+bytes > budget {
					return false, nil
				}
			}
			out, err = s.take(out, g)
			return true, err
		})
	}
	if before == nil {
		one := <-ready
		before = &one
	}
	if err == nil {
		err = before.err
	}
	return append(before.texts, out...), err
}

// glance is a row of what Glance reads. What it has of a turn is of use until the
// next one is read.
type glance struct {
	text   Text
	note   tables.Noted
	at     int64
	packed sql.RawBytes
}

func (g *glance) bytes() int { return len(g.packed) + len(g.note.Body.String) }

// take adds what is in a row to texts.
func (s *Store) take(texts []*Text, g *glance) ([]*Text, error) {
	t := new(g.text)
	t.CreatedAt = sqlite.Time(g.at)
	var err error
	if t.Body, err = g.note.Text(); err != nil {
		return texts, err
	}
	if g.packed != nil {
		if t.Said, err = s.said(g.packed); err != nil {
			return texts, err
		}
	}
	return append(texts, t), nil
}

// glanceRows asks for rows in their order; for none it returns nil.
func glanceRows(r sqlite.Reader, rows []int64) (*sql.Rows, error) {
	if len(rows) == 0 {
		return nil, nil //nolint:nilnil // no rows are nothing to read
	}
	ids, err := json.Marshal(rows)
	if err != nil {
		return nil, err
	}
	return r.Rows(`SELECT m.id, m.agent, coalesce(m.project, 0), coalesce(m.session, 0), coalesce(t.external, m.turn_ref), m.rule, m.created_at, m.version,
			m.body, m.sum, `+tables.TracedBody+`,
			coalesce(u.shown, 0), coalesce(u.used, 0), coalesce(u.ignored, 0), coalesce(u.helpful, 0), coalesce(u.wrong, 0)
		FROM json_each(?) AS j CROSS JOIN memory AS m LEFT JOIN turn AS t ON t.id = coalesce(m.turn, m.origin)
			LEFT JOIN uses AS u ON u.memory = m.id WHERE m.id = j.value`, string(ids))
}

// eachGlance calls yield for each row until it returns false, and closes them.
func eachGlance(rows *sql.Rows, yield func(*glance) (more bool, err error)) error {
	if rows == nil {
		return nil
	}
	defer func() { _ = rows.Close() }()
	var g glance
	t := &g.text
	fields := []any{
		&t.Row, &t.In.Agent, &t.In.Project, &t.In.Session, &t.TurnID, &t.Rule, &g.at, &t.Version, &g.note.Body, &g.note.Sum, &g.packed,
		&t.Uses.Shown, &t.Uses.Used, &t.Uses.Ignored, &t.Uses.Helpful, &t.Uses.Wrong,
	}
	for rows.Next() {
		if err := rows.Scan(fields...); err != nil {
			return err
		}
		if more, err := yield(&g); err != nil || !more {
			return err
		}
	}
	return rows.Err()
}
