package store

import (
	"database/sql"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/dump"
	"ambry.dev/ambry/internal/memory/sqlite"
)

var errNoClaim = ambry.InvalidArgument.Errorf("a claim of the export has no key or no topic")

// restoreClaim restores what was learned, as far as its turns are here. Which claim of
// its topic stands is decided when all records of a batch are there.
func (r *restorer) restoreClaim(rec *dump.Claim) error {
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
		dump.Evidence
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

func (r *restorer) insertClaim(rec *dump.Claim) (int64, error) {
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
