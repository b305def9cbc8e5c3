package report

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/tables"
)

// maxTaskTurns is how many turns of a task are shown.
const maxTaskTurns = 10

// Tasks returns a page of tasks, newest first. The text of q is not looked at;
// see [Reports.TasksOf].
func (s *Reports) Tasks(ctx context.Context, q ambry.TasksQuery) (ambry.Tasks, error) {
	return s.tasks(ctx, q.Page, conditions{}, `SELECT sessions FROM total`)
}

// TasksOf is like [Reports.Tasks], but only of those with one of the given rows.
func (s *Reports) TasksOf(ctx context.Context, rows []int64, q ambry.TasksQuery) (ambry.Tasks, error) {
	ids, err := json.Marshal(rows)
	if err != nil {
		return ambry.Tasks{}, fmt.Errorf("list tasks: %w", err)
	}
	var c conditions
	c.add(`s.id IN (SELECT session FROM memory WHERE id IN (SELECT value FROM json_each(?)))`, string(ids))
	return s.tasks(ctx, q.Page, c, `SELECT count(*) FROM session AS s WHERE s.turns > 0 AND `+c.texts[0])
}

// tasks reads the page of the sessions that c selects, of which count gives the
// number.
func (s *Reports) tasks(ctx context.Context, page int, c conditions, count string) (ambry.Tasks, error) {
	out := ambry.Tasks{Tasks: []ambry.Task{}}
	err := s.Readers.Snapshot(ctx, func(r sqlite.Reader) error {
		var total int64
		if err := r.Row(count, c.args...).Scan(&total); err != nil {
			return fmt.Errorf("count tasks: %w", err)
		}
		var offset int64
		if out.Page, offset = s.page(page, total); offset >= total {
			return nil
		}
		c.add("s.turns > 0")
		rows, err := r.Rows(`SELECT `+summaryColumns+`, l.session IS NOT NULL AND l.closed_at = 0 FROM `+tables.SessionTables+`
				LEFT JOIN live_session AS l ON l.session = s.id
			WHERE s.id IN (SELECT s.id FROM session AS s`+c.where()+` ORDER BY s.ended_at DESC, s.id DESC LIMIT ? OFFSET ?)
			ORDER BY s.ended_at DESC, s.id DESC`, append(c.args, PageSize, offset)...)
		found, err := sqlite.Collect(rows, err, scanTask)
		if err != nil {
			return fmt.Errorf("list tasks: %w", err)
		}
		for _, f := range found {
			if err := taskTurns(r, f.session, &f.Task); err != nil {
				return err
			}
			out.Tasks = append(out.Tasks, f.Task)
		}
		return nil
	})
	if err != nil {
		return ambry.Tasks{}, err
	}
	return out, nil
}

// task is a task with the row of its session.
type task struct {
	ambry.Task
	session int64
}

func scanTask(rows *sql.Rows) (task, error) {
	var s tables.Session
	var c document.Counts
	var title string
	var open bool
	err := rows.Scan(append(s.Fields(), &c.Turns, &c.Messages, &c.Calls, &c.Input, &c.Cached, &c.Output, &title, &open)...)
	if s.Title != "" {
		title = s.Title
	}
	id := tables.EpisodeID(s)
	status := ambry.SessionIsClosed
	if open {
		status = ambry.SessionIsOpen
	}
	return task{session: s.ID, Task: ambry.Task{
		ID: id, MemoryIDs: []string{}, Turns: []ambry.TaskTurn{}, TurnCount: c.Turns, UpdatedAt: sqlite.Time(s.Ended),
		Episode: ambry.Episode{
			ID: id, SessionID: s.External, Source: s.Agent, Project: s.Project, Status: status, Title: title, StartedAt: sqlite.Time(s.Started),
		},
	}}, err
}

