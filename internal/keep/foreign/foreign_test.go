package foreign_test

import (
	"archive/zip"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/keep/foreign"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// database makes a database of statements.
func database(t testing.TB, path string, statements ...string) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(path), 0o700))
	db, err := sql.Open("sqlite", path)
	check(t, err)
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%v in %s", err, s)
		}
	}
}

// read returns what is at path, and the problems.
func read(t testing.TB, path, want string) (items []foreign.Item, problems []string) {
	t.Helper()
	f, err := foreign.Find(path, "")
	check(t, err)
	if f.ID != want {
		t.Fatalf("it was taken for %s, want %s", f.ID, want)
	}
	for item, err := range f.Read(t.Context(), path) {
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		items = append(items, item)
	}
	keys := map[string]bool{}
	for _, i := range items {
		if i.Key == "" || keys[i.Key] {
			t.Errorf("key %q is empty or there twice", i.Key)
		}
		keys[i.Key] = true
		if i.Note != nil {
			check(t, i.Note.Validate())
		}
		if i.Conversation != nil {
			check(t, i.Conversation.Validate())
		}
	}
	return items, problems
}

func notes(items []foreign.Item) (out []string) {
	for _, i := range items {
		if i.Note != nil {
			out = append(out, fmt.Sprintf("%s|%s|%s|%s|%s", i.Note.Layer, i.Note.Title, i.Note.Content, strings.Join(i.Note.Tags, ","), i.Note.CreatedAt.Format(time.DateOnly)))
		}
	}
	return out
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestClaudeMem(t *testing.T) {
	dir := t.TempDir()
	database(t, filepath.Join(dir, "claude-mem.db"),
		`CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, content_session_id TEXT, memory_session_id TEXT, project TEXT)`,
		`CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, text TEXT, type TEXT, title TEXT, subtitle TEXT, facts TEXT,
			narrative TEXT, concepts TEXT, files_read TEXT, files_modified TEXT, content_hash TEXT, created_at TEXT, created_at_epoch INTEGER)`,
		`CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, request TEXT, investigated TEXT, learned TEXT, completed TEXT,
			next_steps TEXT, notes TEXT, created_at TEXT, created_at_epoch INTEGER)`,
		`CREATE TABLE directives (id INTEGER PRIMARY KEY, scope TEXT, project TEXT, content TEXT, status TEXT, created_at TEXT, created_at_epoch INTEGER)`,
		`INSERT INTO observations VALUES (1, 'm1', 'infra', NULL, 'bugfix', 'Fixed the race', 'in the pool', '["locks were missing"]', 'Two writers met.', '["gotcha"]', '["a.go"]', '[]', 'h1', '', 1772366400000)`,
		`INSERT INTO observations (id, memory_session_id, project, type, created_at_epoch) VALUES (2, 'm1', 'infra', 'empty', 0)`,
		`INSERT INTO session_summaries VALUES (1, 'm1', 'infra', 'fix it', 'the pool', 'locks matter', 'all', 'none', NULL, '', 1772366400)`,
		`INSERT INTO directives VALUES (1, 'global', NULL, 'always run the tests', 'active', '', 1772366400000)`)
	items, problems := read(t, dir, "claude-mem")
	same(t, problems)
	same(t, notes(items),
		"L1|Fixed the race|in the pool\n\nTwo writers met.\n\n- locks were missing\n\nFiles read: a.go|bugfix,gotcha|2026-03-01",
		"L1|fix it|Request: fix it\n\nInvestigated: the pool\n\nLearned: locks matter\n\nCompleted: all\n\nNext steps: none|summary|2026-03-01",
		"L2||always run the tests|directive,active|2026-03-01")
	if items[0].Note.Project != "infra" || items[0].Note.SessionID != "m1" || items[0].Note.Source != "claude-mem" {
		t.Errorf("%+v", items[0].Note)
	}
}

func TestEngram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "engram.db")
	database(t, path,
		`CREATE TABLE sessions (id TEXT PRIMARY KEY, project TEXT, directory TEXT, started_at TEXT, ended_at TEXT, summary TEXT)`,
		`CREATE TABLE observations (id INTEGER PRIMARY KEY, sync_id TEXT, session_id TEXT, type TEXT, title TEXT, content TEXT, project TEXT, scope TEXT,
			topic_key TEXT, created_at TEXT, deleted_at TEXT)`,
		`INSERT INTO sessions VALUES ('s1', 'infra', '/home/ana/infra', '2026-03-01 12:00:00', NULL, 'what we did')`,
		`INSERT INTO observations VALUES (1, 'obs-1', 's1', 'decision', 'Use WAL', 'because of readers', 'infra', 'project', 'db/wal', '2026-03-01 12:30:00', NULL)`,
		`INSERT INTO observations VALUES (2, 'obs-2', 's1', 'bugfix', 'gone', 'deleted', 'infra', 'project', NULL, '2026-03-01 12:30:00', '2026-03-02 00:00:00')`)
	items, problems := read(t, path, "engram")
	same(t, problems)
	same(t, notes(items), "|Summary of a session|what we did|summary|2026-03-01", "L2|Use WAL|because of readers|decision,db/wal,project|2026-03-01")
	if items[1].Note.Project != "/home/ana/infra" {
		t.Errorf("project %q", items[1].Note.Project)
	}
}

