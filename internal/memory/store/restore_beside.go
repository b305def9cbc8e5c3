package store

import (
	"database/sql"
	"fmt"

	"ambry.dev/ambry/internal/memory/dump"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/tables"
)

// What is restored beside sessions, turns and memories.

func (r *restorer) liveSession(rec *dump.LiveSession) error {
	s, err := r.holder(rec.Session.Agent, rec.Session.ID)
	if err != nil {
		return err
	}
	return r.addOnce(`INSERT INTO live_session (session, key, opened_at, closed_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		s.ID, rec.Key, sqlite.Millis(rec.OpenedAt), sqlite.Millis(rec.ClosedAt))
}

func (r *restorer) liveTurn(rec *dump.LiveTurn) error {
	s, err := r.holder(rec.Session.Agent, rec.Session.ID)
	if err != nil {
		return err
	}
	var turn sql.NullInt64
	if rec.Turn != nil {
		id, _, err := r.turnOf(rec.Turn)
		if err != nil {
			return err
		}
		turn = tables.Null(id)
	}
	state := rec.State
	if (state == turnTold || state == turnRead) && !turn.Valid {
		state = turnForgotten // here
	}
	return r.addOnce(`INSERT INTO live_turn (session, external, state, turn, query, started_at, asked, said) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		s.ID, rec.ID, state, turn, rec.Query, sqlite.Millis(rec.StartedAt), digestOrNull(rec.Asked), digestOrNull(rec.Said))
}

func digestOrNull(h dump.Hex) any {
	if len(h) == 0 {
		return nil
	}
	return []byte(h)
}

// tombstone forgets here what was forgotten there, if the policy lets it.
func (r *restorer) tombstone(rec *dump.Tombstone) error {
	if _, err := r.memory(rec.ID); err == nil {
		if !r.decide(isOther, true) {
			return nil
		}
		_, err := r.forget(rec.ID)
		return err
	}
	return r.addOnce(`INSERT INTO tombstone (memory, public, turn, print, forgotten_at)
		VALUES ((SELECT min(0, coalesce(min(memory), 0)) - 1 FROM tombstone), ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		rec.ID, digestOrNull(rec.Turn), digestOrNull(rec.Print), sqlite.Millis(rec.ForgottenAt))
}

func (r *restorer) call(rec *dump.Call) error {
	var one int
	ok, err := sqlite.Found(r.Row(`SELECT 1 FROM recall_log WHERE public = ?`, rec.ID).Scan(&one))
	if err != nil {
		return fmt.Errorf("look for a call: %w", err)
	}
	if ok {
		r.decide(isSame, false)
		return nil
	}
	agent, err := r.agent(rec.Agent)
	if err != nil {
		return err
	}
	bytes := int64(rowBytes + len(rec.Input) + len(rec.Output))
	err = r.exec(`INSERT INTO recall_log (public, tool, agent, session, turn, at, took, failed, input, output, bytes)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, rec.ID, rec.Tool, agent, rec.Session, rec.Turn, sqlite.Millis(rec.At), rec.Took, rec.Failed,
		string(rec.Input), string(rec.Output), bytes)
	if err != nil {
		return fmt.Errorf("restore a call: %w", err)
	}
	r.decide(isNew, false)
	return r.tallyCalls(rec.Tool, agent, 1, bytes)
}
