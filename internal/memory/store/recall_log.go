package store

import (
	"encoding/json"
	"fmt"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/tables"
)

// The bounds of the log and of its counters.
const (
	logLife     = 90 * 24 * time.Hour
	maxLogBytes = 32 << 20
	maxInputLog = 4 << 10 // bytes of a call's input; a longer one is told by its length alone
	rowBytes    = 120     // of a row without its texts, roughly
	pruneRows   = 2 * maxJournaled
)

// callRow is a call ready for the disk.
type callRow struct {
	Call
	input, output []byte
	bytes         int64
}

func (c Call) row() (callRow, error) {
	input, err := json.Marshal(c.Input)
	if err != nil {
		return callRow{}, fmt.Errorf("log a call: %w", err)
	}
	if len(input) > maxInputLog {
		input = fmt.Appendf(nil, `{"omittedBytes":%d}`, len(input))
	}
	output, err := json.Marshal(c.Output)
	if err != nil {
		return callRow{}, fmt.Errorf("log a call: %w", err)
	}
	return callRow{Call: c, input: input, output: output, bytes: int64(rowBytes + len(input) + len(output))}, nil
}

// record writes a call, and counts it.
func (t *tx) record(c callRow) error {
	agent, err := t.agent(c.Agent)
	if err != nil {
		return err
	}
	at, took := sqlite.Millis(c.At), c.Took.Microseconds()
	err = t.exec(`INSERT INTO recall_log (public, tool, agent, session, turn, at, took, failed, input, output, bytes)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		c.ID, c.Tool, agent, c.Session, c.Turn, at, took, c.Output.Error != "", string(c.input), string(c.output), c.bytes)
	if err != nil {
		return fmt.Errorf("log a call: %w", err)
	}
	if err := t.tallyCalls(c.Tool, agent, 1, c.bytes); err != nil {
		return err
	}
	err = t.exec(`INSERT INTO recall_time (day, tool, bucket, n, took) VALUES (?, ?, ?, 1, ?)
		ON CONFLICT DO UPDATE SET n = n + 1, took = took + excluded.took`, tables.DayOf(at), c.Tool, tables.BucketOf(took), took)
	if err != nil {
		return fmt.Errorf("count a call: %w", err)
	}
	if !c.searched() {
		return nil
	}
	best, found := 0.0, 0
	if hits := c.Output.Hits; len(hits) > 0 {
		best, found = hits[0].Score, 1
	}
	err = t.exec(`INSERT INTO recall_day (day, n, hits, score) VALUES (?, 1, ?, ?)
		ON CONFLICT DO UPDATE SET n = n + 1, hits = hits + excluded.hits, score = score + excluded.score`, tables.DayOf(at), found, best)
	return sqlite.Wrapf(err, "count a search")
}

// searched reports whether a call was answered with what was found.
func (c Call) searched() bool {
	return (c.Tool == ambry.ToolSearch || c.Tool == ambry.ToolTurnStart) && c.Output.Error == ""
}

// countUses counts the memories that calls put into a context. There are ten for a
// call, so all are written by one statement.
func (t *tx) countUses(calls []callRow) error {
	var uses [][2]any
	for _, c := range calls {
		if !c.searched() {
			continue
		}
		for _, h := range c.Output.Hits {
			if h.Injected {
				uses = append(uses, [2]any{h.ID, sqlite.Millis(c.At)})
			}
		}
	}
	if len(uses) == 0 {
		return nil
	}
	data, err := json.Marshal(uses)
	if err != nil {
		return fmt.Errorf("count uses: %w", err)
	}
	err = t.exec(`INSERT INTO uses (memory, shown, last_at)
		SELECT m.id, 1, j.value ->> 1 FROM json_each(?) AS j CROSS JOIN memory AS m WHERE m.public = j.value ->> 0
		ON CONFLICT DO UPDATE SET shown = shown + 1, last_at = max(last_at, excluded.last_at)`, string(data))
	return sqlite.Wrapf(err, "count uses")
}

func (t *tx) tallyCalls(tool string, agent, n, bytes int64) error {
	err := t.exec(`INSERT INTO recall_tally (tool, agent, n, bytes) VALUES (?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET n = n + excluded.n, bytes = bytes + excluded.bytes`, tool, agent, n, bytes)
	if err != nil {
		return fmt.Errorf("count calls: %w", err)
	}
	return nil
}

// pruneLog deletes the oldest calls while there are too many bytes, or they are
// too old. It deletes a few at a time, but more than come.
func (t *tx) pruneLog() error {
	var bytes int64
	if err := t.Row(`SELECT coalesce(sum(bytes), 0) FROM recall_tally`).Scan(&bytes); err != nil {
		return fmt.Errorf("measure the log: %w", err)
	}
	oldest := t.now - t.w.store.logLife.Milliseconds()
	for range pruneRows {
		var id, agent, at, size int64
		var tool string
		ok, err := sqlite.Found(t.Row(`SELECT id, tool, agent, at, bytes FROM recall_log ORDER BY id LIMIT 1`).Scan(&id, &tool, &agent, &at, &size))
		if err != nil {
			return fmt.Errorf("read the oldest call: %w", err)
		}
		if !ok || at >= oldest && bytes <= t.w.store.logBytes {
			break
		}
		if err := t.exec(`DELETE FROM recall_log WHERE id = ?`, id); err != nil {
			return fmt.Errorf("prune the log: %w", err)
		}
		if err := t.tallyCalls(tool, agent, -1, -size); err != nil {
			return err
		}
		bytes -= size
	}
	return t.pruneCounters(oldest)
}

// pruneCounters deletes, now and then, what is too old of the rest.
func (t *tx) pruneCounters(oldest int64) error {
	if t.now-t.w.prunedLog < pruneEveryMs {
		return nil
	}
	for query, limit := range map[string]int64{
		`DELETE FROM live_turn WHERE started_at < ? AND state = 'started'`: t.now - keepStarted.Milliseconds(),
		`DELETE FROM feedback WHERE at < ? AND search <> ''`:               oldest,
		`DELETE FROM recall_day WHERE day < ?`:                             tables.DayOf(t.now) - tables.MaxDays,
		`DELETE FROM recall_time WHERE day < ?`:                            tables.DayOf(t.now) - tables.MaxDays,
	} {
		if err := t.exec(query, limit); err != nil {
			return fmt.Errorf("prune the counters of calls: %w", err)
		}
	}
	t.w.prunedLog = t.now
	return nil
}