// taskTurns adds the last turns of a session to its task.
func taskTurns(r sqlite.Reader, session int64, t *ambry.Task) error {
	rows, err := r.Rows(`SELECT t.key, t.external, m.public, m.title, m.summary, m.created_at
		FROM turn AS t JOIN memory AS m ON m.turn = t.id WHERE t.session = ?
		ORDER BY t.at DESC, t.start DESC, t.id DESC LIMIT ?`, session, maxTaskTurns)
	t.Turns, err = sqlite.Collect(rows, err, func(rows *sql.Rows) (ambry.TaskTurn, error) {
		turn := ambry.TaskTurn{EpisodeID: t.ID}
		var key []byte
		var at int64
		err := rows.Scan(&key, &turn.TurnID, &turn.MemoryID, &turn.UserText, &turn.AssistantText, &at)
		turn.RawTurnID, turn.CreatedAt = document.RawTurnID(key), sqlite.Time(at)
		return turn, err
	})
	if err != nil {
		return fmt.Errorf("list the turns of a task: %w", err)
	}
	slices.Reverse(t.Turns)
	for _, turn := range t.Turns {
		t.MemoryIDs = append(t.MemoryIDs, turn.MemoryID)
	}
	return nil
}

// Processing says how far memories are made ready, in the order of ids.
func (s *Reports) Processing(ctx context.Context, ids []string) (ambry.Processing, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return ambry.Processing{}, fmt.Errorf("look up memories: %w", err)
	}
	out := ambry.Processing{ServerTime: s.Now().UTC()}
	err = s.Readers.Read(ctx, func(r sqlite.Reader) error {
		rows, err := r.Rows(`SELECT m.public, m.updated_at FROM json_each(?) AS j CROSS JOIN memory AS m ON m.public = j.value ORDER BY j.key`, string(list))
		out.Items, err = sqlite.Collect(rows, err, sqlite.ScanTwo(func(id string, at int64) ambry.ProcessingRecord {
			return ambry.ProcessingRecord{MemoryID: id, State: ambry.TextReady, RetryAction: "none", UpdatedAt: sqlite.Time(at)}
		}))
		if err != nil {
			return fmt.Errorf("look up memories: %w", err)
		}
		return nil
	})
	return out, err
}

// neighbours is how many turns before and after a memory are its neighbours.
const neighbours = 3

// Neighbours returns the memories of the turns right before and after a memory
// in its session, in order.
func (s *Reports) Neighbours(ctx context.Context, id string) ([]ambry.Memory, error) {
	var out []ambry.Memory
	err := s.Readers.Snapshot(ctx, func(r sqlite.Reader) error {
		var session, at, start, turn int64
		err := r.Row(`SELECT coalesce(m.session, 0), coalesce(t.at, m.created_at), coalesce(t.start, 0), coalesce(t.id, 0)
			FROM memory AS m LEFT JOIN turn AS t ON t.id = m.turn WHERE m.public = ?`, id).Scan(&session, &at, &start, &turn)
		ok, err := sqlite.Found(err)
		switch {
		case err != nil:
			return fmt.Errorf("read a memory: %w", err)
		case !ok:
			return tables.NotFound(id)
		}
		side := func(compare, order string) ([]ambry.Memory, error) {
			rows, err := r.Rows(`SELECT `+tables.PublicColumns+` FROM (SELECT x.id FROM turn AS x
					WHERE x.session = ? AND (x.at, x.start, x.id) `+compare+` (?, ?, ?)
					ORDER BY x.at `+order+`, x.start `+order+`, x.id `+order+` LIMIT ?) AS near
				JOIN turn AS t ON t.id = near.id JOIN memory AS m ON m.turn = t.id JOIN agent AS a ON a.id = m.agent
				LEFT JOIN project AS p ON p.id = m.project LEFT JOIN session AS s ON s.id = m.session
				LEFT JOIN source AS f ON f.id = t.source ORDER BY t.at, t.start, t.id`, session, at, start, turn, neighbours)
			return sqlite.Collect(rows, err, func(rows *sql.Rows) (ambry.Memory, error) { return tables.ScanPublic(rows) })
		}
		before, err := side("<", "DESC")
		if err != nil {
			return fmt.Errorf("look for neighbours: %w", err)
		}
		after, err := side(">", "ASC")
		if err != nil {
			return fmt.Errorf("look for neighbours: %w", err)
		}
		out = slices.Concat(before, after)
		return nil
	})
	return out, err
}
