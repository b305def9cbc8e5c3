package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/tables"
)

// Topic names what a claim is about. Of the claims about one topic, one stands.
type Topic [16]byte

// TopicOf returns the topic of some words.
func TopicOf(parts ...string) Topic {
	return Topic(document.DigestOf(append([]string{"topic"}, parts...)...))
}

// Claim is what a turn says according to a rule. The same topic and value in
// another turn is the same claim, with one more piece of evidence.
type Claim struct {
	Rule    ambry.Rule
	Layer   ambry.Layer
	Project string // "" if it holds everywhere
	Topic   Topic
	Value   string
	Title   string
	Body    string
	Sure    float64 // how likely it is that the turn means so, from 0 to 1
	Need    int     // turns that must say so before it is a memory
	Most    bool    // what most turns say stands, rather than what was said last

	// Ends makes it a claim that is never a memory: it only ends what was said of
	// its topic before. Instead, if not nil, takes the place of that.
	Ends    bool
	Instead *Claim

	// Later has what was said in the project after it learned from again when it
	// is new: that may concern it.
	Later bool
}

func (c *Claim) key() document.Digest { return document.DigestOf("claim", string(c.Topic[:]), c.Value) }

// Learned is what was made of a lesson.
type Learned struct {
	Lesson Lesson
	Claims []Claim
}

// Learn writes what turns claim in place of what was learned from them before. A
// turn that changed since it was read is left for later.
func (s *Store) Learn(ctx context.Context, all []Learned) error {
	cost := 0
	for _, l := range all {
		for _, c := range l.Claims {
			cost += 4 * len(c.Body)
		}
	}
	return s.write(ctx, cost, func(t *tx) error {
		topics := topics{}
		// First all are off the list: what one of them says may put those after it
		// back on it.
		all, err := t.unchanged(all)
		if err != nil {
			return err
		}
		for _, l := range all {
			if err := t.learn(l, topics); err != nil {
				return err
			}
		}
		return t.resolve(topics)
	})
}

// topics are those whose evidence changed.
type topics map[Topic]bool

// unchanged returns those of some turns that still are as they were read, and notes
// that they have been learned from.
func (t *tx) unchanged(all []Learned) ([]Learned, error) {
	var out []Learned
	for _, l := range all {
		var hash []byte
		ok, err := sqlite.Found(t.Row(`SELECT hash FROM turn WHERE id = ?`, l.Lesson.Row).Scan(&hash))
		if err != nil {
			return nil, fmt.Errorf("look for a turn: %w", err)
		}
		if !ok || string(hash) != string(l.Lesson.Hash) {
			continue
		}
		if err := t.exec(`DELETE FROM unlearned WHERE turn = ?`, l.Lesson.Row); err != nil {
			return nil, fmt.Errorf("note that a turn was learned from: %w", err)
		}
		out = append(out, l)
	}
	return out, nil
}

func (t *tx) learn(l Learned, touched topics) error {
	turn := l.Lesson.Row
	old, err := t.claimsOf(turn, touched)
	if err != nil {
		return err
	}
	for nth := range l.Claims {
		claim, err := t.claim(&l.Claims[nth], l.Lesson, touched)
		if err != nil {
			return err
		}
		old = slices.DeleteFunc(old, func(id int64) bool { return id == claim })
		if err := t.support(claim, nth, &l.Claims[nth], l.Lesson); err != nil {
			return err
		}
	}
	for _, claim := range old {
		if err := t.exec(`DELETE FROM evidence WHERE claim = ? AND turn = ?`, claim, turn); err != nil {
			return fmt.Errorf("take evidence back: %w", err)
		}
	}
	return nil
}

// claimsOf returns the claims that a turn is evidence of, and adds their topics.
func (t *tx) claimsOf(turn int64, touched topics) ([]int64, error) {
	type one struct {
		id    int64
		topic []byte
	}
	rows, err := t.rows(`SELECT c.id, c.topic FROM evidence AS e JOIN claim AS c ON c.id = e.claim WHERE e.turn = ?`, turn)
	all, err := sqlite.Collect(rows, err, sqlite.ScanTwo(func(id int64, topic []byte) one { return one{id, topic} }))
	if err != nil {
		return nil, fmt.Errorf("look for what was learned: %w", err)
	}
	ids := make([]int64, len(all))
	for i, c := range all {
		ids[i] = c.id
		touched[Topic(c.topic)] = true
	}
	return ids, nil
}

// maxLater is how many turns are learned from again because of a claim.
const maxLater = 200

