package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// say appends turns to a session in the history of an agent: what a person asks
// and what the agent answers, as the agent itself writes it down. With -n there
// are as many turns, and {} in the texts is the number of each.
func say(ts *testscript.TestScript, neg bool, args []string) {
	turns := 1
	if len(args) > 2 && args[0] == "-n" {
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		turns, args = n, args[2:]
	}
	if neg || len(args) != 4 {
		ts.Fatalf("usage: say [-n turns] claude|codex number question answer")
	}
	which, err := strconv.Atoi(args[1])
	ts.Check(err)
	s := session{id: fmt.Sprintf("5e551011-0000-4000-8000-%012d", which), project: "/srv/tidewatch"}
	var path string
	var write func(int, time.Time, string, string) []any
	switch args[0] {
	case "claude":
		path = filepath.Join(ts.Getenv("HOME"), ".claude", "projects", "-srv-tidewatch", s.id+".jsonl")
		write = s.claude
	case "codex":
		path = filepath.Join(ts.Getenv("HOME"), ".codex", "sessions", "2026", "05", "01", "rollout-2026-05-01T10-00-00-"+s.id+".jsonl")
		write = s.codex
	default:
		ts.Fatalf("no agent %s", args[0])
	}
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	ts.Check(err)
	end, err := f.Seek(0, 2)
	ts.Check(err)
	lines := json.NewEncoder(f)
	for i := range turns {
		// The place in the file makes what is said later later, and each id new.
		at := time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC).Add(time.Duration(int(end)+i) * time.Second)
		for _, line := range write(int(end)+i, at, number(args[2], i), number(args[3], i)) {
			ts.Check(lines.Encode(line))
		}
	}
	ts.Check(f.Close())
}

// number replaces {} by i.
func number(text string, i int) string {
	for at := range len(text) - 1 {
		if text[at:at+2] == "{}" {
			return text[:at] + strconv.Itoa(i) + text[at+2:]
		}
	}
	return text
}

type session struct{ id, project string }

type object = map[string]any

func stamp(at time.Time) string { return at.Format("2006-01-02T15:04:05.000Z07:00") }

// claude writes a turn as Claude Code 2 does.
func (s session) claude(n int, at time.Time, question, answer string) []any {
	id := func(kind int) string { return fmt.Sprintf("%08x-0000-4000-800%d-%s", n, kind, s.id[24:]) }
	line := func(kind string, number int, message object) object {
		return object{
			"type": kind, "uuid": id(number), "parentUuid": nil, "sessionId": s.id, "cwd": s.project, "version": "2.1.239",
			"gitBranch": "main", "isSidechain": false, "userType": "external", "timestamp": stamp(at), "message": message,
		}
	}
	tool := object{"type": "tool_use", "id": fmt.Sprintf("toolu_%d_%s", n, s.id), "name": "Bash", "input": object{"command": "go test ./..."}}
	return []any{
		line("user", 1, object{"role": "user", "content": question}),
		line("assistant", 2, object{
			"id": fmt.Sprintf("msg_%d_%s", n, s.id), "type": "message", "role": "assistant", "model": "claude-sonnet-5",
			"content": []any{object{"type": "text", "text": answer}, tool},
			"usage":   object{"input_tokens": 4, "output_tokens": 8},
		}),
		line("user", 3, object{"role": "user", "content": []any{
			object{"type": "tool_result", "tool_use_id": tool["id"], "content": "ok  tidewatch 0.3s"},
		}}),
	}
}

// codex writes a turn as Codex 0.149 does, and before the first the head of the
// session.
func (s session) codex(n int, at time.Time, question, answer string) []any {
	line := func(kind string, payload object) object {
		return object{"timestamp": stamp(at), "type": kind, "payload": payload}
	}
	message := func(role, kind, text string) object {
		return line("response_item", object{"type": "message", "role": role, "content": []any{object{"type": kind, "text": text}}})
	}
	turn := fmt.Sprintf("%08x-0000-7000-8000-%s", n, s.id[24:])
	var lines []any
	if n == 0 {
		lines = append(lines, line("session_meta", object{
			"id": s.id, "session_id": s.id, "timestamp": stamp(at), "cwd": s.project, "originator": "codex-tui", "source": "cli",
			"cli_version": "0.149.0", "model_provider": "openai", "git": object{"branch": "main"},
		}))
	}
	return append(lines,
		line("event_msg", object{"type": "task_started", "turn_id": turn}),
		line("turn_context", object{"turn_id": turn, "cwd": s.project, "model": "gpt-5.6-codex"}),
		message("user", "input_text", question),
		line("event_msg", object{"type": "user_message", "message": question}),
		message("assistant", "output_text", answer),
		line("event_msg", object{"type": "agent_message", "message": answer}),
		line("event_msg", object{"type": "task_complete", "turn_id": turn, "last_agent_message": answer}),
	)
}
