package opencode_test

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/agent/opencode"
)

// store is a database that OpenCode has open and writes into.
type store struct {
	t         testing.TB
	home      agent.Home
	path      string
	db        *sql.DB
	projected bool  // as 2.x keeps it
	now       int64 // by its clock, in milliseconds
}

const schema = `
	PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
	CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text NOT NULL, title text NOT NULL, version text NOT NULL, revert text, time_created integer NOT NULL, time_updated integer NOT NULL, time_archived integer);
	CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
	CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
	CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
	CREATE INDEX part_message_id_id_idx ON part (message_id, id);
	CREATE INDEX part_session_idx ON part (session_id);`

const projectedSchema = `
	PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
	CREATE TABLE session_v2 (id text PRIMARY KEY, parent_id text, directory text NOT NULL, title text, version text NOT NULL, revert text, time_created integer NOT NULL, time_updated integer NOT NULL, time_archived integer);
	CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL, seq integer NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
	CREATE UNIQUE INDEX session_message_session_seq_idx ON session_message (session_id, seq);`

func newStore(t testing.TB) *store { return openStore(t, false) }

func openStore(t testing.TB, projected bool) *store {
	t.Helper()
	s := &store{t: t, home: agent.Home{Dir: t.TempDir(), OS: "linux"}, projected: projected, now: 1785571200000}
	s.path = database(s.home, "opencode.db")
	s.db = writer(t, s.path)
	if projected {
		s.exec(projectedSchema)
	} else {
		s.exec(schema)
	}
	return s
}

// table is the table of sessions.
func (s *store) table() string {
	if s.projected {
		return "session_v2"
	}
	return "session"
}

func (s *store) exec(query string, args ...any) {
	s.t.Helper()
	exec(s.t, s.db, query, args...)
}

// session makes a session, or uses it again.
func (s *store) session(id string) {
	s.t.Helper()
	s.now++
	s.exec(`INSERT INTO `+s.table()+` VALUES (?1, NULL, '/w', ?1, '1', NULL, ?2, ?2, NULL) ON CONFLICT DO UPDATE SET time_updated = excluded.time_updated`, id, s.now)
}

// ask adds a prompt, and answer an answer to it. The text is in a part that has
// the id of the message.
func (s *store) ask(session, id, text string) {
	s.t.Helper()
	s.session(session)
	if s.projected {
		s.add(session, id, "user", text)
		return
	}
	s.say(session, id, `{"role":"user"}`, text)
}

func (s *store) answer(session, id, text string) {
	s.t.Helper()
	if s.projected {
		s.add(session, id, "assistant", text)
		return
	}
	s.say(session, id, `{"role":"assistant","providerID":"p","modelID":"m"}`, text)
}

func (s *store) say(session, id, head, text string) {
	s.t.Helper()
	s.now++
	s.exec(`INSERT INTO message VALUES (?1, ?2, ?3, ?3, json_set(?4, '$.time', json_object('created', ?3)))`, id, session, s.now, head)
	s.exec(`INSERT INTO part VALUES (?1, ?2, ?3, ?4, ?4, json_object('type', 'text', 'text', ?5))`, "prt_"+id, id, session, s.now, text)
}

func (s *store) add(session, id, kind, text string) {
	s.t.Helper()
	s.now++
	s.exec(`INSERT INTO session_message SELECT ?1, ?2, ?3, coalesce(max(seq), 0) + 1, ?4, ?4,
		json_object('time', json_object('created', ?4), 'text', ?5, 'model', json_object('providerID', 'p', 'id', 'm'),
			'content', json_array(json_object('type', 'text', 'text', ?5))) FROM session_message WHERE session_id = ?2`, id, session, kind, s.now, text)
}

// change writes the text of a message again, in place.
func (s *store) change(id, text string) {
	s.t.Helper()
	s.now++
	if s.projected {
		s.exec(`UPDATE session_message SET data = json_set(data, '$.text', ?2, '$.content[0].text', ?2), time_updated = ?3 WHERE id = ?1`, id, text, s.now)
		return
	}
	s.exec(`UPDATE part SET data = json_object('type', 'text', 'text', ?2), time_updated = ?3 WHERE message_id = ?1`, id, text, s.now)
}

// remove removes a message.
func (s *store) remove(id string) {
	s.t.Helper()
	if s.projected {
		s.exec(`DELETE FROM session_message WHERE id = ?`, id)
		return
	}
	s.exec(`DELETE FROM part WHERE message_id = ?`, id)
	s.exec(`DELETE FROM message WHERE id = ?`, id)
}

func (s *store) source() agent.Source {
	s.t.Helper()
	src, ok := opencode.Agent().History.Locate(s.home, s.path)
	if !ok {
		s.t.Fatal("there is no database")
	}
	return src
}

// memory is what was told of a source, by turn and part.
type memory struct {
	t     testing.TB
	mark  agent.Mark
	turns map[string]ambry.Turn
	of    map[string]ambry.Session
}

func newMemory(t testing.TB) *memory {
	return &memory{t: t, turns: map[string]ambry.Turn{}, of: map[string]ambry.Session{}}
}

func (m *memory) add(item agent.Item) (ids []string) {
	m.t.Helper()
	m.mark = item.Next
	for _, turn := range item.Conversation.Turns {
		key := fmt.Sprintf("%s/%d", turn.ID, turn.Part)
		m.turns[key], m.of[turn.ID] = turn, item.Conversation.Session
		ids = append(ids, turn.ID)
	}
	return ids
}

// read reads on in a source and returns the ids of the turns that were told.
func (m *memory) read(src agent.Source) (ids []string) {
	m.t.Helper()
	for _, item := range read(m.t, src, m.mark) {
		ids = append(ids, m.add(item)...)
	}
	return ids
}

// stop reads on in a source, a turn at a time, and stops after n of them.
func (m *memory) stop(src agent.Source, n int) {
	m.t.Helper()
	for item, err := range small().Read(m.t.Context(), src, m.mark) {
		if err != nil {
			m.t.Fatal(err)
		}
		m.add(item)
		if n--; n <= 0 {
			return
		}
	}
}

func small() agent.History {
	return opencode.Agent().History.(interface{ Sized(int) agent.History }).Sized(1)
}

// texts tells the turns as "id: text | text", with what is hidden in brackets.
func (m *memory) texts() (all []string) {
	for _, key := range slices.Sorted(maps.Keys(m.turns)) {
		var said []string
		for _, message := range m.turns[key].Messages {
			text := message.Text
			if message.Hidden {
				text = "(" + text + ")"
			}
			said = append(said, text)
		}
		all = append(all, m.turns[key].ID+": "+strings.Join(said, " | "))
	}
	return all
}

func (m *memory) holds(want ...string) {
	m.t.Helper()
	if diff := cmp.Diff(want, m.texts()); diff != "" {
		m.t.Errorf("what is held (-want +got):\n%s", diff)
	}
}

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