func TestMemmy(t *testing.T) {
	dir := t.TempDir()
	database(t, filepath.Join(dir, "memory-service", "memory.sqlite"),
		`CREATE TABLE memories (id TEXT PRIMARY KEY, session_id TEXT, agent_id TEXT, app_id TEXT, memory_type TEXT, status TEXT, memory_key TEXT, memory_value TEXT,
			tags_json TEXT, memory_layer TEXT, created_at TEXT, deleted_at TEXT)`,
		`INSERT INTO memories VALUES ('policy_1', 's', 'codex', 'x', 'LongTermMemory', 'activated', 'a key', 'a policy', '["t"]', 'L2', '2026-03-01T12:00:00.000Z', NULL)`,
		`INSERT INTO memories VALUES ('trace_2', 's', 'codex', 'x', 'LongTermMemory', 'deleted', 'a key', 'gone', '[]', 'L1', '2026-03-01T12:00:00.000Z', NULL)`)
	items, problems := read(t, dir, "memmy")
	same(t, problems)
	same(t, notes(items), "L2|a key|a policy|t|2026-03-01")
}

func TestMem0(t *testing.T) {
	dir := t.TempDir()
	database(t, filepath.Join(dir, "openmemory.db"),
		`CREATE TABLE apps (id TEXT PRIMARY KEY, name TEXT)`, `INSERT INTO apps VALUES ('a1', 'cursor')`,
		`CREATE TABLE memories (id TEXT PRIMARY KEY, user_id TEXT, app_id TEXT, content TEXT, state TEXT, created_at DATETIME, deleted_at DATETIME)`,
		`INSERT INTO memories VALUES ('m1', 'u', 'a1', 'likes tabs', 'active', '2026-03-01 12:00:00.000000', NULL)`,
		`INSERT INTO memories VALUES ('m2', 'u', 'a1', 'gone', 'deleted', '2026-03-01 12:00:00.000000', NULL)`)
	items, _ := read(t, dir, "mem0")
	same(t, notes(items), "L3||likes tabs||2026-03-01")
	if items[0].Note.Source != "cursor" {
		t.Errorf("source %q", items[0].Note.Source)
	}

	history := filepath.Join(t.TempDir(), "history.db")
	database(t, history,
		`CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT, created_at DATETIME, updated_at DATETIME, is_deleted INTEGER)`,
		`INSERT INTO history VALUES ('1', 'a', NULL, 'old', 'ADD', '2026-03-01T10:00:00Z', NULL, 0)`,
		`INSERT INTO history VALUES ('2', 'a', 'old', 'new', 'UPDATE', '2026-03-02T10:00:00Z', '2026-03-03T10:00:00Z', 0)`,
		`INSERT INTO history VALUES ('3', 'b', NULL, 'x', 'ADD', '2026-03-01T10:00:00Z', NULL, 0)`,
		`INSERT INTO history VALUES ('4', 'b', 'x', NULL, 'DELETE', '2026-03-02T10:00:00Z', NULL, 1)`)
	items, _ = read(t, history, "mem0")
	same(t, notes(items), "L3||new||2026-03-03")

	file := filepath.Join(t.TempDir(), "memories.json")
	check(t, os.WriteFile(file, []byte(`{"results":[{"id":"1","memory":"prefers Go","categories":["work"],"created_at":"2026-03-01T10:00:00-07:00"},{"id":"","memory":"x"}]}`), 0o600))
	items, _ = read(t, file, "mem0")
	same(t, notes(items), "L3||prefers Go|work|2026-03-01")
}

