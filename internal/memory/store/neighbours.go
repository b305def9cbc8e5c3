package store

import (
	"cmp"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/sqlite"
)

// What a turn is about often stands in the turns around it: "yes, do that" comes
// after a question. So a short turn is indexed with the beginnings of its
// neighbours, in a column of their own. A long one says enough itself.
const reach = 2 // turns before and after

// gists remembers what turns lend, so that a session that is read piece by piece
// is not unpacked again. Like names it is forgotten when a job is rolled back.
type gists map[int64]document.Gist

// maxGists bounds its memory to about a megabyte.
const maxGists = 2048

func (g gists) put(turn int64, v document.Gist) {
	if len(g) >= maxGists {
		clear(g)
	}
	g[turn] = v
}

// gist returns what a turn lends.
func (t *tx) gist(turn int64) (document.Gist, error) {
	if g, ok := t.w.gists[turn]; ok {
		return g, nil
	}
	var packed []byte
	if err := t.Row(`SELECT body FROM turn WHERE id = ?`, turn).Scan(&packed); err != nil {
		return document.Gist{}, fmt.Errorf("read a turn: %w", err)
	}
	b, err := t.w.store.unpacker.Unpack(packed)
	if err != nil {
		return document.Gist{}, err
	}
	g := t.w.builder.Terms(b).Gist()
	t.w.gists.put(turn, g)
	return g, nil
}

// position is where a turn stands in its session.
type position struct{ session, at, start, turn int64 }

func (p position) compare(o position) int {
	return cmp.Or(cmp.Compare(p.session, o.session), cmp.Compare(p.at, o.at), cmp.Compare(p.start, o.start), cmp.Compare(p.turn, o.turn))
}

// moved notes that the turn at its present place changes, comes or goes, so that
// its neighbours are indexed anew at the end of the job.
func (t *tx) moved(turn int64) error {
	p, err := t.position(turn)
	if err != nil {
		return err
	}
	t.moves = append(t.moves, p)
	return nil
}

func (t *tx) position(turn int64) (position, error) {
	p := position{turn: turn}
	if err := t.Row(`SELECT session, at, start FROM turn WHERE id = ?`, turn).Scan(&p.session, &p.at, &p.start); err != nil {
		return position{}, fmt.Errorf("read the place of a turn: %w", err)
	}
	return p, nil
}

// link completes the entries of the turns that moved, and adds entries for the
// neighbours that they are indexed with.
func (t *tx) link() error {
	slices.SortFunc(t.moves, position.compare)
	t.moves = slices.Compact(t.moves)
	for from := 0; from < len(t.moves); {
		to := from + 1
		for to < len(t.moves) && t.moves[to].session == t.moves[from].session {
			to++
		}
		if err := t.linkSession(t.moves[from:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

func (t *tx) linkSession(moves []position) error {
	line, err := t.line(moves[0], moves[len(moves)-1], 2*reach)
	if err != nil {
		return err
	}
	touched := make([]bool, len(line))
	for _, m := range moves {
		i, there := slices.BinarySearchFunc(line, m, position.compare)
		end := i + reach
		if there {
			end++
		}
		for j := max(i-reach, 0); j < min(end, len(line)); j++ {
			touched[j] = true
		}
	}
	for i, p := range line {
		if !touched[i] {
			continue
		}
		if err := t.linkTurn(p.turn, line, i); err != nil {
			return err
		}
	}
	return nil
}

// linkTurn gives the turn at place i of line what its neighbours lend.
func (t *tx) linkTurn(turn int64, line []position, i int) error {
	around, err := t.around(line, i)
	if err != nil {
		return err
	}
	if e, ok := t.traces[turn]; ok {
		t.entries[e].around = around
		return nil
	}
	if g, err := t.gist(turn); err != nil || !g.Short {
		return err
	}
	rows, err := t.texts(`WHERE m.turn = ?`, turn)
	if err != nil || len(rows) == 0 {
		return err
	}
	text, err := t.termsOf(rows[0])
	if err != nil {
		return err
	}
	t.entries = append(t.entries, entry{memory: rows[0].id, text: text, around: around, scope: rows[0].scope})
	return nil
}

// around returns what the neighbours of the turn at place i of line lend it.
func (t *tx) around(line []position, i int) (string, error) {
	own, err := t.gist(line[i].turn)
	if err != nil || !own.Short {
		return "", err
	}
	var out strings.Builder
	for j := max(i-reach, 0); j <= min(i+reach, len(line)-1); j++ {
		if j == i {
			continue
		}
		g, err := t.gist(line[j].turn)
		if err != nil {
			return "", err
		}
		out.WriteString(g.Terms)
	}
	return out.String(), nil
}

// aroundTurn is around for a turn whose neighbours are not known.
func (t *tx) aroundTurn(turn int64) (string, error) {
	if g, err := t.gist(turn); err != nil || !g.Short {
		return "", err
	}
	p, err := t.position(turn)
	if err != nil {
		return "", err
	}
	line, err := t.line(p, p, reach)
	if err != nil {
		return "", err
	}
	i, _ := slices.BinarySearchFunc(line, p, position.compare)
	return t.around(line, i)
}

// line returns the turns of a session from one place to another, and so many
// before and after them, in order.
func (t *tx) line(from, to position, more int) ([]position, error) {
	out, err := t.positions(from.session, `(at, start, id) < (?, ?, ?) ORDER BY at DESC, start DESC, id DESC LIMIT ?`,
		from.at, from.start, from.turn, more)
	if err != nil {
		return nil, err
	}
	slices.Reverse(out)
	between, err := t.positions(from.session, `(at, start, id) >= (?, ?, ?) AND (at, start, id) <= (?, ?, ?) ORDER BY at, start, id`,
		from.at, from.start, from.turn, to.at, to.start, to.turn)
	if err != nil {
		return nil, err
	}
	after, err := t.positions(from.session, `(at, start, id) > (?, ?, ?) ORDER BY at, start, id LIMIT ?`,
		to.at, to.start, to.turn, more)
	if err != nil {
		return nil, err
	}
	return slices.Concat(out, between, after), nil
}

// positions reads places in a session; where is trusted SQL.
func (t *tx) positions(session int64, where string, args ...any) ([]position, error) {
	s, err := t.w.statement(`SELECT at, start, id FROM turn WHERE session = ? AND ` + where)
	if err != nil {
		return nil, fmt.Errorf("read the places of turns: %w", err)
	}
	rows, err := s.Query(append([]any{session}, args...)...)
	out, err := sqlite.Collect(rows, err, func(rows *sql.Rows) (position, error) {
		p := position{session: session}
		return p, rows.Scan(&p.at, &p.start, &p.turn)
	})
	if err != nil {
		return nil, fmt.Errorf("read the places of turns: %w", err)
	}
	return out, nil
}
