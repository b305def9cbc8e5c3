package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/tables"
)

// ForgetAll deletes what is selected, all or none, and remembers only digests of
// it. Its bytes are overwritten by [Store.Scrub], which the writer runs by
// itself when nothing else is to be done, also after a crash.
func (s *Store) ForgetAll(ctx context.Context, f ambry.Forget, key string) (ambry.ForgottenAll, error) {
	if err := f.Validate(); err != nil {
		return ambry.ForgottenAll{}, err
	}
	// What was asked until now is in the log before it is searched.
	if err := s.journal.flush(ctx); err != nil {
		return ambry.ForgottenAll{}, err
	}
	print, err := fingerprint("forget all", "", f)
	if err != nil {
		return ambry.ForgottenAll{}, err
	}
	var out ambry.ForgottenAll
	err = s.write(ctx, groupBytes, func(t *tx) error {
		out = ambry.ForgottenAll{}
		if f.DryRun {
			return t.forgetAll(f, &out)
		}
		return t.once(key, print, "", &out, func() error { return t.forgetAll(f, &out) })
	})
	if err != nil {
		return ambry.ForgottenAll{}, err
	}
	return out, nil
}

// chosen is what a request selects.
type chosen struct {
	memories []string // public ids
	turns    []int64  // all, with those of memories
	sessions []int64  // that are hollowed out
	titles   []int64  // sessions whose title goes
	calls    []int64  // rows of the log
}

// maxExamples is how many memories a dry run shows.
const maxExamples = 10

func (t *tx) forgetAll(f ambry.Forget, out *ambry.ForgottenAll) error {
	c, err := t.choose(f)
	if err != nil {
		return err
	}
	*out = ambry.ForgottenAll{
		OK: true, DryRun: f.DryRun, Memories: int64(len(c.memories)), Turns: int64(len(c.turns)), Sessions: int64(len(c.sessions)),
		Titles: int64(len(c.titles)), Calls: int64(len(c.calls)), ServerTime: sqlite.Time(t.now),
	}
	for _, turn := range c.turns {
		var copies int64
		if err := t.Row(`SELECT copies FROM turn WHERE id = ?`, turn).Scan(&copies); err != nil {
			return fmt.Errorf("read a turn: %w", err)
		}
		if copies > 0 {
			out.Shared++
		}
	}
	if f.DryRun {
		for _, id := range c.memories[:min(len(c.memories), maxExamples)] {
			m, err := tables.PublicBy(t, `m.public = ?`, id)
			if err != nil {
				return err
			}
			out.Examples = append(out.Examples, m)
		}
		return nil
	}
	if err := t.forgetChosen(c); err != nil {
		return err
	}
	if f.Words != "" {
		if err := t.forgetWords(f.Words); err != nil {
			return err
		}
	}
	return t.oweScrub(scrubQuick)
}

// forgetChosen deletes.
func (t *tx) forgetChosen(c chosen) error {
	if err := t.secure(); err != nil {
		return err
	}
	for _, id := range c.memories {
		// What was learned from a turn may have gone with it.
		if _, err := t.forget(id); err != nil && ambry.KindOf(err) != ambry.NotFound {
			return err
		}
	}
	for _, turn := range c.turns {
		if err := t.forgetTurn(turn); err != nil {
			return err
		}
	}
	for _, id := range c.titles {
		if err := t.forgetTitle(id); err != nil {
			return err
		}
	}
	for _, id := range c.calls {
		if err := t.forgetCall(id); err != nil {
			return err
		}
	}
	for _, id := range c.sessions {
		if err := t.hollow(id); err != nil {
			return err
		}
	}
	return nil
}

// forgetTurn deletes a turn that has no memory, if it is still there.
func (t *tx) forgetTurn(turn int64) error {
	var session int64
	err := t.Row(`SELECT session FROM turn WHERE id = ?`, turn).Scan(&session)
	if ok, err := sqlite.Found(err); err != nil {
		return fmt.Errorf("read a turn: %w", err)
	} else if !ok {
		return nil // it went with its memory
	}
	key, print, err := t.marks(turn)
	if err != nil {
		return err
	}
	for _, digest := range [][]byte{key, print} {
		if err := t.bury(digest); err != nil {
			return err
		}
	}
	return t.dropTurn(turn, session)
}

