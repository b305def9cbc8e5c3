package store

import (
	"context"
	"database/sql"
	"fmt"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/tables"
)

// Get returns a memory with its whole text, or [ambry.NotFound].
func (s *Store) Get(ctx context.Context, id string) (ambry.Detail, error) {
	var d ambry.Detail
	err := s.readers.Snapshot(ctx, func(r sqlite.Reader) error {
		var note tables.Noted
		var packed []byte
		var part int
		var sessionID sql.NullInt64
		m, err := tables.ScanPublic(r.Row(`SELECT `+tables.PublicColumns+`, m.body, m.sum, `+tables.TracedBody+`, coalesce(t.part, 0), m.session
			FROM `+tables.PublicTables+` WHERE m.public = ?`, id), &note.Body, &note.Sum, &packed, &part, &sessionID)
		ok, err := sqlite.Found(err)
		switch {
		case err != nil:
			return fmt.Errorf("read a memory: %w", err)
		case !ok:
			return tables.NotFound(id)
		}
		d = ambry.Detail{Memory: m}
		if d.Body, err = note.Text(); err != nil {
			return err
		}
		if sessionID.Valid {
			row, err := tables.SessionByID(r, sessionID.Int64)
			if err != nil {
				return err
			}
			public := row.Public()
			d.Session = &public
		}
		switch {
		case packed == nil && !note.Body.Valid:
			return errTurnLost
		case packed == nil:
			d.Learned, err = learned(r, m)
			return err
		}
		b, err := s.unpacker.Unpack(packed)
		if err != nil {
			return err
		}
		turn := b.Turn(m.TurnID, part, m.Source)
		d.Turn, d.Body = &turn, document.Transcript(turn)
		return nil
	})
	if err != nil {
		return ambry.Detail{}, err
	}
	return d, nil
}

// errTurnLost is the error of a memory that is the trace of a turn which is not
// there: rows of a damaged page are just absent.
var errTurnLost = ambry.MemoryUnavailable.Errorf(`the memory file is damaged: a turn is missing; see "ambry doctor"`)