func TestMemPalace(t *testing.T) {
	dir := t.TempDir()
	database(t, filepath.Join(dir, "palace", "chroma.sqlite3"),
		`CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id TEXT, embedding_id TEXT, seq_id BLOB, created_at TIMESTAMP)`,
		`CREATE TABLE embedding_metadata (id INTEGER, key TEXT, string_value TEXT, int_value INTEGER, float_value REAL, PRIMARY KEY (id, key))`,
		`INSERT INTO embeddings VALUES (1, 'seg', 'drawer_1', 1, '2026-03-01 12:00:00'), (2, 'seg', 'drawer_2', 2, '2026-03-01 12:00:00')`,
		`INSERT INTO embedding_metadata VALUES (1, 'chroma:document', 'the words', NULL, NULL), (1, 'wing', 'infra', NULL, NULL), (1, 'room', 'db', NULL, NULL),
			(1, 'filed_at', '2026-03-01T12:00:00', NULL, NULL), (2, 'wing', 'infra', NULL, NULL), (2, 'chunk_index', NULL, 3, NULL)`)
	items, problems := read(t, dir, "mempalace")
	same(t, problems)
	same(t, notes(items), "||the words|infra,db|2026-03-01")
}

func TestFolders(t *testing.T) {
	dir := t.TempDir()
	check(t, os.MkdirAll(filepath.Join(dir, "notes", ".obsidian"), 0o700))
	check(t, os.WriteFile(filepath.Join(dir, "notes", "a.md"), []byte("---\ntitle: 'The pool'\ntype: decision\npermalink: notes/a\ntags:\n- db\n- \"#go\"\ncreated: 2026-03-01\n---\n\n# Other\n\n- [fact] it is full\n"), 0o600))
	check(t, os.WriteFile(filepath.Join(dir, "notes", ".obsidian", "x.md"), []byte("hidden"), 0o600))
	check(t, os.WriteFile(filepath.Join(dir, "notes", "x.txt"), []byte("no page"), 0o600))
	items, problems := read(t, dir, "basic-memory")
	same(t, problems)
	same(t, notes(items), "L2|The pool|# Other\n\n- [fact] it is full|decision,db,go|2026-03-01")

	plain := filepath.Join(t.TempDir(), "plain.md")
	check(t, os.WriteFile(plain, []byte("\ufeff# A title\r\n\r\ntext\r\n---\r\n"), 0o600))
	check(t, os.Chtimes(plain, time.Time{}, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)))
	items, _ = read(t, plain, "markdown")
	same(t, notes(items), "L1|A title|# A title\n\ntext\n---||2026-03-01")
}