// bury remembers the digest of something that was forgotten.
func (t *tx) bury(print []byte) error {
	if len(print) == 0 {
		return nil
	}
	err := t.exec(`INSERT INTO gone (print, forgotten_at) VALUES (?, ?) ON CONFLICT DO NOTHING`, print, t.now)
	return sqlite.Wrapf(err, "remember what was forgotten")
}

// buried reports whether any of these was forgotten.
func (t *tx) buried(prints ...document.Digest) (bool, error) {
	for _, p := range prints {
		var one int
		gone, err := sqlite.Found(t.Row(`SELECT 1 FROM gone WHERE print = ?`, p[:]).Scan(&one))
		if err != nil || gone {
			return gone, sqlite.Wrapf(err, "look for what was forgotten")
		}
	}
	return false, nil
}

func titlePrint(title string) document.Digest { return document.DigestOf("title", title) }

// forgetTitle empties the title of a session, for good.
func (t *tx) forgetTitle(session int64) error {
	var title string
	if err := t.Row(`SELECT title FROM session WHERE id = ?`, session).Scan(&title); err != nil {
		return fmt.Errorf("read a session: %w", err)
	}
	if title == "" {
		return nil
	}
	print := titlePrint(title)
	if err := t.bury(print[:]); err != nil {
		return err
	}
	return sqlite.Wrapf(t.exec(`UPDATE session SET title = '' WHERE id = ?`, session), "forget a title")
}

func (t *tx) forgetCall(id int64) error {
	var tool string
	var agent, bytes int64
	ok, err := sqlite.Found(t.Row(`DELETE FROM recall_log WHERE id = ? RETURNING tool, agent, bytes`, id).Scan(&tool, &agent, &bytes))
	if err != nil || !ok {
		return sqlite.Wrapf(err, "forget a call")
	}
	return t.tallyCalls(tool, agent, -1, -bytes)
}

// hollow takes out of a session all but its id. It goes altogether unless
// something has to recognise it.
func (t *tx) hollow(session int64) error {
	if err := t.forgetTitle(session); err != nil {
		return err
	}
	for _, q := range []string{
		`UPDATE live_turn SET state = 'forgotten', query = '', turn = NULL WHERE session = ? AND state = 'started'`,
		`DELETE FROM live_session WHERE session = ?`,
		`DELETE FROM copy WHERE session = ?`,
		`UPDATE session SET copy_of = NULL WHERE copy_of = ?`,
		`UPDATE session SET parent = '', cwd = '', project = NULL, branch = '', model = '', version = '' WHERE id = ?`,
		`DELETE FROM session WHERE id = ?1 AND turns = 0 AND NOT EXISTS (SELECT 1 FROM live_turn WHERE session = ?1)
			AND NOT EXISTS (SELECT 1 FROM memory WHERE session = ?1) AND NOT EXISTS (SELECT 1 FROM turn WHERE session = ?1)`,
	} {
		if err := t.exec(q, session); err != nil {
			return fmt.Errorf("empty a session: %w", err)
		}
	}
	return nil
}

// choose finds what a request selects.
func (t *tx) choose(f ambry.Forget) (c chosen, err error) {
	switch {
	case f.Words != "":
		return t.chooseWords(f.Words)
	case len(f.IDs) > 0:
		for _, id := range f.IDs {
			m, err := t.memory(id)
			if err != nil {
				return c, err
			}
			c.memories = append(c.memories, m.Public)
			if m.Turn != 0 {
				c.turns = append(c.turns, m.Turn)
			}
		}
		return c, nil
	}
	where, args := sessionsOf(f)
	if c.sessions, err = t.ids(`SELECT s.id FROM session AS s LEFT JOIN project AS p ON p.id = s.project JOIN agent AS a ON a.id = s.agent WHERE `+where, args...); err != nil {
		return c, err
	}
	for _, s := range c.sessions {
		turns, err := t.ids(`SELECT id FROM turn WHERE session = ?1 UNION SELECT turn FROM copy WHERE session = ?1`, s)
		if err != nil {
			return c, err
		}
		c.turns = append(c.turns, turns...)
	}
	c.turns = unique(c.turns)
	if err := t.chooseMemories(f, &c); err != nil {
		return c, err
	}
	c.calls, err = t.chooseCalls(f)
	if err == nil && len(c.sessions) == 0 && len(c.memories) == 0 && len(c.calls) == 0 {
		err = ambry.NotFound.Errorf("nothing of that is in the memory")
	}
	return c, err
}

