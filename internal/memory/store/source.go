package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/tables"
)

// Source returns where a memory came from, or [ambry.NotFound]: its turn, or for
// what was learned the first turn that says so.
func (s *Store) Source(ctx context.Context, id string) (ambry.Provenance, error) {
	d, err := s.Get(ctx, id)
	if err != nil {
		return ambry.Provenance{}, err
	}
	p := ambry.Provenance{MemoryID: d.ID, Source: d.Source, Turn: d.Turn}
	if d.Session != nil {
		p.Session = *d.Session
	}
	if d.Learned == nil {
		return p, nil
	}
	p.Evidence = d.Learned.Evidence
	var packed []byte
	var part int
	err = s.readers.Reader(ctx).Row(`SELECT t.body, t.part FROM memory AS m JOIN turn AS t ON t.id = m.origin WHERE m.public = ?`, id).Scan(&packed, &part)
	ok, err := sqlite.Found(err)
	switch {
	case err != nil:
		return ambry.Provenance{}, s.readers.Kind(ctx, fmt.Errorf("read a turn: %w", err))
	case !ok:
		return ambry.Provenance{}, tables.NotFound(id) // it was forgotten right now
	}
	b, err := s.unpacker.Unpack(packed)
	if err != nil {
		return ambry.Provenance{}, err
	}
	turn := b.Turn(d.TurnID, part, d.Source)
	p.Turn = &turn
	return p, nil
}

// maxShownEvidence is how many turns are shown of the evidence.
const maxShownEvidence = 20

// learned returns how a memory was learned, nil if it was not.
func learned(r sqlite.Reader, m ambry.Memory) (*ambry.Learned, error) {
	if m.Rule == "" {
		return nil, nil
	}
	l := &ambry.Learned{Rule: m.Rule}
	var claim, from, to int64
	err := r.Row(`SELECT c.id, c.confidence, c.valid_from, c.valid_to, coalesce(sm.public, ''), (SELECT count(*) FROM evidence AS e WHERE e.claim = c.id)
		FROM memory AS m JOIN claim AS c ON c.memory = m.id LEFT JOIN claim AS sc ON sc.key = c.successor LEFT JOIN memory AS sm ON sm.id = sc.memory
		WHERE m.public = ?`, m.ID).Scan(&claim, &l.Confidence, &from, &to, &l.SupersededBy, &l.EvidenceCount)
	if ok, err := sqlite.Found(err); err != nil || !ok { // it was restored without its claim
		return nil, sqlite.Wrapf(err, "read how a memory was learned")
	}
	l.ValidFrom, l.ValidTo = sqlite.Time(from), sqlite.Time(to)
	rows, err := r.Rows(`SELECT coalesce(m.public, ''), t.external, s.external, a.name, e.at, e.hash, e.hash = t.hash,
			coalesce(f.path, ''), t.line, t.start, t.stop, t.row
		FROM evidence AS e JOIN turn AS t ON t.id = e.turn JOIN session AS s ON s.id = t.session JOIN agent AS a ON a.id = s.agent
			LEFT JOIN memory AS m ON m.turn = t.id LEFT JOIN source AS f ON f.id = t.source
		WHERE e.claim = ? ORDER BY e.at, e.turn LIMIT ?`, claim, maxShownEvidence)
	l.Evidence, err = sqlite.Collect(rows, err, func(rows *sql.Rows) (ambry.Evidence, error) {
		var e ambry.Evidence
		var at int64
		var hash []byte
		err := rows.Scan(&e.MemoryID, &e.TurnID, &e.SessionID, &e.Agent, &at, &hash, &e.Current,
			&e.Source.Path, &e.Source.Line, &e.Source.Offset, &e.Source.End, &e.Source.Row)
		e.At, e.Digest = sqlite.Time(at), hex.EncodeToString(hash)
		return e, err
	})
	if err != nil {
		return nil, fmt.Errorf("read evidence: %w", err)
	}
	return l, nil
}
