package store

import (
	"context"
	"database/sql"
	"fmt"

	"ambry.dev/ambry/internal/memory/document"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/tables"
)

// tx is what a job writes with. Its counts are added up and written at the end.
type tx struct {
	w   *writer
	ctx context.Context
	now int64 // Unix milliseconds

	tallies  map[tables.Cell]int64
	days     map[int64]int64
	sessions map[int64]document.Counts
	entries  []entry
	traces   map[int64]int // turn → place of its trace in entries
	moves    []position    // of turns that came, went or changed
	after    []func()      // what is done when all this is on the disk

	stored  []Placed // vectors
	judged  []int64  // memories whose uses changed
	renamed []int64  // turns
	emptied bool     // the memory was wiped
	queued  bool     // turns wait to be learned from

	told *bool // whether any turn was told of; nil before anybody asked
}

// countMemory adds n memories that happened at a time.
func (t *tx) countMemory(c tables.Cell, at, n int64) {
	if t.tallies == nil {
		t.tallies, t.days = map[tables.Cell]int64{}, map[int64]int64{}
	}
	t.tallies[c] += n
	t.days[tables.DayOf(at)] += n
}

// countTurns adds to the counts of a session.
func (t *tx) countTurns(session int64, c document.Counts) {
	if t.sessions == nil {
		t.sessions = map[int64]document.Counts{}
	}
	t.sessions[session] = t.sessions[session].Add(c)
}

// flush writes the counts.
func (t *tx) flush() error {
	for c, n := range t.tallies {
		if n == 0 {
			continue
		}
		err := t.exec(`INSERT INTO tally (layer, status, agent, project, n) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET n = n + excluded.n`, c.Layer, c.Status, c.Agent, c.Project, n)
		if err != nil {
			return fmt.Errorf("count memories: %w", err)
		}
		if c.Rule == "" {
			continue
		}
		err = t.exec(`INSERT INTO learned_tally (rule, layer, status, agent, project, n) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET n = n + excluded.n`, c.Rule, c.Layer, c.Status, c.Agent, c.Project, n)
		if err != nil {
			return fmt.Errorf("count what was learned: %w", err)
		}
	}
	for day, n := range t.days {
		if n == 0 {
			continue
		}
		err := t.exec(`INSERT INTO day (day, n) VALUES (?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n`, day, n)
		if err != nil {
			return fmt.Errorf("count days: %w", err)
		}
	}
	return t.flushSessions()
}

func (t *tx) flushSessions() error {
	var all document.Counts
	var listed int64
	for id, c := range t.sessions {
		if c == (document.Counts{}) {
			continue
		}
		var turns int64
		err := t.Row(`UPDATE session SET turns = turns + ?, messages = messages + ?, calls = calls + ?,
				input = input + ?, cached = cached + ?, output = output + ?
			WHERE id = ? RETURNING turns`,
			c.Turns, c.Messages, c.Calls, c.Input, c.Cached, c.Output, id).Scan(&turns)
		if err != nil {
			return fmt.Errorf("count a session: %w", err)
		}
		switch before := turns - c.Turns; {
		case before == 0 && turns > 0:
			listed++
		case before > 0 && turns == 0:
			listed--
		}
		all = all.Add(c)
	}
	if all == (document.Counts{}) && listed == 0 {
		return nil
	}
	err := t.exec(`UPDATE total SET sessions = sessions + ?, turns = turns + ?, messages = messages + ?,
			calls = calls + ?, input = input + ?, cached = cached + ?, output = output + ?`,
		listed, all.Turns, all.Messages, all.Calls, all.Input, all.Cached, all.Output)
	if err != nil {
		return fmt.Errorf("count totals: %w", err)
	}
	return nil
}

func (t *tx) exec(query string, args ...any) error { return t.w.exec(query, args...) }

// insert runs an INSERT and returns the id of the row.
func (t *tx) insert(query string, args ...any) (int64, error) {
	s, err := t.w.statement(query)
	if err != nil {
		return 0, err
	}
	r, err := s.Exec(args...)
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

// row runs a query that gives at most one row.
func (t *tx) Row(query string, args ...any) sqlite.Scanner {
	s, err := t.w.statement(query)
	if err != nil {
		return sqlite.FailedRow(err)
	}
	return s.QueryRow(args...)
}

// names remembers the ids of agents, projects and sources. It is forgotten when
// a job is rolled back, because its rows are gone then.
type names map[name]int64

type name struct{ table, value string }

// maxNames bounds the memory of names.
const maxNames = 4096

// intern returns the id of a name, and adds it if it is new.
func (t *tx) intern(table, column, value string) (int64, error) {
	if id, ok := t.w.names[name{table, value}]; ok {
		return id, nil
	}
	var id int64
	err := t.Row("SELECT id FROM "+table+" WHERE "+column+" = ?", value).Scan(&id)
	ok, err := sqlite.Found(err)
	if err == nil && !ok {
		id, err = t.insert("INSERT INTO "+table+" ("+column+") VALUES (?)", value)
	}
	if err != nil {
		return 0, fmt.Errorf("find %s: %w", table, err)
	}
	if len(t.w.names) >= maxNames {
		clear(t.w.names)
	}
	t.w.names[name{table, value}] = id
	return id, nil
}

func (t *tx) agent(id string) (int64, error) { return t.intern("agent", "name", id) }

// project returns the id of a directory, NULL for none.
func (t *tx) project(path string) (sql.NullInt64, error) { return t.optional("project", path) }

// source returns the id of a file, NULL for none.
func (t *tx) source(path string) (sql.NullInt64, error) { return t.optional("source", path) }

func (t *tx) optional(table, path string) (sql.NullInt64, error) {
	if path == "" {
		return sql.NullInt64{}, nil
	}
	id, err := t.intern(table, "path", path)
	return sql.NullInt64{Int64: id, Valid: err == nil}, err
}
