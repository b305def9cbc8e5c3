package store

import (
	"database/sql"
	"encoding/json"
	"math"

	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/tables"
)

// packedText is a Text whose turn is not unpacked yet.
type packedText struct {
	Text
	turn   int64
	packed []byte
}

// minApart is how many rows are worth a second connection.
const minApart = 8

// packedTexts reads no further than Texts promises. Most of its time SQLite walks
// its trees, so two connections share the rows; who has no budget is in no hurry
// and leaves the second one to others.
func packedTexts(r sqlite.Reader, rows []int64, least, budget int) ([]packedText, error) {
	half := min(least, len(rows)) / 2
	if half < minApart || budget == math.MaxInt {
		half = 0
	}
	// The first half has its connection before the second asks for one, and waits
	// for nobody: so searches cannot wait for each other in a circle.
	first, err := packedRows(r, rows[:half]) //nolint:rowserrcheck // eachPacked checks it
	if err != nil {
		return nil, err
	}
	type result struct {
		texts []packedText
		bytes int
		err   error
	}
	ready := make(chan result, 1)
	read := func() {
		var one result
		one.err = eachPacked(first, func(t packedText) bool {
			one.texts, one.bytes = append(one.texts, t), one.bytes+t.bytes()
			return true
		})
		ready <- one
	}
	if half == 0 {
		read()
	} else {
		go read()
	}
	var before *result // what the first half has, once that matters
	var out []packedText
	bytes := 0
	second, err := packedRows(r, rows[half:])
	if err == nil {
		err = eachPacked(second, func(t packedText) bool {
			bytes += t.bytes()
			if len(out) >= least-half {
				if before == nil {
					one := <-ready
					before = &one
				}
				if len(before.texts)+len(out) >= least && before.bytes+bytes > budget {
					return false
				}
			}
			out = append(out, t)
			return true
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

func (t *packedText) bytes() int { return len(t.packed) + len(t.Body) }

// packedRows asks for rows in their order; for none it returns nil.
func packedRows(r sqlite.Reader, rows []int64) (*sql.Rows, error) {
	if len(rows) == 0 {
		return nil, nil //nolint:nilnil // no rows are nothing to read
	}
	ids, err := json.Marshal(rows)
	if err != nil {
		return nil, err
	}
	return r.Rows(`SELECT `+tables.PublicColumns+`, m.id, m.body, m.sum, coalesce(m.turn, 0), `+tables.TracedBody+`,
			coalesce(u.shown, 0), coalesce(u.used, 0), coalesce(u.ignored, 0), coalesce(u.helpful, 0), coalesce(u.wrong, 0)
		FROM json_each(?) AS j CROSS JOIN `+tables.PublicTables+` LEFT JOIN uses AS u ON u.memory = m.id WHERE m.id = j.value`, string(ids))
}

// eachPacked calls yield for each row until it returns false, and closes them.
func eachPacked(rows *sql.Rows, yield func(packedText) bool) (err error) {
	if rows == nil {
		return nil
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var t packedText
		var note tables.Noted
		if t.Memory, err = tables.ScanPublic(rows, &t.Row, &note.Body, &note.Sum, &t.turn, &t.packed,
			&t.Uses.Shown, &t.Uses.Used, &t.Uses.Ignored, &t.Uses.Helpful, &t.Uses.Wrong); err != nil {
			return err
		}
		if t.Body, err = note.Text(); err != nil {
			return err
		}
		if !yield(t) {
			return nil
		}
	}
	return rows.Err()
}