// sessionsOf is the condition that selects sessions.
func sessionsOf(f ambry.Forget) (string, []any) {
	switch {
	case f.SessionID != "" && f.Agent != "":
		return `s.external = ? AND a.name = ?`, []any{f.SessionID, f.Agent}
	case f.SessionID != "":
		return `s.external = ?`, []any{f.SessionID}
	case f.Agent != "":
		return `a.name = ?`, []any{f.Agent}
	}
	dir := strings.TrimRight(f.Project, `/\`)
	return `(p.path = ?1 OR p.path = ?2 OR substr(p.path, 1, length(?2) + 1) IN (?2 || '/', ?2 || '\'))`, []any{f.Project, dir}
}

// chooseMemories adds the memories of the chosen turns and sessions, and the
// notes of the agent or project.
func (t *tx) chooseMemories(f ambry.Forget, c *chosen) error {
	seen := map[string]bool{}
	take := func(publics []string, err error) error {
		for _, p := range publics {
			if !seen[p] {
				seen[p] = true
				c.memories = append(c.memories, p)
			}
		}
		return err
	}
	for _, turn := range c.turns {
		if err := take(t.strings(`SELECT public FROM memory WHERE turn = ?`, turn)); err != nil {
			return err
		}
	}
	for _, s := range c.sessions {
		if err := take(t.strings(`SELECT public FROM memory WHERE session = ? AND rule = ''`, s)); err != nil {
			return err
		}
	}
	switch {
	case f.SessionID != "":
		return nil
	case f.Agent != "":
		return take(t.strings(`SELECT m.public FROM memory AS m JOIN agent AS a ON a.id = m.agent WHERE a.name = ?`, f.Agent))
	}
	where, args := sessionsOf(f)
	return take(t.strings(`SELECT m.public FROM memory AS m JOIN project AS p ON p.id = m.project WHERE `+where, args...))
}

// chooseCalls selects entries of the log of calls.
func (t *tx) chooseCalls(f ambry.Forget) ([]int64, error) {
	switch {
	case f.SessionID != "":
		return t.ids(`SELECT id FROM recall_log WHERE session = ? AND session <> ''`, f.SessionID)
	case f.Agent != "":
		return t.ids(`SELECT r.id FROM recall_log AS r JOIN agent AS a ON a.id = r.agent WHERE a.name = ?`, f.Agent)
	}
	dir := strings.TrimRight(f.Project, `/\`)
	return t.ids(`SELECT id FROM recall_log WHERE json_valid(input) AND (json_extract(input, '$.project') IN (?1, ?2)
		OR substr(json_extract(input, '$.project'), 1, length(?2) + 1) IN (?2 || '/', ?2 || '\'))`, f.Project, dir)
}

// ids runs a query that gives one number a row.
func (t *tx) ids(query string, args ...any) ([]int64, error) {
	st, err := t.w.statement(query)
	if err != nil {
		return nil, fmt.Errorf("choose what to forget: %w", err)
	}
	rows, err := st.Query(args...)
	out, err := sqlite.Collect(rows, err, func(rows *sql.Rows) (id int64, err error) { return id, rows.Scan(&id) })
	return out, sqlite.Wrapf(err, "choose what to forget")
}

// strings runs a query that gives one text a row.
func (t *tx) strings(query string, args ...any) ([]string, error) {
	st, err := t.w.statement(query)
	if err != nil {
		return nil, fmt.Errorf("choose what to forget: %w", err)
	}
	rows, err := st.Query(args...)
	out, err := sqlite.Collect(rows, err, func(rows *sql.Rows) (s string, err error) { return s, rows.Scan(&s) })
	return out, sqlite.Wrapf(err, "choose what to forget")
}
