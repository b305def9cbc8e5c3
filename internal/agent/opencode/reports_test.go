package opencode_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/agent/opencode"
)

// The numbers are those of reports about other readers of OpenCode:
// 43 Shlomob/ocmonitor-share#15, 44 anomalyco/opencode#13654, 45 vshulcz/deja-vu#3924,
// 46 kenn-io/agentsview#1236, 47 kenn-io/agentsview#1254, 48 getagentseal/codeburn#341,
// 59 vshulcz/deja-vu#474, 61 getagentseal/codeburn#441.

// all reads all sources of a home.
func all(t testing.TB, h agent.Home) *memory {
	t.Helper()
	m := newMemory(t)
	for _, src := range sources(t, h) {
		m.mark = agent.Mark{}
		m.read(src)
	}
	return m
}

// scatter writes a session with one prompt into the tree of a home.
func scatter(t testing.TB, h agent.Home, session, text string) string {
	t.Helper()
	message := "msg_" + session
	for path, data := range map[string]string{
		"session/global/" + session + ".json":                  `{"id":"` + session + `","directory":"/w","title":"t","time":{"created":1763900000000}}`,
		"message/" + session + "/" + message + ".json":         `{"id":"` + message + `","role":"user","time":{"created":1763900000000}}`,
		"part/" + message + "/prt_" + session + "_1" + ".json": `{"id":"prt_1","sessionID":"` + session + `","type":"text","text":"` + text + `"}`,
	} {
		put(t, database(h, filepath.Join("storage", filepath.FromSlash(path))), data)
	}
	return database(h, filepath.Join("storage", "session", "global", session+".json"))
}

