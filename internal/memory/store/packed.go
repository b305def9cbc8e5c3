package store

import (
	"database/sql"
	"encoding/json"
	"slices"

	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/tables"
)

// glance is what Glance reads of a memory. Nobody changes it: see [glance.copy].
type glance struct {
	text  Text
	turn  int64 // the memory is of it, or was learned from it; 0 for none
	bytes int   // as it is stored
}

// copy returns a text that can be completed.
func (g *glance) copy() *Text {
	t := new(g.text)
	t.Said = slices.Clone(t.Said)
	return t
}

// glances reads no further than Glance promises. What is in memory is not read
// again, and what is read is put there if keep says so.
func (s *Store) glances(r sqlite.Reader, rows []int64, least, budget int, keep bool) ([]*Text, error) {
	known, since := s.recent.get(rows)
	var rest reading
	defer rest.close()
	out, used := make([]*Text, 0, min(least, len(rows))), make([]*glance, 0, len(rows))
	bytes := 0
	for i, row := range rows {
		g := known[i]
		if g == nil {
			var err error
			if rest.rows == nil {
				err = rest.begin(r, rows[i:], known[i:])
			}
			if err == nil {
				g, err = rest.glance(s, row)
			}
			if err != nil {
				return nil, err
			}
			if g == nil {
				continue
			}
		}
		if bytes += g.bytes; len(out) >= least && bytes > budget {
			break
		}
		out, used = append(out, g.copy()), append(used, g)
	}
	if keep {
		s.recent.put(used, since)
	}
	return out, nil
}

// reading is a query for memories, of which no more is read than is wanted. The
// zero value was not begun.
type reading struct {
	rows *sql.Rows
	next *glance // was read and is not wanted yet
}

const glancesIn = `SELECT m.id, m.agent, coalesce(m.project, 0), coalesce(m.session, 0), coalesce(t.external, m.turn_ref), m.rule, m.created_at, m.version,
		coalesce(t.id, 0), m.body, m.sum, ` + tables.TracedBody + `,
		coalesce(u.used, 0), coalesce(u.ignored, 0), coalesce(u.helpful, 0), coalesce(u.wrong, 0)
	FROM json_each(?) AS j CROSS JOIN memory AS m LEFT JOIN turn AS t ON t.id = coalesce(m.turn, m.origin)
		LEFT JOIN uses AS u ON u.memory = m.id WHERE m.id = j.value`

// begin asks for the rows that are not known, in their order.
func (q *reading) begin(r sqlite.Reader, rows []int64, known []*glance) error {
	missing := make([]int64, 0, len(rows))
	for i, row := range rows {
		if known[i] == nil {
			missing = append(missing, row)
		}
	}
	ids, err := json.Marshal(missing)
	if err != nil {
		return err
	}
	q.rows, err = r.Rows(glancesIn, string(ids)) //nolint:rowserrcheck // glance checks it
	return err
}

// glance returns the memory in a row, nil if there is none any more. The rows are
// those that were asked for, in their order.
func (q *reading) glance(s *Store, row int64) (*glance, error) {
	if q.next == nil && q.rows.Next() {
		var err error
		if q.next, err = s.scanGlance(q.rows); err != nil {
			return nil, err
		}
	}
	if q.next == nil || q.next.text.Row != row {
		return nil, q.rows.Err()
	}
	g := q.next
	q.next = nil
	return g, nil
}

func (s *Store) scanGlance(rows *sql.Rows) (*glance, error) {
	g := &glance{}
	t := &g.text
	var note tables.Noted
	var at int64
	var packed sql.RawBytes
	err := rows.Scan(&t.Row, &t.In.Agent, &t.In.Project, &t.In.Session, &t.TurnID, &t.Rule, &at, &t.Version, &g.turn,
		&note.Body, &note.Sum, &packed, &t.Uses.Used, &t.Uses.Ignored, &t.Uses.Helpful, &t.Uses.Wrong)
	if err != nil {
		return nil, err
	}
	t.CreatedAt, g.bytes = sqlite.Time(at), len(packed)+len(note.Body.String)
	if t.Body, err = note.Text(); err != nil {
		return nil, err
	}
	if packed != nil {
		if t.Said, err = s.said(packed); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func (q *reading) close() {
	if q.rows != nil {
		_ = q.rows.Close()
	}
}
