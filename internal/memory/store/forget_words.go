package store

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/sqlite"
)

// phrase finds words in texts, whatever their case.
type phrase struct {
	plain []byte // in lower case
	coded []byte // likewise, as it stands in JSON
	ascii bool
	buf   []byte
}

func newPhrase(words string) (*phrase, error) {
	p := &phrase{plain: bytes.ToLower([]byte(strings.TrimSpace(words)))}
	p.ascii = !slices.ContainsFunc(p.plain, func(b byte) bool { return b >= 0x80 })
	var coded bytes.Buffer
	e := json.NewEncoder(&coded)
	e.SetEscapeHTML(false)
	if err := e.Encode(string(p.plain)); err != nil {
		return nil, fmt.Errorf("encode words: %w", err)
	}
	p.coded = coded.Bytes()[1 : coded.Len()-2] // without the quotes and the line end
	return p, nil
}

// lower returns text in lower case, valid until the next call.
func (p *phrase) lower(text []byte) []byte {
	if !p.ascii {
		return bytes.ToLower(text)
	}
	p.buf = append(p.buf[:0], text...)
	for i, b := range p.buf {
		if 'A' <= b && b <= 'Z' {
			p.buf[i] = b + 'a' - 'A'
		}
	}
	return p.buf
}

func (p *phrase) in(texts ...string) bool {
	for _, text := range texts {
		if len(text) >= len(p.plain) && bytes.Contains(p.lower([]byte(text)), p.plain) {
			return true
		}
	}
	return false
}

// inJSON reports whether the words may stand in JSON: it may be a name or a time
// of it that is alike.
func (p *phrase) inJSON(encoded []byte) bool { return bytes.Contains(p.lower(encoded), p.coded) }

// inBody reports whether the words stand in what was said in a turn.
func (p *phrase) inBody(b document.Body) bool {
	for _, m := range b.Messages {
		if p.in(m.Text) {
			return true
		}
		for _, c := range m.Calls {
			if p.in(c.Name, c.Input, c.Output) {
				return true
			}
		}
		for _, f := range m.Files {
			if p.in(f.Name) {
				return true
			}
		}
	}
	return false
}

// inPacked is inBody of a turn as it is stored.
func (p *phrase) inPacked(u document.Unpacker, packed, buf []byte) (bool, []byte, error) {
	encoded, err := u.Expand(packed, buf[:0])
	if err != nil {
		return false, buf, fmt.Errorf("unpack a turn: %w", err)
	}
	if !p.inJSON(encoded) {
		return false, encoded, nil
	}
	var b document.Body
	if err := json.Unmarshal(encoded, &b); err != nil {
		return false, encoded, fmt.Errorf("decode a turn: %w", err)
	}
	return p.inBody(b), encoded, nil
}

// chooseWords selects everything in whose text the words stand.
func (t *tx) chooseWords(words string) (c chosen, err error) {
	p, err := newPhrase(words)
	if err != nil {
		return c, err
	}
	if c.turns, err = t.turnsWith(p); err != nil {
		return c, err
	}
	seen := map[string]bool{}
	take := func(publics []string, err error) error {
		for _, public := range publics {
			if !seen[public] {
				seen[public] = true
				c.memories = append(c.memories, public)
			}
		}
		return err
	}
	for _, turn := range c.turns {
		if err := take(t.strings(`SELECT public FROM memory WHERE turn = ?`, turn)); err != nil {
			return c, err
		}
	}
	if err := take(t.with(p, `SELECT public, title || char(10) || summary || char(10) || tags || char(10) || coalesce(body, '') FROM memory`)); err != nil {
		return c, err
	}
	for _, h := range holdings {
		for _, column := range h.texts {
			q := fmt.Sprintf(`SELECT m.public, h.%s FROM %s AS h JOIN memory AS m ON m.id = h.%s`, column, h.table, h.by)
			if err := take(t.with(p, q)); err != nil {
				return c, err
			}
		}
	}
	if err := t.withTurns(&c); err != nil {
		return c, err
	}
	if c.titles, err = t.rowsWith(p, `SELECT id, title FROM session WHERE title <> ''`); err != nil {
		return c, err
	}
	if c.calls, err = t.rowsWith(p, `SELECT id, input FROM recall_log`); err != nil {
		return c, err
	}
	if len(c.memories)+len(c.turns)+len(c.titles)+len(c.calls) == 0 {
		return c, ambry.NotFound.Errorf("these words stand nowhere in the memory")
	}
	return c, nil
}

