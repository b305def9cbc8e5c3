package codex_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/agent/codex"
)

// Ids as Codex makes them, with a time in them: a parent, two turns of it, and
// a session that was made later, with a turn of its own.
const (
	parentID = "019fbcc4-2900-7001-8001-000000000001"
	turnA    = "019fbcc4-2a90-7011-8011-000000000011"
	turnB    = "019fbcc5-3d90-7012-8012-000000000012"
	laterID  = "019fc1b3-9680-7002-8002-000000000002"
	laterOwn = "019fc1b4-3770-7021-8021-000000000021"
)

type obj map[string]any

// at is the time of the records that line makes.
const at = "2026-08-01T10:00:00.123Z"

func line(t string, payload any) string {
	data, err := json.Marshal(obj{"timestamp": at, "type": t, "payload": payload})
	if err != nil {
		panic(err)
	}
	return string(data)
}

// with returns a payload with its type.
func with(t string, fields ...any) obj {
	p := obj{"type": t}
	for i := 0; i < len(fields); i += 2 {
		p[fields[i].(string)] = fields[i+1]
	}
	return p
}

func item(t string, fields ...any) string  { return line("response_item", with(t, fields...)) }
func event(t string, fields ...any) string { return line("event_msg", with(t, fields...)) }

func meta(id string, fields ...any) string {
	p := with("", fields...)
	delete(p, "type")
	p["id"] = id
	if _, given := p["cwd"]; !given {
		p["cwd"] = "/home/ana/shop"
	}
	return line("session_meta", p)
}

func parts(kind, text string) []obj { return []obj{{"type": kind, "text": text}} }

func prompt(text string) string {
	return item("message", "role", "user", "content", parts("input_text", text))
}

func reply(text string) string {
	return item("message", "role", "assistant", "content", parts("output_text", text))
}

// asked is a prompt as the interactive program writes it, twice.
func asked(text string) string { return prompt(text) + "\n" + event("user_message", "message", text) }

// answered is an answer as it writes it.
func answered(text string) string {
	return event("agent_message", "message", text) + "\n" + reply(text)
}

func started(turn string) string { return event("task_started", "turn_id", turn) }
func ended(turn string) string   { return event("task_complete", "turn_id", turn) }

func spent(last, total obj) string {
	return event("token_count", "info", obj{"last_token_usage": last, "total_token_usage": total})
}

// save writes a file of lines into a home and returns its path.
func save(t *testing.T, home, rel string, lines ...string) string {
	t.Helper()
	path := filepath.Join(home, ".codex", filepath.FromSlash(rel))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func rollout(id string) string {
	return "sessions/2026/08/01/rollout-2026-08-01T10-00-00-" + id + ".jsonl"
}

// found is what is in a home: sessions by id, and turns as a memory keeps them.
type found struct {
	sessions map[string]ambry.Session
	turns    map[string]ambry.Turn // by id and part
	order    []string
	skipped  int
	failed   []string
}

func find(t *testing.T, home string) found {
	t.Helper()
	f := found{sessions: map[string]ambry.Session{}, turns: map[string]ambry.Turn{}}
	for src, err := range codex.Agent().History.Sources(t.Context(), agent.Home{Dir: home, OS: "linux"}) {
		if err != nil {
			f.failed = append(f.failed, src.Path)
			continue
		}
		for read, err := range codex.Agent().History.Read(t.Context(), src, agent.Mark{}) {
			if err != nil {
				f.failed = append(f.failed, src.Path)
				continue
			}
			f.skipped += read.Skipped
			s := read.Conversation.Session
			f.sessions[s.ID] = s
			for _, turn := range read.Conversation.Turns {
				key := fmt.Sprintf("%s/%d", turn.ID, turn.Part)
				if _, known := f.turns[key]; !known {
					f.order = append(f.order, key)
				}
				f.turns[key] = turn
			}
		}
	}
	return f
}

// read returns what is in one file of these lines.
func read(t *testing.T, lines ...string) found {
	t.Helper()
	home := t.TempDir()
	save(t, home, rollout(parentID), lines...)
	f := find(t, home)
	if len(f.failed) > 0 {
		t.Fatalf("not read: %v", f.failed)
	}
	return f
}

// said tells the messages that are shown, as "user: text". Calls follow theirs,
// as "name(input)=output".
func (f found) said() (all []string) {
	for _, key := range f.order {
		for _, m := range f.turns[key].Messages {
			if m.Hidden {
				continue
			}
			if m.Text != "" || len(m.Files) > 0 {
				all = append(all, string(m.Role)+": "+m.Text)
			}
			for _, c := range m.Calls {
				all = append(all, fmt.Sprintf("%s(%s)=%s", c.Name, c.Input, c.Output))
			}
		}
	}
	return all
}

func (f found) tokens() (sum ambry.Tokens) {
	for _, turn := range f.turns {
		sum = sum.Add(turn.Tokens)
	}
	return sum
}

// hidden tells the messages that are kept, and not shown.
func (f found) hidden() (all []string) {
	for _, key := range f.order {
		for _, m := range f.turns[key].Messages {
			if m.Hidden {
				all = append(all, string(m.Role)+": "+m.Text)
			}
		}
	}
	return all
}
