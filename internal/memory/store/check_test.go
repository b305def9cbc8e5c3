package store_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"

	"ambry.dev/ambry/internal/memory/store"
)

// wrong is what must hold of every memory: each query finds what breaks a rule.
var wrong = []struct{ rule, query string }{
	{"the file is whole", `SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'`},
	{"references lead somewhere", `SELECT "table" || ' ' || rowid FROM pragma_foreign_key_check`},
	{"what is to be indexed is there", `SELECT memory FROM index_todo WHERE memory NOT IN (SELECT id FROM memory)`},
	{"what is not to be found is gone", `SELECT memory FROM index_gone WHERE memory IN (SELECT id FROM memory)`},
	{"memories are counted", `
		WITH recount AS (SELECT layer, status, agent, coalesce(project, 0) AS project, count(*) AS n FROM memory GROUP BY 1, 2, 3, 4)
		SELECT r.layer, t.layer, r.n, t.n FROM recount AS r FULL JOIN (SELECT * FROM tally WHERE n <> 0) AS t USING (layer, status, agent, project)
		WHERE r.n IS NOT t.n`},
	{"what was learned is counted", `
		WITH recount AS (SELECT rule, layer, status, agent, coalesce(project, 0) AS project, count(*) AS n FROM memory WHERE rule <> '' GROUP BY 1, 2, 3, 4, 5)
		SELECT r.rule, t.rule, r.n, t.n FROM recount AS r FULL JOIN (SELECT * FROM learned_tally WHERE n <> 0) AS t USING (rule, layer, status, agent, project)
		WHERE r.n IS NOT t.n`},
	{"what was learned has a claim and evidence", `SELECT m.id FROM memory AS m WHERE (m.rule <> '') IS NOT (EXISTS (
		SELECT 1 FROM claim AS c JOIN evidence AS e ON e.claim = c.id WHERE c.memory = m.id AND c.need > 0))`},
	{"what was learned has an origin", `SELECT m.id FROM memory AS m LEFT JOIN turn AS t ON t.id = m.origin WHERE (m.rule <> '') IS NOT (t.id IS NOT NULL)`},
	{"no claim is without evidence", `SELECT id FROM claim WHERE id NOT IN (SELECT claim FROM evidence)`},
	{"one claim of a topic stands", `SELECT hex(topic) FROM claim WHERE memory IS NOT NULL AND valid_to = 0 GROUP BY topic HAVING count(*) > 1`},
	{"days are counted", `
		WITH recount AS (SELECT floor(created_at / 86400000.0) AS day, count(*) AS n FROM memory GROUP BY 1)
		SELECT r.day, r.n, d.n FROM recount AS r FULL JOIN (SELECT * FROM day WHERE n <> 0) AS d USING (day) WHERE r.n IS NOT d.n`},
	{"sessions are counted", `
		WITH recount AS (SELECT session AS id, count(*) AS turns, sum(messages) AS messages, sum(calls) AS calls,
			sum(input) AS input, sum(cached) AS cached, sum(output) AS output FROM turn GROUP BY 1)
		SELECT s.id, s.turns, r.turns FROM (SELECT * FROM session WHERE turns <> 0 OR messages <> 0 OR calls <> 0 OR input <> 0 OR output <> 0) AS s
		FULL JOIN recount AS r USING (id)
		WHERE (s.turns, s.messages, s.calls, s.input, s.cached, s.output) IS NOT (r.turns, r.messages, r.calls, r.input, r.cached, r.output)`},
	{"totals are counted", `
		WITH recount AS (SELECT count(*) AS turns, coalesce(sum(messages), 0) AS messages, coalesce(sum(calls), 0) AS calls,
			coalesce(sum(input), 0) AS input, coalesce(sum(cached), 0) AS cached, coalesce(sum(output), 0) AS output,
			(SELECT count(*) FROM session WHERE turns > 0) AS sessions FROM turn)
		SELECT r.turns, t.turns, r.sessions, t.sessions FROM recount AS r, total AS t
		WHERE (t.turns, t.messages, t.calls, t.input, t.cached, t.output, t.sessions)
			IS NOT (r.turns, r.messages, r.calls, r.input, r.cached, r.output, r.sessions)`},
	{"copies are counted", `SELECT t.id, t.copies, count(c.turn) FROM turn AS t LEFT JOIN copy AS c ON c.turn = t.id
		GROUP BY t.id HAVING t.copies <> count(c.turn)`},
	{"the owner holds the turn", `SELECT t.id FROM turn AS t WHERE t.copies > 0
		AND NOT EXISTS (SELECT 1 FROM copy AS c WHERE c.turn = t.id AND c.session = t.session)`},
	{"a trace has the session of its turn", `SELECT m.id FROM memory AS m JOIN turn AS t ON t.id = m.turn WHERE m.session IS NOT t.session`},
	{"what is forgotten is gone", `SELECT public FROM tombstone WHERE public IN (SELECT public FROM memory) OR turn IN (SELECT key FROM turn)`},
	{"what was told of has its turn", `SELECT id, state, turn FROM live_turn WHERE (state IN ('told', 'read')) IS NOT (turn IS NOT NULL)`},
	{"only what is started keeps its request", `SELECT id FROM live_turn WHERE state <> 'started' AND query <> ''`},
	{"calls are counted", `
		WITH recount AS (SELECT tool, agent, count(*) AS n, sum(bytes) AS bytes FROM recall_log GROUP BY 1, 2)
		SELECT r.tool, t.tool, r.n, t.n FROM recount AS r FULL JOIN (SELECT * FROM recall_tally WHERE n <> 0 OR bytes <> 0) AS t USING (tool, agent)
		WHERE (r.n, r.bytes) IS NOT (t.n, t.bytes)`},
	{"feedback is counted", `
		WITH recount AS (SELECT memory, count(*) FILTER (WHERE verdict = 'used') AS used, count(*) FILTER (WHERE verdict = 'ignored') AS ignored,
			count(*) FILTER (WHERE verdict = 'helpful') AS helpful, count(*) FILTER (WHERE verdict = 'wrong') AS wrong FROM feedback GROUP BY 1)
		SELECT u.*, r.* FROM recount AS r LEFT JOIN uses AS u USING (memory)
		WHERE u.memory IS NULL OR u.used < r.used OR u.ignored < r.ignored OR u.helpful < r.helpful OR u.wrong < r.wrong`},
	{"feedback is about memories", `SELECT memory FROM (SELECT memory FROM feedback UNION SELECT memory FROM uses) WHERE memory NOT IN (SELECT id FROM memory)`},
	{"changes are in order", `SELECT a.seq FROM change AS a JOIN change AS b ON b.memory = a.memory AND b.seq > a.seq
		WHERE b.version <> 0 AND b.version <> a.version + 1 AND NOT EXISTS (
			SELECT 1 FROM change AS c WHERE c.memory = a.memory AND c.seq > a.seq AND c.seq < b.seq)`},
}

// verify fails the test for every rule that the closed memory at path breaks.
func verify(t testing.TB, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, w := range wrong {
		for _, row := range query(t, db, w.query) {
			t.Errorf("broken rule %q: %s", w.rule, row)
		}
	}
	verifyIndex(t, path)
}

// verifyIndex opens the memory, and fails the test unless every memory is indexed
// and nothing else, in whole files.
func verifyIndex(t testing.TB, path string) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.VerifyIndex(t.Context()); err != nil {
		t.Error(err)
	}
}

// query returns the rows of a query as text.
func query(t testing.TB, db *sql.DB, text string) []string {
	t.Helper()
	rows, err := db.Query(text)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		line := ""
		for i, v := range values {
			line += fmt.Sprintf("%s=%v ", columns[i], *v.(*any))
		}
		out = append(out, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