// withTurns adds the turns of memories that were chosen for their own texts.
func (t *tx) withTurns(c *chosen) error {
	for _, public := range c.memories {
		m, err := t.memory(public)
		if err != nil {
			return err
		}
		if m.Turn != 0 {
			c.turns = append(c.turns, m.Turn)
		}
	}
	c.turns = unique(c.turns)
	return nil
}

// turnsWith returns the turns in whose texts the words stand.
func (t *tx) turnsWith(p *phrase) ([]int64, error) {
	st, err := t.w.statement(`SELECT id, body FROM turn`)
	if err != nil {
		return nil, fmt.Errorf("look for words: %w", err)
	}
	rows, err := st.Query()
	if err != nil {
		return nil, fmt.Errorf("look for words: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var out []int64
	var buf []byte
	for rows.Next() {
		var id int64
		var packed sql.RawBytes
		if err := rows.Scan(&id, &packed); err != nil {
			return nil, fmt.Errorf("look for words: %w", err)
		}
		var stands bool
		if stands, buf, err = p.inPacked(t.w.store.unpacker, packed, buf); err != nil {
			return nil, err
		}
		if stands {
			out = append(out, id)
		}
	}
	return out, sqlite.Wrapf(rows.Err(), "look for words")
}

// rowsWith runs a query of ids and texts, and returns the ids whose text has the
// words. The text may be JSON.
func (t *tx) rowsWith(p *phrase, query string) ([]int64, error) {
	var out []int64
	return out, t.eachText(query, func(id sql.RawBytes, text string) error {
		if p.in(text) || p.inJSON([]byte(text)) {
			var n int64
			if _, err := fmt.Sscan(string(id), &n); err != nil {
				return fmt.Errorf("look for words: %w", err)
			}
			out = append(out, n)
		}
		return nil
	})
}

// with is rowsWith for public ids.
func (t *tx) with(p *phrase, query string) ([]string, error) {
	var out []string
	return out, t.eachText(query, func(id sql.RawBytes, text string) error {
		if p.in(text) || p.inJSON([]byte(text)) {
			out = append(out, string(id))
		}
		return nil
	})
}

func (t *tx) eachText(query string, each func(id sql.RawBytes, text string) error) error {
	st, err := t.w.statement(query)
	if err != nil {
		return fmt.Errorf("look for words: %w", err)
	}
	rows, err := st.Query()
	if err != nil {
		return fmt.Errorf("look for words: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id sql.RawBytes
		var text string
		if err := rows.Scan(&id, &text); err != nil {
			return fmt.Errorf("look for words: %w", err)
		}
		if err := each(id, text); err != nil {
			return err
		}
	}
	return sqlite.Wrapf(rows.Err(), "look for words")
}

// forgetWords empties the remaining texts in which the words stand: requests
// that were not answered, notes of feedback, stored answers, keys of sessions.
func (t *tx) forgetWords(words string) error {
	p, err := newPhrase(words)
	if err != nil {
		return err
	}
	for query, update := range map[string]string{
		`SELECT id, query FROM live_turn WHERE query <> ''`:     `UPDATE live_turn SET state = 'forgotten', query = '', turn = NULL WHERE id = ?`,
		`SELECT session, key FROM live_session WHERE key <> ''`: `UPDATE live_session SET key = '' WHERE session = ?`,
		`SELECT memory, note FROM feedback WHERE note <> ''`:    `UPDATE feedback SET note = '' WHERE memory = ?`,
		`SELECT id, branch FROM session WHERE branch <> ''`:     `UPDATE session SET branch = '' WHERE id = ?`,
	} {
		ids, err := t.rowsWith(p, query)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := t.exec(update, id); err != nil {
				return fmt.Errorf("forget words: %w", err)
			}
		}
	}
	keys, err := t.with(p, `SELECT key, cast(answer AS TEXT) FROM idempotency WHERE length(answer) > 0`)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := t.exec(`UPDATE idempotency SET answer = x'' WHERE key = ?`, key); err != nil {
			return fmt.Errorf("forget words: %w", err)
		}
	}
	return nil
}

func unique(ids []int64) []int64 {
	slices.Sort(ids)
	return slices.Compact(ids)
}
