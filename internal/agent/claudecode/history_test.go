package claudecode_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/agent/claudecode"
)

// The files that most tests write.
const (
	first  = "11111111-1111-4111-8111-111111111111"
	second = "22222222-2222-4222-8222-222222222222"
)

// row is a record as Claude Code writes it; later pairs of key and value win.
func row(kind, id, at string, more ...any) string {
	o := map[string]any{
		"type": kind, "uuid": id, "parentUuid": nil, "timestamp": at, "sessionId": first, "cwd": "/home/ana/app",
		"version": "2.1.0", "gitBranch": "main", "isSidechain": false, "userType": "external",
	}
	for i := 0; i < len(more); i += 2 {
		o[more[i].(string)] = more[i+1]
	}
	data, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return string(data) + "\n"
}

func prompt(id, at string, content any, more ...any) string {
	return row("user", id, at, append([]any{"message", map[string]any{"role": "user", "content": content}}, more...)...)
}

// reply is a row of an assistant's message. The usage is input, cached and
// output tokens.
func reply(id, at, message string, block map[string]any, usage [3]int, more ...any) string {
	return row("assistant", id, at, append([]any{"requestId", "req_1", "message", map[string]any{
		"id": message, "type": "message", "role": "assistant", "model": "claude-x", "content": []any{block}, "stop_reason": nil,
		"usage": map[string]any{"input_tokens": usage[0], "cache_read_input_tokens": usage[1], "output_tokens": usage[2]},
	}}, more...)...)
}

func says(text string) map[string]any { return map[string]any{"type": "text", "text": text} }

func calls(id, name string) map[string]any {
	return map[string]any{"type": "tool_use", "id": id, "name": name, "input": map[string]any{"n": 1}}
}

func results(id, text string) []any {
	return []any{map[string]any{"type": "tool_result", "tool_use_id": id, "content": text}}
}

// clock returns a time of the day on which all tests happen.
func clock(hour, minute, second int) string {
	return fmt.Sprintf("2026-08-01T%02d:%02d:%02d.000Z", hour, minute, second)
}

// write puts files below .claude/projects of a new home; a name without a
// directory is one of a session's.
func write(t testing.TB, files map[string]string) agent.Home {
	t.Helper()
	home := agent.Home{Dir: t.TempDir(), OS: "linux"}
	for name, data := range files {
		if !strings.Contains(name, "/") {
			name = "-home-ana-app/" + name + ".jsonl"
		}
		path := filepath.Join(home.Dir, ".claude", "projects", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// archive is what a memory holds of a history: each part of a turn once, with
// what any session tells of it.
type archive struct {
	sessions map[string]ambry.Session
	order    []string
	turns    map[string]ambry.Turn // by id and part
	told     map[string]int        // how often a turn came
	skipped  int
}

func (a *archive) add(item agent.Item) {
	c := item.Conversation
	a.skipped += item.Skipped
	if old := a.sessions[c.Session.ID]; c.Session.Title == "" {
		c.Session.Title = old.Title
	}
	a.sessions[c.Session.ID] = c.Session
	for _, turn := range c.Turns {
		key := fmt.Sprintf("%s/%d", turn.ID, turn.Part)
		a.told[key]++
		old, known := a.turns[key]
		if !known {
			a.order = append(a.order, key)
		}
		if !known || len(turn.Messages) >= len(old.Messages) { // a copy may end early
			a.turns[key] = turn
		}
	}
}

func newArchive() *archive {
	return &archive{sessions: map[string]ambry.Session{}, turns: map[string]ambry.Turn{}, told: map[string]int{}}
}

// read reads a whole home.
func read(t testing.TB, home agent.Home) *archive {
	t.Helper()
	a := newArchive()
	history := claudecode.Agent().History
	for src, err := range history.Sources(t.Context(), home) {
		if err != nil {
			t.Fatal(err)
		}
		for item, err := range history.Read(t.Context(), src, agent.Mark{}) {
			if err != nil {
				t.Fatal(err)
			}
			a.add(item)
		}
	}
	return a
}

func readFiles(t *testing.T, files map[string]string) *archive {
	t.Helper()
	return read(t, write(t, files))
}

// readLines reads a single session.
func readLines(t *testing.T, lines ...string) *archive {
	t.Helper()
	return readFiles(t, map[string]string{first: strings.Join(lines, "")})
}

// messages returns the messages of all turns in the order in which they came.
func (a *archive) messages() []ambry.Message {
	var all []ambry.Message
	for _, key := range a.order {
		all = append(all, a.turns[key].Messages...)
	}
	return all
}

func (a *archive) tokens() (sum ambry.Tokens) {
	for _, turn := range a.turns {
		sum = sum.Add(turn.Tokens)
	}
	return sum
}

// transcript is what the archive holds, in a form that tests can tell: a line
// for each message with role and text, hidden ones in brackets.
func (a *archive) transcript() string {
	var b strings.Builder
	for i, key := range a.order {
		if i > 0 {
			b.WriteString("--\n")
		}
		for _, m := range a.turns[key].Messages {
			line := fmt.Sprintf("%s: %s", m.Role, m.Text)
			for _, c := range m.Calls {
				line += fmt.Sprintf(" {%s=%s}", c.Name, c.Output)
			}
			if m.Hidden {
				line = "(" + line + ")"
			}
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

func wantTranscript(t *testing.T, a *archive, want string) {
	t.Helper()
	want = strings.TrimPrefix(want, "\n")
	if got := a.transcript(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func wantTokens(t *testing.T, a *archive, input, cached, output int64) {
	t.Helper()
	want := ambry.Tokens{Input: input, Cached: cached, Output: output}
	if got := a.tokens(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func at(t *testing.T, clock string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339, clock)
	if err != nil {
		t.Fatal(err)
	}
	return when
}