// claim returns the row of a claim, and adds it if it is new.
func (t *tx) claim(c *Claim, l Lesson, touched topics) (int64, error) {
	touched[c.Topic] = true
	key := c.key()
	var id int64
	ok, err := sqlite.Found(t.Row(`SELECT id FROM claim WHERE key = ?`, key[:]).Scan(&id))
	if err != nil || ok {
		return id, err
	}
	project, err := t.project(c.Project)
	if err != nil {
		return 0, err
	}
	need, instead := max(c.Need, 1), []byte(nil)
	if c.Ends {
		need = 0
		if c.Instead != nil {
			k := c.Instead.key()
			instead = k[:]
		}
	}
	title, body := c.Title, c.Body
	var one int
	gone, err := sqlite.Found(t.Row(`SELECT 1 FROM tombstone WHERE public = ?`, document.MemoryID(c.Layer, key)).Scan(&one))
	if err != nil {
		return 0, fmt.Errorf("look for a tombstone: %w", err)
	}
	if gone || c.Ends {
		need, title, body = 0, "", ""
	}
	id, err = t.insert(`INSERT INTO claim (key, topic, rule, layer, project, need, most, instead, title, body)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		key[:], c.Topic[:], c.Rule, c.Layer, project, need, c.Most, instead, title, body)
	if err != nil {
		return 0, fmt.Errorf("add a claim: %w", err)
	}
	if c.Later && need > 0 {
		return id, t.requeue(project.Int64, l.At.UnixMilli(), maxLater)
	}
	return id, nil
}

// maxEvidence is how many turns are kept as evidence of one claim: the first and
// the last are always among them.
const maxEvidence = 100

// support adds a turn to the evidence of a claim.
func (t *tx) support(claim int64, nth int, c *Claim, l Lesson) error {
	at := sqlite.Millis(l.At)
	var n, first, last int64
	var has bool
	err := t.Row(`SELECT count(*), coalesce(min(at), 0), coalesce(max(at), 0), coalesce(max(turn = ?), 0) FROM evidence WHERE claim = ?`,
		l.Row, claim).Scan(&n, &first, &last, &has)
	if err != nil {
		return fmt.Errorf("count evidence: %w", err)
	}
	if n >= maxEvidence && !has {
		if at >= first && at <= last {
			return nil
		}
		spare := last
		if at < first {
			spare = first
		}
		err := t.exec(`DELETE FROM evidence WHERE claim = ?1 AND turn = (SELECT turn FROM evidence WHERE claim = ?1 AND at = ?2 LIMIT 1)`, claim, spare)
		if err != nil {
			return fmt.Errorf("replace evidence: %w", err)
		}
	}
	err = t.exec(`INSERT INTO evidence (claim, turn, at, nth, sure, hash) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET at = excluded.at, nth = excluded.nth, sure = excluded.sure, hash = excluded.hash`,
		claim, l.Row, at, nth, c.Sure, l.Hash)
	if err != nil {
		return fmt.Errorf("add evidence: %w", err)
	}
	// The words are those of the first turn that says so.
	err = t.exec(`UPDATE claim SET title = ?1, body = ?2 WHERE id = ?3 AND need > 0 AND (title = '' OR ?4 <= ?5)`,
		c.Title, c.Body, claim, at, cmp.Or(first, at))
	if err != nil {
		return fmt.Errorf("word a claim: %w", err)
	}
	return nil
}

// revoke takes back what was learned from a turn that goes.
func (t *tx) revoke(turn int64) error {
	touched := topics{}
	if _, err := t.claimsOf(turn, touched); err != nil {
		return err
	}
	if len(touched) > 0 {
		t.queued = true
	}
	for _, q := range []string{
		// Its words are those of a claim that others make too: they say it anew.
		`INSERT OR IGNORE INTO unlearned SELECT o.turn FROM evidence AS e JOIN evidence AS o ON o.claim = e.claim AND o.turn <> e.turn WHERE e.turn = ?1
			AND e.at = (SELECT min(at) FROM evidence WHERE claim = e.claim)`,
		`UPDATE claim SET title = '', body = '' WHERE id IN (SELECT e.claim FROM evidence AS e WHERE e.turn = ?1
			AND e.at = (SELECT min(at) FROM evidence WHERE claim = e.claim))`,
		`DELETE FROM evidence WHERE turn = ?1`,
		`DELETE FROM unlearned WHERE turn = ?1`,
	} {
		if err := t.exec(q, turn); err != nil {
			return fmt.Errorf("revoke what was learned: %w", err)
		}
	}
	return t.resolve(touched)
}

// unsay keeps a claim whose memory is forgotten from being one again. What it
// ended stays ended.
func (t *tx) unsay(m tables.Memory) error {
	if m.Cell.Rule == "" {
		return nil
	}
	err := t.exec(`UPDATE claim SET memory = NULL, need = 0, title = '', body = '' WHERE memory = ?`, m.ID)
	if err != nil {
		return fmt.Errorf("forget a claim: %w", err)
	}
	return nil
}

// rows runs a query of the writer.
func (t *tx) rows(query string, args ...any) (*sql.Rows, error) {
	s, err := t.w.statement(query)
	if err != nil {
		return nil, err
	}
	return s.Query(args...)
}

// OpenClaim is a claim that stands.
type OpenClaim struct {
	Topic Topic
	Body  string
	Since int64 // Unix milliseconds
}

// OpenClaims returns the claims of a rule that stand in a project, newest first.
func (s *Store) OpenClaims(ctx context.Context, rule ambry.Rule, project string, limit int) ([]OpenClaim, error) {
	var out []OpenClaim
	err := s.readers.Read(ctx, func(r sqlite.Reader) error {
		rows, err := r.Rows(`SELECT topic, body, valid_from FROM claim INDEXED BY claim_open
			WHERE rule = ? AND project IS (SELECT id FROM project WHERE path = ?) AND memory IS NOT NULL AND valid_to = 0
			ORDER BY valid_from DESC, key LIMIT ?`, rule, project, limit)
		out, err = sqlite.Collect(rows, err, func(rows *sql.Rows) (o OpenClaim, err error) {
			var topic []byte
			err = rows.Scan(&topic, &o.Body, &o.Since)
			copy(o.Topic[:], topic)
			return o, err
		})
		if err != nil {
			return fmt.Errorf("look for open claims: %w", err)
		}
		return nil
	})
	return out, err
}