const gptExport = `[{"conversation_id":"c1","title":"Pools","create_time":1772366400.5,"update_time":1772366500,"current_node":"n4","mapping":{
 "root":{"id":"root","message":null,"parent":null,"children":["n1"]},
 "n1":{"id":"n1","parent":"root","children":["n2","n2b"],"message":{"id":"m1","author":{"role":"user"},"create_time":1772366401,"content":{"content_type":"text","parts":["why is the pool full?"]}}},
 "n2":{"id":"n2","parent":"n1","children":["n3"],"message":{"id":"m2","author":{"role":"assistant"},"create_time":1772366402,"content":{"content_type":"multimodal_text","parts":[{"asset_pointer":"x"},"it leaks"]},"metadata":{"model_slug":"gpt-5"}}},
 "n2b":{"id":"n2b","parent":"n1","children":[],"message":{"id":"m2b","author":{"role":"assistant"},"content":{"parts":["abandoned"]}}},
 "n3":{"id":"n3","parent":"n2","children":["n4"],"message":{"id":"m3","author":{"role":"tool","name":"python"},"content":{"content_type":"execution_output","text":"42"}}},
 "n4":{"id":"n4","parent":"n3","children":[],"message":{"id":"m4","author":{"role":"user"},"create_time":1772366499,"content":{"parts":["thanks"]}}}}},
 {"conversation_id":"","mapping":{}}, {"conversation_id":"c2","mapping":[]},
 {"conversation_id":"loop","mapping":{"a":{"parent":"b","children":["b"]},"b":{"parent":"a","children":["a"],"message":{"author":{"role":"user"},"content":{"parts":["round"]}}}}}]`

const claudeExport = `[{"uuid":"c1","name":"Pools","created_at":"2026-03-01T12:00:00.000000+00:00","chat_messages":[
 {"uuid":"m1","sender":"human","text":"why?","created_at":"2026-03-01T12:00:01Z","content":[{"type":"text","text":"why?"}],"attachments":[{"file_name":"log.txt","file_type":"text/plain","file_size":3,"extracted_content":"abc"}]},
 {"uuid":"m2","sender":"assistant","text":"because","created_at":"2026-03-01T12:00:02Z","content":[{"type":"tool_use","id":"u","name":"search","input":{"q":"x"}},{"type":"tool_result","tool_use_id":"u","content":[{"type":"text","text":"found"}]},{"type":"text","text":"because"}]}]},
 {"uuid":"c2","name":"empty","chat_messages":[]}]`

func shape(items []foreign.Item) (out []string) {
	for _, i := range items {
		c := i.Conversation
		for _, turn := range c.Turns {
			line := c.Session.Agent + "/" + c.Session.ID + "/" + turn.ID + ":"
			for _, m := range turn.Messages {
				line += fmt.Sprintf(" %s(%s)", m.Role, m.Text)
				for _, call := range m.Calls {
					line += fmt.Sprintf(" %s[%s]%s", call.Name, call.Input, call.Output)
				}
			}
			out = append(out, line)
		}
	}
	return out
}

func archive(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "export.zip")
	f, err := os.Create(path)
	check(t, err)
	z := zip.NewWriter(f)
	w, err := z.Create(name)
	check(t, err)
	_, err = w.Write([]byte(content))
	check(t, err)
	check(t, z.Close())
	check(t, f.Close())
	return path
}

func TestChatGPT(t *testing.T) {
	items, problems := read(t, archive(t, "conversations.json", gptExport), "chatgpt")
	same(t, problems, "conversation 2 cannot be read: it has no id", "conversation 3 cannot be read: mapping is a array")
	same(t, shape(items), "chatgpt/c1/m1: user(why is the pool full?) assistant(it leaks) python[]42", "chatgpt/c1/m4: user(thanks)", "chatgpt/loop/b: user(round)")
	if s := items[0].Conversation.Session; s.Title != "Pools" || s.StartedAt.IsZero() {
		t.Errorf("%+v", s)
	}
	again, _ := read(t, archive(t, "conversations-000.json", gptExport), "chatgpt")
	if len(again) != len(items) {
		t.Error("a part of a large export is not read")
	}
}

