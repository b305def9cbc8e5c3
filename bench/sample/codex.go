package main

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

const (
	codexVersion = "0.149.0"
	codexModel   = "gpt-5.6-codex"
)

// codexFile is a rollout of Codex in its older form, see docs/formats.
type codexFile struct {
	scribe
	story         story
	thread        string
	input, output int // tokens so far
	last          string
}

func (h *home) codex(s story) error {
	f := &codexFile{scribe: scribe{seed: s.agent + s.cwd + s.title, now: s.at}, story: s}
	f.thread = f.uuid(true)
	started := f.now
	if err := f.begin(); err != nil {
		return err
	}
	for len(s.steps) > 0 {
		n := 1
		for n < len(s.steps) && s.steps[n].mark != '>' {
			n++
		}
		if err := f.turn(s.steps[:n]); err != nil {
			return err
		}
		s.steps = s.steps[n:]
	}
	index, err := json.Marshal(object{"id": f.thread, "thread_name": s.title, "updated_at": stamp(f.now)})
	if err != nil {
		return err
	}
	if err := h.add(".codex/session_index.jsonl", append(index, '\n')); err != nil {
		return err
	}
	name := fmt.Sprintf("rollout-%s-%s.jsonl", started.Format("2006-01-02T15-04-05"), f.thread)
	dir := path.Join(".codex/sessions", started.Format("2006/01/02"))
	if h.files["codex"] == 1 { // the oldest one
		dir = ".codex/archived_sessions"
	}
	return h.save(path.Join(dir, name), f.buf.Bytes(), f.now)
}

// line writes a record. kind is the type within the payload, if it has one.
func (f *codexFile) line(typ, kind string, payload object) error {
	if kind != "" {
		payload["type"] = kind
	}
	return f.row(struct {
		Timestamp string `json:"timestamp"`
		Type      string `json:"type"`
		Payload   object `json:"payload"`
	}{f.pause(0, 3), typ, payload})
}

// lines writes records until the first error.
func (f *codexFile) lines(records ...record) error {
	for _, r := range records {
		if err := f.line(r.typ, r.kind, r.payload); err != nil {
			return err
		}
	}
	return nil
}

type record struct {
	typ, kind string
	payload   object
}

func text(kind, s string) []object { return []object{{"type": kind, "text": s}} }

func (f *codexFile) begin() error {
	return f.lines(
		record{"session_meta", "", object{
			"id": f.thread, "session_id": f.thread, "timestamp": stamp(f.now), "cwd": f.story.cwd,
			"originator": "codex-tui", "cli_version": codexVersion, "source": "cli", "model_provider": "openai",
			"base_instructions": object{"text": "You are Codex, a coding agent."},
			"git":               object{"commit_hash": fmt.Sprintf("%x", f.hash())[:40], "branch": f.story.branch},
		}},
		record{"response_item", "message", object{"role": "developer", "content": text("input_text",
			"<permissions instructions>The sandbox may write in the workspace.</permissions instructions>")}},
		record{"response_item", "message", object{"role": "user", "content": text("input_text",
			"<environment_context>\n  <cwd>"+f.story.cwd+"</cwd>\n  <shell>bash</shell>\n</environment_context>")}},
	)
}

// turn writes a request and all that follows it.
func (f *codexFile) turn(steps []step) error {
	f.pause(40, 200)
	id, asked := f.uuid(true), steps[0].text
	err := f.lines(
		record{"event_msg", "task_started", object{"turn_id": id, "model_context_window": 272_000}},
		record{"turn_context", "", object{
			"turn_id": id, "cwd": f.story.cwd, "model": codexModel, "effort": "medium", "approval_policy": "on-request",
			"sandbox_policy": object{"type": "workspace-write"}, "current_date": f.now.Format("2006-01-02"), "timezone": "UTC",
		}},
		record{"response_item", "message", object{"role": "user", "content": text("input_text", asked)}},
		record{"event_msg", "user_message", object{"message": asked, "images": []string{}, "local_images": []string{}, "text_elements": []string{}}},
	)
	if err != nil {
		return err
	}
	for i, s := range steps[1:] {
		if err := f.step(s, i+2 == len(steps)); err != nil {
			return err
		}
	}
	return f.line("event_msg", "task_complete", object{"turn_id": id, "last_agent_message": f.last})
}

func (f *codexFile) step(s step, last bool) error {
	switch s.mark {
	case '?':
		return f.line("response_item", "reasoning", object{"summary": text("summary_text", s.text), "content": nil, "encrypted_content": f.id("gAAAA")})
	case '<':
		phase := "commentary"
		if last {
			phase = "final_answer"
		}
		f.last = s.text
		return f.lines(
			record{"event_msg", "agent_message", object{"message": s.text, "phase": phase}},
			record{"response_item", "message", object{"role": "assistant", "content": text("output_text", s.text), "phase": phase}},
			f.tokens(),
		)
	case '+':
		return f.patch(s)
	}
	command := s.text
	if s.mark == '@' {
		command = "cat " + s.text
	}
	return f.run(command, s.output(), s.exit)
}

func (f *codexFile) run(command, output string, exit int) error {
	arguments, err := json.Marshal(object{"cmd": command, "workdir": f.story.cwd})
	if err != nil {
		return err
	}
	call := f.id("call_")
	f.pause(1, 20)
	result := fmt.Sprintf("Chunk ID: %06x\nWall time: %.4f seconds\nProcess exited with code %d\nOutput:\n%s\n",
		f.number(0, 1<<24), float64(f.number(100, 30_000))/1e4, exit, output)
	return f.lines(
		record{"response_item", "function_call", object{"name": "exec_command", "arguments": string(arguments), "call_id": call}},
		record{"response_item", "function_call_output", object{"call_id": call, "output": result}},
		f.tokens(),
	)
}

func (f *codexFile) patch(s step) error {
	removed, added := s.change()
	verb := "Update"
	if len(removed) == 0 {
		verb = "Add"
	}
	var patch strings.Builder
	fmt.Fprintf(&patch, "*** Begin Patch\n*** %s File: %s\n", verb, s.text)
	if verb == "Update" {
		patch.WriteString("@@\n")
	}
	for _, line := range removed {
		fmt.Fprintf(&patch, "-%s\n", line)
	}
	for _, line := range added {
		fmt.Fprintf(&patch, "+%s\n", line)
	}
	patch.WriteString("*** End Patch")
	result, err := json.Marshal(object{
		"output":   fmt.Sprintf("Success. Updated the following files:\n%s %s\n", verb[:1], s.text),
		"metadata": object{"exit_code": 0, "duration_seconds": 0.1},
	})
	if err != nil {
		return err
	}
	call := f.id("call_")
	return f.lines(
		record{"response_item", "custom_tool_call", object{"status": "completed", "call_id": call, "name": "apply_patch", "input": patch.String()}},
		record{"response_item", "custom_tool_call_output", object{"call_id": call, "output": string(result)}},
	)
}

func (f *codexFile) tokens() record {
	input, output := f.number(3_000, 60_000), f.number(40, 900)
	f.input, f.output = f.input+input, f.output+output
	count := func(in, out int) object {
		return object{"input_tokens": in, "cached_input_tokens": in / 2, "output_tokens": out, "reasoning_output_tokens": out / 3, "total_tokens": in + out}
	}
	return record{"event_msg", "token_count", object{
		"info": object{
			"last_token_usage": count(input, output), "total_token_usage": count(f.input, f.output), "model_context_window": 272_000,
		},
		"rate_limits": nil,
	}}
}
