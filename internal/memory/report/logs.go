package report

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/sqlite"
)

// The sizes of a part of the log.
const (
	defaultLogs = 50
	maxLogs     = 500
)

// Logs returns calls, newest first. What was recorded before is in it.
func (s *Reports) Logs(ctx context.Context, q ambry.LogsQuery) (ambry.Logs, error) {
	if err := s.Flush(ctx); err != nil {
		return ambry.Logs{}, err
	}
	out := ambry.Logs{
		Limit: min(cmp.Or(max(q.Limit, 0), defaultLogs), maxLogs), Offset: max(q.Offset, 0),
		Dropped: s.Dropped(), ServerTime: s.Now().UTC(),
	}
	counted, err := filterCalls("", q)
	if err != nil {
		return ambry.Logs{}, err
	}
	listed, err := filterCalls("l.", q)
	if err != nil {
		return ambry.Logs{}, err
	}
	err = s.Readers.Snapshot(ctx, func(r sqlite.Reader) error {
		if err := r.Row(`SELECT coalesce(sum(n), 0) FROM recall_tally`+counted.where(), counted.args...).Scan(&out.Total); err != nil {
			return fmt.Errorf("count calls: %w", err)
		}
		rows, err := r.Rows(`SELECT l.public, l.tool, a.name, l.session, l.turn, l.input, l.output, l.took, l.failed, l.at
			FROM recall_log AS l JOIN agent AS a ON a.id = l.agent`+listed.where()+` ORDER BY l.id DESC LIMIT ? OFFSET ?`,
			append(listed.args, out.Limit, out.Offset)...)
		if out.Logs, err = sqlite.Collect(rows, err, scanCall); err != nil {
			return fmt.Errorf("list calls: %w", err)
		}
		return judged(r, out.Logs)
	})
	if err != nil {
		return ambry.Logs{}, err
	}
	if next := out.Offset + len(out.Logs); int64(next) < out.Total && len(out.Logs) > 0 {
		out.NextOffset = &next
	}
	return out, nil
}

// filterCalls limits rows of recall_log, or cells of recall_tally, which share
// the columns.
func filterCalls(prefix string, q ambry.LogsQuery) (conditions, error) {
	var c conditions
	if len(q.Tools) == 1 {
		c.add(prefix+"tool = ?", q.Tools[0])
	}
	if len(q.Tools) > 1 {
		tools, err := json.Marshal(q.Tools)
		if err != nil {
			return c, fmt.Errorf("filter calls: %w", err)
		}
		c.add(prefix+"tool IN (SELECT value FROM json_each(?))", string(tools))
	}
	if q.Agent != "" {
		c.add(prefix+"agent = (SELECT id FROM agent WHERE name = ?)", q.Agent)
	}
	for _, name := range q.Exclude {
		c.add(prefix+"agent IS NOT (SELECT id FROM agent WHERE name = ?)", name)
	}
	return c, nil
}

func scanCall(rows *sql.Rows) (c ambry.LoggedCall, err error) {
	var took, at int64
	var failed bool
	err = rows.Scan(&c.ID, &c.Tool, &c.Agent, &c.SessionID, &c.TurnID, &c.Input, &c.Output, &took, &failed, &at)
	c.DurationMs, c.Success, c.CalledAt = float64(took)/1000, !failed, sqlite.Time(at)
	return c, err
}

// judged adds to searches what became of the memories that they returned.
func judged(r sqlite.Reader, calls []ambry.LoggedCall) error {
	at := make(map[string]*ambry.LoggedCall, len(calls))
	ids := make([]string, len(calls))
	for i := range calls {
		at[calls[i].ID], ids[i] = &calls[i], calls[i].ID
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return fmt.Errorf("look for feedback: %w", err)
	}
	type use struct {
		search string
		ambry.LoggedUse
	}
	rows, err := r.Rows(`SELECT f.search, m.public, f.verdict, f.note, f.at FROM json_each(?) AS j
		CROSS JOIN feedback AS f INDEXED BY feedback_by_search ON f.search = j.value AND f.search <> ''
		JOIN memory AS m ON m.id = f.memory ORDER BY f.at, m.id`, string(list))
	uses, err := sqlite.Collect(rows, err, func(rows *sql.Rows) (u use, err error) {
		var at int64
		err = rows.Scan(&u.search, &u.ID, &u.Verdict, &u.Note, &at)
		u.At = sqlite.Time(at)
		return u, err
	})
	if err != nil {
		return fmt.Errorf("look for feedback: %w", err)
	}
	for _, u := range uses {
		c := at[u.search]
		c.Feedback = append(c.Feedback, u.LoggedUse)
	}
	return nil
}

// Given is a memory that was put into the context of a session.
type Given struct {
	ambry.LoggedHit
	Turn string // of the session, "" for a search outside any
}

// maxGiven is how many calls of a session are looked at.
const maxGiven = 200

// Given returns what the last searches of a session put into its context, as far
// as that was logged and written.
func (s *Reports) Given(ctx context.Context, session string) ([]Given, error) {
	type call struct {
		turn, output string
	}
	var out []Given
	err := s.Readers.Read(ctx, func(r sqlite.Reader) error {
		rows, err := r.Rows(`SELECT turn, output FROM recall_log WHERE session = ? AND session <> '' AND failed = 0
			ORDER BY id DESC LIMIT ?`, session, maxGiven)
		calls, err := sqlite.Collect(rows, err, sqlite.ScanTwo(func(turn, output string) call { return call{turn, output} }))
		if err != nil {
			return fmt.Errorf("read the calls of a session: %w", err)
		}
		for _, c := range calls {
			var answer ambry.LoggedAnswer
			if err := json.Unmarshal([]byte(c.output), &answer); err != nil {
				return fmt.Errorf("read the answer of a call: %w", err)
			}
			for _, h := range answer.Hits {
				if h.Injected {
					out = append(out, Given{LoggedHit: h, Turn: c.turn})
				}
			}
		}
		return nil
	})
	return out, err
}