func TestClaudeAI(t *testing.T) {
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "conversations.json"), []byte(claudeExport), 0o600))
	items, problems := read(t, dir, "claude-ai")
	same(t, problems)
	same(t, shape(items), `claude_ai/c1/m1: user(why?`+"\n\n"+`log.txt: abc) assistant(because) search[{"q":"x"}][{"type":"text","text":"found"}]`)
}

func TestReadingChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	database(t, path, `CREATE TABLE history (memory_id TEXT, new_memory TEXT, event TEXT, created_at TEXT)`, `INSERT INTO history VALUES ('a', 'x', 'ADD', '2026-03-01')`)
	before, err := os.ReadFile(path)
	check(t, err)
	read(t, path, "mem0")
	after, err := os.ReadFile(path)
	check(t, err)
	if string(before) != string(after) {
		t.Error("the database was changed")
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	check(t, err)
	if len(entries) != 1 {
		t.Errorf("files were made: %v", entries)
	}
}

// TestALogIsReadAndLeftAlone has what a program that keeps a log leaves: when it
// has ended well, when it runs, and when it was copied while it ran.
func TestALogIsReadAndLeftAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "history.db")
	db, err := sql.Open("sqlite", path)
	check(t, err)
	db.SetMaxOpenConns(1)
	for _, s := range []string{
		`PRAGMA journal_mode = WAL`, `CREATE TABLE history (memory_id TEXT, new_memory TEXT, event TEXT, created_at TEXT)`,
		`INSERT INTO history VALUES ('a', 'x', 'ADD', '2026-03-01')`,
	} {
		_, err := db.Exec(s)
		check(t, err)
	}
	copied := t.TempDir()
	for _, name := range []string{"history.db", "history.db-wal"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		check(t, err)
		check(t, os.WriteFile(filepath.Join(copied, name), data, 0o600))
	}
	files := func(dir string) (names []string) {
		entries, err := os.ReadDir(dir)
		check(t, err)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	look := func(how, dir string) {
		t.Helper()
		before := files(dir)
		items, problems := read(t, filepath.Join(dir, "history.db"), "mem0")
		if len(items) != 1 || len(problems) != 0 {
			t.Errorf("%s: %d items, %v", how, len(items), problems)
		}
		if after := files(dir); !slices.Equal(before, after) {
			t.Errorf("%s: the files were %v and are %v", how, before, after)
		}
	}
	look("it runs", dir)
	look("copied while it ran", copied)
	check(t, db.Close())
	look("it has ended", dir)
}

// TestWhatMem0DeletedStaysDeleted has its log as mem0 writes it: a deletion has no
// times.
func TestWhatMem0DeletedStaysDeleted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	database(t, path,
		`CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT, created_at DATETIME, updated_at DATETIME, is_deleted INTEGER)`,
		`INSERT INTO history VALUES ('1', 'a', NULL, 'kept', 'ADD', '2026-03-01T10:00:00Z', NULL, 0)`,
		`INSERT INTO history VALUES ('2', 'b', NULL, 'deleted', 'ADD', '2026-03-01T10:00:00Z', NULL, 0)`,
		`INSERT INTO history VALUES ('3', 'b', 'deleted', NULL, 'DELETE', NULL, NULL, 1)`)
	items, _ := read(t, path, "mem0")
	same(t, notes(items), "L3||kept||2026-03-01")
}

// TestSpokenChatsAreRead has a conversation with ChatGPT's voice, whose words stand
// beside the sounds.
func TestSpokenChatsAreRead(t *testing.T) {
	const spoken = `[{"conversation_id":"c1","title":"Knots","create_time":1772366400,"current_node":"n2","mapping":{
		"n1":{"id":"n1","parent":"","children":["n2"],"message":{"id":"m1","author":{"role":"user"},"create_time":1772366401,"content":{"content_type":"multimodal_text","parts":[
			{"content_type":"audio_transcription","text":"how is a hawser spliced?","direction":"in"},{"content_type":"real_time_user_audio_video_asset_pointer","audio_asset_pointer":{"asset_pointer":"x"}}]}}},
		"n2":{"id":"n2","parent":"n1","children":[],"message":{"id":"m2","author":{"role":"assistant"},"content":{"content_type":"multimodal_text","parts":[{"content_type":"audio_transcription","text":"tuck the strands"}]}}}}}]`
	items, problems := read(t, archive(t, "conversations.json", spoken), "chatgpt")
	same(t, problems)
	same(t, shape(items), "chatgpt/c1/m1: user(how is a hawser spliced?) assistant(tuck the strands)")
}

func TestMinutesAreATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.md")
	check(t, os.WriteFile(path, []byte("---\ncreated: 2024-03-01 10:30\n---\ntext\n"), 0o600))
	items, _ := read(t, path, "markdown")
	same(t, notes(items), "L1|a|text||2024-03-01")
}

func TestFindRefuses(t *testing.T) {
	if _, err := foreign.Find(t.TempDir(), ""); ambry.KindOf(err) != ambry.InvalidArgument {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := foreign.Find(t.TempDir(), "nonsense"); ambry.KindOf(err) != ambry.InvalidArgument {
		t.Errorf("an unknown format: %v", err)
	}
	ids := map[string]bool{}
	for _, f := range foreign.Formats {
		if ids[f.ID] || f.Name == "" {
			t.Errorf("format %q is there twice or has no name", f.ID)
		}
		ids[f.ID] = true
	}
}

// fuzzFile reads data as a file of a format, whatever it is.
func fuzzFile(t *testing.T, id, name string, data []byte) {
	path := filepath.Join(t.TempDir(), name)
	check(t, os.WriteFile(path, data, 0o600))
	f, err := foreign.Find(path, id)
	check(t, err)
	_ = f.Is(path)
	for item, err := range f.Read(context.Background(), path) {
		if err == nil && item.Note != nil && (len(item.Note.Content) > 1_000_000 || len(item.Note.Title) > 500) {
			t.Error("a note is larger than a note may be")
		}
	}
}

func FuzzChatGPT(f *testing.F) {
	f.Add([]byte(gptExport))
	f.Add([]byte(`[{"conversation_id":"x","current_node":"a","mapping":{"a":{"parent":"a","children":["a"]}}}]`))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzFile(t, "chatgpt", "conversations.json", data) })
}

func FuzzClaudeAI(f *testing.F) {
	f.Add([]byte(claudeExport))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzFile(t, "claude-ai", "conversations.json", data) })
}

func FuzzMarkdown(f *testing.F) {
	f.Add([]byte("---\ntitle: x\ntags:\n- a\n---\n# h\ntext"))
	f.Add([]byte("---\n---\n"))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzFile(t, "markdown", "x.md", data) })
}

func FuzzMem0(f *testing.F) {
	f.Add([]byte(`[{"id":"1","memory":"x"}]`))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzFile(t, "mem0", "x.json", data) })
}

// A database that is damaged anywhere is read as far as that goes.
func FuzzDamagedDatabase(f *testing.F) {
	path := filepath.Join(f.TempDir(), "engram.db")
	database(f, path, `CREATE TABLE sessions (id TEXT PRIMARY KEY, project TEXT, directory TEXT, summary TEXT)`,
		`CREATE TABLE observations (id INTEGER PRIMARY KEY, session_id TEXT, type TEXT, title TEXT, content TEXT)`,
		`INSERT INTO sessions VALUES ('s', 'p', '/d', 'sum')`, `INSERT INTO observations VALUES (1, 's', 'decision', 't', 'c')`)
	whole, err := os.ReadFile(path)
	check(f, err)
	f.Add(uint16(100), byte(7))
	f.Add(uint16(4096), byte(255))
	f.Fuzz(func(t *testing.T, at uint16, value byte) {
		data := slices.Clone(whole)
		data[int(at)%len(data)] = value
		fuzzFile(t, "engram", "engram.db", data)
	})
}
