package store

import (
	"database/sql"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/sqlite"
)

var errNoClaim = ambry.InvalidArgument.Errorf("a claim of the export has no key or no topic")

// dumpClaims writes what was learned, with its evidence. Claims of one topic
// stand together.
func (d *dumper) dumpClaims() error {
	return d.each(`SELECT c.id, c.key, c.topic, c.rule, c.layer, coalesce(p.path, ''), c.need, c.most, c.instead, c.title, c.body
		FROM claim AS c LEFT JOIN project AS p ON p.id = c.project ORDER BY c.topic, c.key`, func(rows *sql.Rows) error {
		var id int64
		var c RecordClaim
		err := rows.Scan(&id, (*[]byte)(&c.Key), (*[]byte)(&c.Topic), &c.Rule, &c.Layer, &c.Project, &c.Need, &c.Most, (*[]byte)(&c.Instead), &c.Title, &c.Body)
		if err != nil {
			return err
		}
		of, err := d.tx.QueryContext(d.ctx, `SELECT t.external, t.part, t.session, e.at, e.nth, e.sure, e.hash
			FROM evidence AS e JOIN turn AS t ON t.id = e.turn WHERE e.claim = ? ORDER BY e.at, t.key`, id)
		c.Evidence, err = sqlite.Collect(of, err, func(rows *sql.Rows) (e RecordEvidence, err error) {
			var owner, at int64
			err = rows.Scan(&e.ID, &e.Part, &owner, &at, &e.Nth, &e.Sure, (*[]byte)(&e.Hash))
			e.Agent, e.At = d.sessions[owner].Agent, sqlite.Time(at)
			return e, err
		})
		if err != nil {
			return err
		}
		return d.json.Encode(Record{Claim: &c})
	})
}

// restoreClaim restores what was learned, as far as its turns are here. Which claim of
// its topic stands is decided when all records of a batch are there.
func (r *restorer) restoreClaim(rec *RecordClaim) error {
	if len(rec.Key) != len(document.Digest{}) || len(rec.Topic) != len(Topic{}) {
		return errNoClaim
	}
	var id int64
	there, err := sqlite.Found(r.Row(`SELECT id FROM claim WHERE key = ?`, []byte(rec.Key)).Scan(&id))
	if err != nil {
		return sqlite.Wrapf(err, "look for a claim")
	}
	type piece struct {
		turn int64
		RecordEvidence
	}
	var pieces []piece
	for _, e := range rec.Evidence {
		turn, _, err := r.turnOf(&e.Named)
		if err != nil {
			return err
		}
		if turn != 0 {
			pieces = append(pieces, piece{turn, e})
		}
	}
	f := isNew
	switch {
	case there:
		f = isSame
	case len(pieces) == 0:
		f = wasForgotten
	}
	if r.decide(f, false) {
		if id, err = r.insertClaim(rec); err != nil {
			return err
		}
	}
	for _, e := range pieces {
		err := r.exec(`INSERT INTO evidence (claim, turn, at, nth, sure, hash) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			id, e.turn, sqlite.Millis(e.At), e.Nth, e.Sure, []byte(e.Hash))
		if err != nil {
			return sqlite.Wrapf(err, "restore evidence")
		}
	}
	r.topics[Topic(rec.Topic)] = true
	return nil
}

func (r *restorer) insertClaim(rec *RecordClaim) (int64, error) {
	project, err := r.project(rec.Project)
	if err != nil {
		return 0, err
	}
	// The memory that it is was restored before, unless it was forgotten here.
	public := document.MemoryID(ambry.Layer(rec.Layer), document.Digest(rec.Key))
	var memory sql.NullInt64
	if _, err := sqlite.Found(r.Row(`SELECT id FROM memory WHERE public = ? AND rule <> ''`, public).Scan(&memory)); err != nil {
		return 0, sqlite.Wrapf(err, "look for a memory")
	}
	var one int
	gone, err := sqlite.Found(r.Row(`SELECT 1 FROM tombstone WHERE public = ?`, public).Scan(&one))
	if err != nil {
		return 0, sqlite.Wrapf(err, "look for a tombstone")
	}
	need, title, body := rec.Need, rec.Title, rec.Body
	if gone {
		need, title, body = 0, "", ""
	}
	id, err := r.insert(`INSERT INTO claim (key, topic, rule, layer, project, need, most, instead, title, body, memory)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, []byte(rec.Key), []byte(rec.Topic), rec.Rule, rec.Layer, project, need, rec.Most,
		digestOrNull(rec.Instead), title, body, memory)
	return id, sqlite.Wrapf(err, "restore a claim")
}
