package store

import (
	"bytes"
	"cmp"
	"database/sql"
	"fmt"
	"math"
	"slices"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/tables"
)

// claimRow is a claim with what its evidence adds up to.
type claimRow struct {
	id          int64
	key         []byte
	cell        tables.Cell
	need        int64
	most        bool
	instead     []byte
	title, body string
	memory      int64

	turns       int64 // that say so
	first, last moment
	doubt       float64 // that none of them means so
}

// moment is where in time a claim was made.
type moment struct{ at, turn, nth int64 }

func (m moment) compare(o moment) int {
	return cmp.Or(cmp.Compare(m.at, o.at), cmp.Compare(m.turn, o.turn), cmp.Compare(m.nth, o.nth))
}

// shown reports whether enough turns make the claim for it to be a memory. One
// whose words were forgotten waits until it has those of another turn.
func (c *claimRow) shown() bool { return c.need > 0 && c.turns >= c.need && c.title != "" }

// stands compares how well two claims of a topic stand.
func (c *claimRow) stands(o *claimRow) int {
	last := cmp.Or(c.last.compare(o.last), bytes.Compare(c.key, o.key))
	if c.most && o.most {
		return cmp.Or(cmp.Compare(c.turns, o.turns), last)
	}
	return last
}

// resolve decides which claims of some topics stand, and brings their memories in
// line. What it decides depends on the evidence alone.
func (t *tx) resolve(touched topics) error {
	order := make([]Topic, 0, len(touched))
	for topic := range touched {
		order = append(order, topic)
	}
	slices.SortFunc(order, func(a, b Topic) int { return bytes.Compare(a[:], b[:]) })
	for _, topic := range order {
		if err := t.resolveTopic(topic); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) resolveTopic(topic Topic) error {
	claims, err := t.claimsAbout(topic)
	if err != nil {
		return err
	}
	var winner *claimRow
	for i := range claims {
		c := &claims[i]
		if c.turns == 0 {
			if err := t.dropClaim(c); err != nil {
				return err
			}
			continue
		}
		if c.turns >= c.need && (winner == nil || c.stands(winner) > 0) {
			winner = c
		}
	}
	for i := range claims {
		c := &claims[i]
		switch {
		case c.turns == 0:
		case !c.shown():
			if err := t.hide(c); err != nil {
				return err
			}
		default:
			if err := t.show(c, winner); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tx) claimsAbout(topic Topic) ([]claimRow, error) {
	rows, err := t.rows(`SELECT id, key, rule, layer, coalesce(project, 0), need, most, instead, title, body, coalesce(memory, 0)
		FROM claim WHERE topic = ? ORDER BY key`, topic[:])
	claims, err := sqlite.Collect(rows, err, func(rows *sql.Rows) (c claimRow, err error) {
		return c, rows.Scan(&c.id, &c.key, &c.cell.Rule, &c.cell.Layer, &c.cell.Project, &c.need, &c.most, &c.instead, &c.title, &c.body, &c.memory)
	})
	if err != nil {
		return nil, fmt.Errorf("look for claims: %w", err)
	}
	for i := range claims {
		if err := t.weighEvidence(&claims[i]); err != nil {
			return nil, fmt.Errorf("weigh evidence: %w", err)
		}
	}
	return claims, nil
}

func (t *tx) weighEvidence(c *claimRow) error {
	rows, err := t.rows(`SELECT at, turn, nth, sure FROM evidence WHERE claim = ?`, c.id)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	c.doubt = 1
	for rows.Next() {
		var m moment
		var sure float64
		if err := rows.Scan(&m.at, &m.turn, &m.nth, &sure); err != nil {
			return err
		}
		if c.turns == 0 || m.compare(c.first) < 0 {
			c.first = m
		}
		if c.turns == 0 || m.compare(c.last) > 0 {
			c.last = m
		}
		c.turns++
		c.doubt *= 1 - sure
	}
	return rows.Err()
}

// dropClaim deletes a claim that nothing supports any more, and its memory.
func (t *tx) dropClaim(c *claimRow) error {
	if err := t.hide(c); err != nil {
		return err
	}
	if err := t.exec(`DELETE FROM claim WHERE id = ?`, c.id); err != nil {
		return fmt.Errorf("drop a claim: %w", err)
	}
	return nil
}

// hide takes the memory of a claim away.
func (t *tx) hide(c *claimRow) error {
	if c.memory == 0 {
		return nil
	}
	var m tables.Memory
	if err := t.Row(`SELECT `+tables.MemoryColumns+` FROM memory WHERE id = ?`, c.memory).Scan(m.Fields()...); err != nil {
		return fmt.Errorf("read a memory: %w", err)
	}
	if err := t.exec(`UPDATE claim SET memory = NULL WHERE id = ?`, c.id); err != nil {
		return fmt.Errorf("hide a claim: %w", err)
	}
	c.memory = 0
	return t.drop(m)
}

// maxSure is how sure one can be of what was learned by rules.
const maxSure = 0.99

// show makes a claim a memory, or brings its memory up to date.
func (t *tx) show(c, winner *claimRow) error {
	c.cell.Status = string(ambry.Activated)
	validTo, successor := int64(0), []byte(nil)
	if c != winner {
		c.cell.Status = string(ambry.Archived)
		validTo = max(c.last.at, winner.first.at)
		successor = winner.key
		if winner.need == 0 {
			successor = winner.instead
		}
	}
	if err := t.showMemory(c); err != nil {
		return err
	}
	confidence := math.Round(min(1-c.doubt, maxSure)*100) / 100
	err := t.exec(`UPDATE claim SET memory = ?1, confidence = ?2, valid_from = ?3, valid_to = ?4, successor = ?5
		WHERE id = ?6 AND (memory IS NOT ?1 OR confidence <> ?2 OR valid_from <> ?3 OR valid_to <> ?4 OR successor IS NOT ?5)`,
		c.memory, confidence, c.first.at, validTo, successor, c.id)
	if err != nil {
		return fmt.Errorf("settle a claim: %w", err)
	}
	return nil
}

// saidFirst says where a claim was made first.
func (t *tx) saidFirst(c *claimRow, m *tables.Memory) error {
	m.Created, m.Origin = c.first.at, c.first.turn
	err := t.Row(`SELECT s.id, s.agent FROM turn AS t JOIN session AS s ON s.id = t.session WHERE t.id = ?`, c.first.turn).Scan(&m.Session, &m.Cell.Agent)
	if err != nil {
		return fmt.Errorf("read the session of a turn: %w", err)
	}
	return nil
}

func (t *tx) showMemory(c *claimRow) error {
	if c.memory == 0 {
		return t.addLearned(c)
	}
	var old tables.Memory
	var body string
	err := t.Row(`SELECT `+tables.MemoryColumns+`, coalesce(body, '') FROM memory WHERE id = ?`, c.memory).Scan(append(old.Fields(), &body)...)
	if err != nil {
		return fmt.Errorf("read a memory: %w", err)
	}
	m := old
	if err := t.saidFirst(c, &m); err != nil {
		return err
	}
	if m.Edited&tables.EditedTitle == 0 {
		m.Title = document.TitleOf(c.title)
	}
	if m.Edited&tables.EditedSummary == 0 {
		m.Summary = document.SummaryOf(c.body)
	}
	if m.Edited&tables.EditedStatus == 0 {
		m.Cell.Status = c.cell.Status
	}
	if m == old && body == c.body {
		return nil
	}
	err = t.exec(`UPDATE memory SET agent = ?, session = ?, created_at = ?, origin = ?, body = ?, sum = ? WHERE id = ?`,
		m.Cell.Agent, m.Session, m.Created, m.Origin, c.body, tables.SumOf(c.body), m.ID)
	if err != nil {
		return fmt.Errorf("update what was learned: %w", err)
	}
	return t.rewrite(old, m)
}

func (t *tx) addLearned(c *claimRow) error {
	m := tables.Memory{
		Public: document.MemoryID(ambry.Layer(c.cell.Layer), document.Digest(c.key)), Cell: c.cell, Version: 1,
		Title: document.TitleOf(c.title), Summary: document.SummaryOf(c.body),
	}
	if err := t.saidFirst(c, &m); err != nil {
		return err
	}
	tags := []string{m.Cell.Rule}
	var err error
	if m.Tags, err = tables.FormatTags(tags); err != nil {
		return err
	}
	m.ID, err = t.insert(`INSERT INTO memory (public, layer, status, agent, project, session, origin, created_at, updated_at,
			title, summary, tags, body, sum, rule) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		m.Public, m.Cell.Layer, m.Cell.Status, m.Cell.Agent, tables.Null(m.Cell.Project), m.Session, m.Origin, m.Created, t.now,
		m.Title, m.Summary, m.Tags, c.body, tables.SumOf(c.body), m.Cell.Rule)
	if err != nil {
		return fmt.Errorf("add what was learned: %w", err)
	}
	c.memory = m.ID
	return t.entered(m, t.w.builder.NoteTerms(m.Title, tags, c.body))
}
