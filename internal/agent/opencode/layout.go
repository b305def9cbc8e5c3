package opencode

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"ambry.dev/ambry/internal/agent"
)

// layout is how a generation of OpenCode keeps sessions in a database. One that
// was migrated has two.
type layout struct {
	name   string   // in cursors
	tables []string // of sessions, and of what was said

	// The position of a message is a number and its id. Rows are in the order of
	// the positions of their messages, a message before its parts. Of each there is
	// (at, message, part, kind, time_updated, bytes, data).
	list   string // SQL: the sessions, in the order of [session]
	rows   string // of a session from a position on
	all    string // mass of a session
	before string // mass of the rows of a session before a position
	at     string // first half of the position of a message
	place  string // data of a message that tells the working directory
	held   string // ids of the sessions with messages
	count  string // of messages

	record func(m *message, part, kind string, v agent.Value)
}

const (
	// maxRecord is how many bytes a record may have; of a longer one there is no
	// data. Only pasted files make records of megabytes.
	maxRecord = 32 << 20

	// massOf sums up rows of (u, n): times of changes, of which the lower half is
	// enough, and bytes.
	massOf = `SELECT count(*), coalesce(sum(u & 0xffffffff), 0), coalesce(sum(n), 0) FROM `
)

// bounded returns the columns for a record: how many bytes it has, and its data
// if these are not too many.
func bounded(data string) string {
	return fmt.Sprintf("octet_length(%s), iif(octet_length(%[1]s) <= %d, %[1]s, NULL)", data, maxRecord)
}

// tables are the columns of each table of a database.
type tables map[string]map[string]bool

func (t tables) has(names ...string) bool {
	for _, name := range names {
		if t[name] == nil {
			return false
		}
	}
	return true
}

// layouts returns how the sessions of a database are kept, the newest first. A
// database that is kept in a way we do not know is an error: it is not empty.
func layouts(ctx context.Context, db *sql.DB) ([]*layout, error) {
	t, err := schema(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("look for tables: %w", err)
	}
	var all []*layout
	switch {
	case t.has("session_v2", "session_message"):
		all = append(all, projected(t, "session_v2"))
	case t.has("session", "session_message") && t["session_message"]["seq"]: // without it, of an experiment
		all = append(all, projected(t, "session"))
	}
	if t.has("session", "message", "part") {
		all = append(all, inParts(t))
	}
	if len(all) == 0 {
		return nil, errors.New("not a layout of OpenCode that is known: it has no tables of sessions and messages")
	}
	for _, l := range all {
		if err := l.check(t); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func schema(ctx context.Context, db *sql.DB) (tables, error) {
	rows, err := db.QueryContext(ctx, `SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	t := tables{}
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			return nil, err
		}
		if t[table] == nil {
			t[table] = map[string]bool{}
		}
		t[table][column] = true
	}
	return t, rows.Err()
}

// check reports a column that is missing.
func (l *layout) check(t tables) error {
	needed := map[string]string{
		"session":         "id time_updated",
		"session_v2":      "id time_updated",
		"message":         "id session_id time_created time_updated data",
		"part":            "id session_id message_id time_updated data",
		"session_message": "id session_id type seq time_updated data",
	}
	for _, table := range l.tables {
		for column := range strings.FieldsSeq(needed[table]) {
			if !t[table][column] {
				return fmt.Errorf("not a layout of OpenCode that is known: table %s has no column %s", table, column)
			}
		}
	}
	return nil
}

// sessions returns the query for the sessions of a table. What a version does
// not tell is empty.
func (t tables) sessions(table, where string) string {
	columns := []string{
		"id", "parent_id", "fork_session_id", "directory", "title", "version", "revert", "time_created", "time_updated", "time_archived",
	}
	for i, column := range columns {
		if !t[table][column] {
			columns[i] = "NULL"
		}
	}
	return "SELECT " + strings.Join(columns, ", ") + " FROM " + table + where
}

// inParts is the layout since 1.2: a row for a message, and one for each part
// of it. After the migration to 2.x it stays as it was.
func inParts(t tables) *layout {
	l := &layout{
		name: "1", tables: []string{"session", "message", "part"}, list: t.sessions("session", ""),
		rows: `SELECT time_created, id, '', '', time_updated, ` + bounded("data") + `
			FROM message WHERE session_id = ?1 AND (time_created, id) >= (?2, ?3)
			UNION ALL
			SELECT m.time_created, m.id, p.id, '', p.time_updated, ` + bounded("p.data") + `
			FROM message m JOIN part p ON p.message_id = m.id WHERE m.session_id = ?1 AND (m.time_created, m.id) >= (?2, ?3)
			ORDER BY 1, 2, 3`,
		all: massOf + `(
			SELECT time_updated u, octet_length(data) n FROM message WHERE session_id = ?1
			UNION ALL SELECT time_updated, octet_length(data) FROM part WHERE session_id = ?1)`,
		before: massOf + `(
			SELECT time_updated u, octet_length(data) n FROM message WHERE session_id = ?1 AND (time_created, id) < (?2, ?3)
			UNION ALL SELECT p.time_updated, octet_length(p.data) FROM message m JOIN part p ON p.message_id = m.id
			WHERE m.session_id = ?1 AND (m.time_created, m.id) < (?2, ?3))`,
		at: `SELECT time_created FROM message WHERE id = ? AND session_id = ?`,
		place: `SELECT data FROM message WHERE session_id = ? AND octet_length(data) < 65536
			AND data LIKE '%"cwd":"%' AND data NOT LIKE '%"cwd":"/"%' ORDER BY time_created, id LIMIT 1`,
		held:   `SELECT id FROM session WHERE EXISTS (SELECT 1 FROM message m WHERE m.session_id = session.id)`,
		count:  `SELECT count(*) FROM message`,
		record: (*message).stored,
	}
	if t.has("session_v2") {
		l.count += ` WHERE session_id NOT IN (SELECT id FROM session_v2)`
	}
	return l
}

// projected is the layout of 2.x: a row for a message with all that is in it.
// Its first versions shared the table of sessions with the layout before.
func projected(t tables, sessions string) *layout {
	where := ""
	if sessions == "session" {
		where = ` WHERE EXISTS (SELECT 1 FROM session_message m WHERE m.session_id = session.id)`
		if t.has("message") {
			where += ` AND NOT EXISTS (SELECT 1 FROM message m WHERE m.session_id = session.id)`
		}
	}
	return &layout{
		name: "2", tables: []string{sessions, "session_message"}, list: t.sessions(sessions, where),
		rows: `SELECT seq, id, '', type, time_updated, ` + bounded("data") + `
			FROM session_message WHERE session_id = ?1 AND (seq, id) >= (?2, ?3) ORDER BY seq, id`,
		all:    massOf + `(SELECT time_updated u, octet_length(data) n FROM session_message WHERE session_id = ?1)`,
		before: massOf + `(SELECT time_updated u, octet_length(data) n FROM session_message WHERE session_id = ?1 AND (seq, id) < (?2, ?3))`,
		at:     `SELECT seq FROM session_message WHERE id = ? AND session_id = ?`,
		held:   `SELECT DISTINCT session_id FROM session_message`,
		count:  `SELECT count(*) FROM session_message WHERE type IN ('user', 'assistant', 'shell', 'compaction')`,
		record: (*message).projected,
	}
}
