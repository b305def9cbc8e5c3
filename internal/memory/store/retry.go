package store

import (
	"context"
	"fmt"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/tables"
)

// RetryProcessing notes that a trace is to be learned from again. Other memories
// have nothing that could be done anew; then it is not accepted.
func (s *Store) RetryProcessing(ctx context.Context, id string) (ambry.Retried, error) {
	var out ambry.Retried
	err := s.write(ctx, 1<<10, func(t *tx) error {
		m, err := t.memory(id)
		if err != nil {
			return err
		}
		var updated int64
		if err := t.Row(`SELECT updated_at FROM memory WHERE id = ?`, m.ID).Scan(&updated); err != nil {
			return fmt.Errorf("read a memory: %w", err)
		}
		out = ambry.Retried{
			Processing: ambry.ProcessingRecord{MemoryID: m.Public, State: ambry.TextReady, RetryAction: "none", UpdatedAt: sqlite.Time(updated)},
			ServerTime: sqlite.Time(t.now),
		}
		if m.Turn == 0 {
			return nil
		}
		out.Accepted = true
		out.Job = &ambry.Job{ID: "job_learn_" + m.Public, Type: "learn", Status: "queued", MemoryID: m.Public}
		return t.unlearned(m.Turn)
	})
	if err != nil {
		return ambry.Retried{}, err
	}
	return out, nil
}

// ForgetTask deletes all memories of a session, by the id of its episode, and
// the turns that they are of.
func (s *Store) ForgetTask(ctx context.Context, id, key string) (ambry.ForgottenTask, error) {
	print, err := fingerprint("forget task", id, nil)
	if err != nil {
		return ambry.ForgottenTask{}, err
	}
	var out ambry.ForgottenTask
	err = s.write(ctx, groupBytes, func(t *tx) error {
		out = ambry.ForgottenTask{}
		return t.once(key, print, id, &out, func() (err error) {
			out, err = t.forgetTask(id)
			return err
		})
	})
	if err != nil {
		return ambry.ForgottenTask{}, err
	}
	return out, nil
}

func (t *tx) forgetTask(id string) (ambry.ForgottenTask, error) {
	session, err := t.sessionOfEpisode(id)
	if err != nil {
		return ambry.ForgottenTask{}, err
	}
	out := ambry.ForgottenTask{OK: true, ID: id, MemoryIDs: []string{}, ServerTime: sqlite.Time(t.now)}
	publics, err := t.strings(`SELECT public FROM memory WHERE session = ? AND rule = '' ORDER BY id`, session)
	if err != nil {
		return ambry.ForgottenTask{}, err
	}
	for _, public := range publics {
		if _, err := t.forget(public); err != nil {
			return ambry.ForgottenTask{}, err
		}
		out.MemoryIDs = append(out.MemoryIDs, public)
	}
	left, err := t.ids(`SELECT id FROM turn WHERE session = ?`, session) // without a memory
	if err != nil {
		return ambry.ForgottenTask{}, err
	}
	for _, turn := range left {
		if err := t.forgetTurn(turn); err != nil {
			return ambry.ForgottenTask{}, err
		}
	}
	return out, t.oweScrub(scrubQuick)
}

const latestSessions = `SELECT s.id, a.name, s.external FROM session AS s CROSS JOIN agent AS a ON a.id = s.agent
	WHERE s.turns > 0 ORDER BY s.ended_at DESC, s.id DESC`

// sessionOfEpisode finds the session that an episode is of. Their ids are made of
// those of sessions and stand nowhere, so the listed sessions are gone through,
// the latest first, as they are shown: one of the first page is found at once.
func (t *tx) sessionOfEpisode(id string) (int64, error) {
	rows, err := t.rows(latestSessions)
	if err != nil {
		return 0, fmt.Errorf("look for a task: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var s tables.Session
		if err := rows.Scan(&s.ID, &s.Agent, &s.External); err != nil {
			return 0, fmt.Errorf("look for a task: %w", err)
		}
		if tables.EpisodeID(s) == id {
			return s.ID, nil
		}
	}
	if err := rows.Err(); err != nil {
		return 0, fmt.Errorf("look for a task: %w", err)
	}
	return 0, ambry.NotFound.Errorf("there is no task %q", document.Head(id, 64))
}