func put(t testing.TB, path, data string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestReport43TheDatabaseTookThePlaceOfTheTree(t *testing.T) {
	s := newStore(t)
	scatter(t, s.home, "ses_old", "in the tree")
	s.ask("ses_new", "msg_new", "in the database")
	all(t, s.home).holds("msg_new: in the database", "msg_ses_old: in the tree")
}

func TestReport44SessionsThatWereLeftInTheTree(t *testing.T) {
	s := newStore(t)
	scatter(t, s.home, "ses_left", "left behind")
	scatter(t, s.home, "ses_both", "as the tree has it")
	scatter(t, s.home, "ses_bare", "only its session was taken over")
	s.ask("ses_both", "msg_ses_both", "as the database has it")
	s.session("ses_bare")
	all(t, s.home).holds("msg_ses_bare: only its session was taken over", "msg_ses_both: as the database has it", "msg_ses_left: left behind")
}

func TestReport45TablesHaveOtherNames(t *testing.T) {
	s := openStore(t, true)
	s.ask("a", "m1", "one")
	all(t, s.home).holds("m1: one")
}

// failure reads a source and returns the error that this ends with.
func failure(t *testing.T, src agent.Source) error {
	t.Helper()
	var failed error
	for item, err := range opencode.Agent().History.Read(t.Context(), src, agent.Mark{}) {
		if failed = err; err == nil && item.Next.Done {
			t.Error("read to the end")
		}
	}
	if failed == nil {
		t.Fatal("no error")
	}
	return failed
}

func TestReport59AnUnknownLayoutIsNotAnEmptyOne(t *testing.T) {
	for name, c := range map[string]struct{ change, want string }{
		"no table":          {`DROP TABLE session; DROP TABLE message; DROP TABLE part`, "no tables of sessions and messages"},
		"others":            {`ALTER TABLE session RENAME TO session_v3`, "no tables of sessions and messages"},
		"messages only":     {`DROP TABLE session`, "no tables of sessions and messages"},
		"other columns":     {`ALTER TABLE part RENAME COLUMN data TO body`, "table part has no column data"},
		"sessions untimed":  {`ALTER TABLE session DROP COLUMN time_updated`, "table session has no column time_updated"},
		"2.0 without order": {`CREATE TABLE session_v2 (id, time_updated); CREATE TABLE session_message (id, session_id, type, time_updated, data)`, "table session_message has no column seq"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			s.ask("a", "m1", "one")
			s.exec(c.change)
			if err := failure(t, s.source()); !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestReport46SessionsOfNoProject(t *testing.T) {
	s := newStore(t)
	s.exec(`CREATE TABLE project (id text, worktree text); INSERT INTO project VALUES ('global', '/'); ALTER TABLE session ADD COLUMN project_id text`)
	s.exec(`INSERT INTO session VALUES ('a', NULL, '/home/ana/notes', 't', '1', NULL, 1, 1, NULL, 'global'), ('b', NULL, '', 't', '1', NULL, 1, 1, NULL, 'global')`)
	s.say("a", "m1", `{"role":"user"}`, "where?")
	s.say("b", "m2", `{"role":"user"}`, "nowhere")
	s.say("b", "m3", `{"role":"assistant","path":{"cwd":"/","root":"/"}}`, "at the root")
	m := all(t, s.home)
	if got := m.of["m1"]; got.Cwd != "/home/ana/notes" || got.Project != "/home/ana/notes" || m.turns["m1/0"].Cwd != got.Cwd {
		t.Errorf("got %+v", got)
	}
	if got := m.of["m2"]; got.Cwd != "" || got.Project != "" {
		t.Errorf("got %+v", got)
	}
}

func TestReport47CallsThatFailed(t *testing.T) {
	s := newStore(t)
	s.ask("a", "m1", "do it")
	s.answer("a", "m2", "I do it.")
	states := []string{
		`"tool":"bash","state":{"status":"completed","metadata":{"exit":0}}`,
		`"tool":"bash","state":{"status":"completed","metadata":{"exit":1}}`,
		`"tool":"bash","state":{"status":"completed","metadata":{"exit":null}}`,
		`"tool":"invalid","state":{"status":"completed","output":"no such tool"}`,
		`"tool":"read","state":{"status":"error","error":"no such file"}`,
		`"tool":"read","state":{"status":"running"}`,
	}
	for i, state := range states {
		s.exec(`INSERT INTO part VALUES (?1, 'm2', 'a', 1, 1, ?2)`, "prt_z"+string(rune('0'+i)), `{"type":"tool","callID":"`+string(rune('0'+i))+`",`+state+`}`)
	}
	want := []string{"", "failed with exit code 1", "", "failed", "failed", "interrupted"}
	var got []string
	for _, c := range all(t, s.home).turns["m1/0"].Messages[1].Calls {
		got = append(got, c.Outcome())
	}
	same(t, "how they ended", got, want)
}

func TestReport48AnswersThatCostNothing(t *testing.T) {
	s := newStore(t)
	s.ask("a", "m1", "hello")
	s.say("a", "m2", `{"role":"assistant","cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}}`, "Hello, I am free.")
	all(t, s.home).holds("m1: hello | Hello, I am free.")
}

func TestReport59ABusyDatabaseIsAnError(t *testing.T) {
	s := newStore(t)
	s.ask("ses_a", "m1", "one")
	tree := scatter(t, s.home, "ses_a", "as the tree has it")
	s.exec(`PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE`)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := failure(t, s.source()); !strings.Contains(err.Error(), "locked") {
		t.Errorf("got %v", err)
	}
	failed := 0
	for src, err := range opencode.Agent().History.Sources(ctx, s.home) {
		switch {
		case err != nil:
			failed++
		case src.Path == tree:
			t.Error("a session of the tree, although the database may have it")
		}
	}
	if failed != 1 || ctx.Err() != nil {
		t.Errorf("%d errors, %v", failed, ctx.Err())
	}
	if src, ok := opencode.Agent().History.Locate(s.home, tree); ok {
		t.Errorf("located %s", src.Path)
	}
	s.exec(`COMMIT`)
	all(t, s.home).holds("m1: one")
}

// TestReport61OneBrokenSessionDoesNotHideTheRest breaks the pages that the
// messages of one session are on.
func TestReport61OneBrokenSessionDoesNotHideTheRest(t *testing.T) {
	s := newStore(t)
	for _, id := range []string{"a", "b", "c"} {
		for n := range 40 {
			s.ask(id, id+string(rune('A'+n)), strings.Repeat(id, 3000))
		}
	}
	s.exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	if err := s.db.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	for at := 0; at < len(file); at += page {
		if strings.Contains(string(file[at:at+page]), strings.Repeat("b", 2500)) {
			copy(file[at:], strings.Repeat("\xff", 64))
		}
	}
	put(t, s.path, string(file))
	m := newMemory(t)
	var failed error
	for item, err := range opencode.Agent().History.Read(t.Context(), s.source(), agent.Mark{}) {
		if failed = err; err == nil {
			m.add(item)
		}
	}
	if failed == nil || !strings.Contains(failed.Error(), "session b") || strings.Contains(failed.Error(), s.home.Dir) {
		t.Errorf("got %v", failed)
	}
	if told := sessionsOf(m); !slices.Equal(told, []string{"a", "c"}) {
		t.Errorf("told sessions %q", told)
	}
}

func sessionsOf(m *memory) []string {
	ids := map[string]bool{}
	for _, s := range m.of {
		ids[s.ID] = true
	}
	return slices.Sorted(maps.Keys(ids))
}

// TestReport42589IDsBeganAnew is about ids that are no order: on 2026-08-14 they
// began again from 0 (anomalyco/opencode#42589).
func TestReport42589IDsBeganAnew(t *testing.T) {
	s := newStore(t)
	s.ask("ses_fff", "msg_fffc", "before")
	s.answer("ses_fff", "msg_fffd", "it was August")
	s.ask("ses_fff", "msg_0001", "after")
	s.answer("ses_fff", "msg_0002", "it still is")
	s.exec(`UPDATE session SET revert = '{"messageID":"msg_0001"}'`)
	all(t, s.home).holds("msg_0001: (after) | (it still is)", "msg_fffc: before | it was August")
}

func TestWhatARoleMeans(t *testing.T) {
	s := newStore(t)
	s.say("a", "m0", `{"role":"assistant"}`, "Before any prompt.")
	s.ask("a", "m1", "Ask.")
	s.say("a", "m2", `{"role":"nobody"}`, "Nobody says this.")
	s.say("a", "m3", `{"role":"assistant","summary":true}`, "A summary.")
	s.session("a")
	m := all(t, s.home)
	m.holds("m0: Before any prompt.", "m1: Ask. | A summary.")
	if role := m.turns["m1/0"].Messages[1].Role; role != ambry.Summary {
		t.Errorf("a summary has role %q", role)
	}
}
