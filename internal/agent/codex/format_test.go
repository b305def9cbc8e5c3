package codex_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/agent/codex"
)

const environment = "<environment_context>\n<cwd>/home/ana/shop</cwd>\n</environment_context>"

func TestWhatIsTwiceInTheFileIsToldOnce(t *testing.T) {
	said := func(texts ...string) []string { return texts }
	for name, c := range map[string]struct {
		lines []string
		want  []string
	}{
		"items first": {
			said(prompt("one"), event("user_message", "message", "one"), reply("first"), event("agent_message", "message", "first")),
			said("user: one", "assistant: first"),
		},
		"events first": {
			said(event("user_message", "message", "one"), prompt("one"), event("agent_message", "message", "first"), reply("first")),
			said("user: one", "assistant: first"),
		},
		"events only": {
			said(event("user_message", "message", "one"), event("agent_message", "message", "first")),
			said("user: one", "assistant: first"),
		},
		"items only": {
			said(prompt("one"), reply("first")),
			said("user: one", "assistant: first"),
		},
		"the same words again": {
			said(asked("yes"), answered("ok"), answered("ok"), asked("yes"), answered("ok")),
			said("user: yes", "assistant: ok", "assistant: ok", "user: yes", "assistant: ok"),
		},
		"one after the other": {
			said(prompt("one"), event("user_message", "message", "one"),
				event("agent_message", "message", "a"), event("agent_message", "message", "b"), reply("a"), reply("b")),
			said("user: one", "assistant: a", "assistant: b"),
		},
		"events of some turns only": {
			said(asked("one"), answered("first"), prompt("two"), reply("second"), event("user_message", "message", "three"), reply("third")),
			said("user: one", "assistant: first", "user: two", "assistant: second", "user: three", "assistant: third"),
		},
		"an item that no event tells": {
			said(started(turnA), prompt("<something new>injected</something new>"), asked("one"), prompt("<and more>injected"), answered("first")),
			said("user: one", "assistant: first"),
		},
		"an item that no event tells, without ids": {
			said(prompt("<something new>injected</something new>"), asked("one"), answered("first")),
			said("user: one", "assistant: first"),
		},
		"a person who steers": {
			said(started(turnA), asked("one"), answered("a"), asked("no, so"), answered("b"), ended(turnA)),
			said("user: one", "assistant: a", "user: no, so", "assistant: b"),
		},
		"the last message told at the end": {
			said(started(turnA), asked("one"), answered("a"), event("task_complete", "turn_id", turnA, "last_agent_message", "a")),
			said("user: one", "assistant: a"),
		},
		"citations": {
			said(asked("one"), event("agent_message", "message", "a."), reply("a.<oai-mem-citation>x</oai-mem-citation>")),
			said("user: one", "assistant: a."),
		},
		"a plan": {
			said(asked("one"), completed(turnA, "Plan", "id", "p", "text", "1. do"), event("agent_message", "message", "Here:"),
				reply("Here:\n<proposed_plan>\n1. do\n</proposed_plan>\n")),
			said("user: one", "assistant: 1. do", "assistant: Here:"),
		},
		"a plan that only the item tells": {
			said(asked("one"), reply("Here:\n<proposed_plan>\n1. do\n</proposed_plan>\n")),
			said("user: one", "assistant: Here:", "assistant: 1. do"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := read(t, append([]string{meta(parentID)}, c.lines...)...).said()
			for i := range got {
				got[i] = strings.TrimSpace(got[i])
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSteeringStaysInItsTurn(t *testing.T) {
	f := read(t, meta(parentID), started(turnA), asked("one"), answered("a"), asked("no, so"), ended(turnA), asked("after the end"))
	if len(f.order) != 2 || f.order[0] != turnA+"/0" || len(f.turns[turnA+"/0"].Messages) != 3 {
		t.Errorf("got %v", f.order)
	}
}

func TestInjectedContextIsHidden(t *testing.T) {
	for name, c := range map[string]struct {
		message string
		own     string
	}{
		"environment":         {environment, ""},
		"instructions":        {"<user_instructions>\nuse tabs\n</user_instructions>", ""},
		"AGENTS.md":           {"# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nuse tabs\n</INSTRUCTIONS>", ""},
		"bare instructions":   {"<INSTRUCTIONS>use tabs</INSTRUCTIONS>", ""},
		"permissions":         {"<permissions instructions>none</permissions instructions>", ""},
		"aborted":             {"<turn_aborted>\nby the user\n</turn_aborted>", ""},
		"a hook":              {`<hook_prompt hook_run_id="1">again</hook_prompt>`, ""},
		"a skill":             {"<skill>\n<name>x</name>\n</skill>", ""},
		"a shell command":     {"<user_shell_command>ls</user_shell_command>", ""},
		"a sub-agent":         {"<subagent_notification>{}</subagent_notification>", ""},
		"a warning":           {"Warning: apply_patch was requested via exec_command. Use the tool.", ""},
		"two of them":         {environment + "\n\n<skill>x</skill>\n", ""},
		"not closed":          {"<environment_context>\n<cwd>/x", ""},
		"before a prompt":     {environment + "\n\nfix it", "fix it"},
		"of the editor":       {"# Context from my IDE setup:\n\n## Open tabs: a.go\n\n## My request for Codex:\nfix it\n", "fix it"},
		"not of Codex":        {"<task>fix it</task>", "<task>fix it</task>"},
		"a name that is more": {"<skillful>fix it</skillful>", "<skillful>fix it</skillful>"},
		"in the midst":        {"what is <environment_context>?", "what is <environment_context>?"},
		"white space":         {"  fix it", "  fix it"},
	} {
		t.Run(name, func(t *testing.T) {
			for form, lines := range map[string][]string{
				"item":  {prompt(c.message)},
				"event": {event("user_message", "message", c.message)},
				"both":  {asked(c.message)},
			} {
				f := read(t, append([]string{meta(parentID), started(turnA)}, append(lines, answered("ok"))...)...)
				want := []string{"user: " + c.own, "assistant: ok"}
				if c.own == "" {
					want = want[1:]
				}
				if diff := cmp.Diff(want, f.said()); diff != "" {
					t.Errorf("%s: %s", form, diff)
				}
				if c.own != c.message && len(f.hidden()) == 0 && form == "item" {
					t.Errorf("%s: the context is not kept", form)
				}
				if title := f.sessions[parentID].Title; title != strings.TrimSpace(c.own) {
					t.Errorf("%s: the title is %q", form, title)
				}
			}
		})
	}
}

func TestOtherRolesAreHidden(t *testing.T) {
	f := read(t, meta(parentID), started(turnA), asked("one"),
		item("message", "role", "developer", "content", parts("input_text", "be good")),
		item("message", "role", "system", "content", parts("input_text", "be short")),
		item("message", "role", "assistant", "content", parts("output_text", `{"author":"/root/a","recipient":"/root","content":"done"}`)),
		line("inter_agent_communication", obj{"author": "/root/a", "recipient": "/root", "content": "done", "trigger_turn": false}),
		item("agent_message", "author", "/root/a", "recipient", "/root", "content", parts("input_text", "done")),
	)
	if diff := cmp.Diff([]string{"user: one"}, f.said()); diff != "" {
		t.Error(diff)
	}
	if got := len(f.hidden()); got != 5 {
		t.Errorf("%d are kept", got)
	}
}

func TestToolsOfAllKinds(t *testing.T) {
	wrapped := `{"output":"out","metadata":{"exit_code":3,"duration_seconds":0.1}}`
	three, zero := 3, 0
	for name, c := range map[string]struct {
		lines []string
		want  ambry.ToolCall
	}{
		"function, text": {
			[]string{item("function_call", "name", "shell", "arguments", `{"a":1}`, "call_id", "c"), item("function_call_output", "call_id", "c", "output", "plain")},
			ambry.ToolCall{Name: "shell", Input: `{"a":1}`, Output: "plain"},
		},
		"function, JSON": {
			[]string{item("function_call", "name", "shell", "arguments", `{}`, "call_id", "c"), item("function_call_output", "call_id", "c", "output", wrapped)},
			ambry.ToolCall{Name: "shell", Input: `{}`, Output: "out", ExitCode: &three, Failed: true},
		},
		"function, head lines": {
			[]string{item("function_call", "name", "shell", "arguments", `{}`, "call_id", "c"), item("function_call_output", "call_id", "c", "output", "Exit code: 3\nWall time: 1 seconds\nTotal output lines: 9\nOutput:\nout\nOutput:\n")},
			ambry.ToolCall{Name: "shell", Input: `{}`, Output: "out\nOutput:\n", ExitCode: &three, Failed: true},
		},
		"still running": {
			[]string{item("function_call", "name", "exec_command", "arguments", `{}`, "call_id", "c"), item("function_call_output", "call_id", "c", "output", "Chunk ID: 1\nWall time: 1 seconds\nProcess running with session ID 7\nOutput:\nhalf")},
			ambry.ToolCall{Name: "exec_command", Input: `{}`, Output: "half"},
		},
		"head lines that are none": {
			[]string{item("function_call", "name", "cat", "arguments", `{}`, "call_id", "c"), item("function_call_output", "call_id", "c", "output", "Exit code: 3\nsays the manual\nOutput:\n")},
			ambry.ToolCall{Name: "cat", Input: `{}`, Output: "Exit code: 3\nsays the manual\nOutput:\n"},
		},
		"output as an object": {
			[]string{item("function_call", "name", "x", "arguments", `{}`, "call_id", "c"), item("function_call_output", "call_id", "c", "output", obj{"content": "no", "success": false})},
			ambry.ToolCall{Name: "x", Input: `{}`, Output: "no", Failed: true},
		},
		"output as a list": {
			[]string{item("function_call", "name", "x", "arguments", `{}`, "call_id", "c"), item("function_call_output", "call_id", "c", "output", append(parts("input_text", "a"), obj{"type": "input_image", "image_url": "data:image/png;base64,QUJD"}, obj{"type": "input_text", "text": "b"}))},
			ambry.ToolCall{Name: "x", Input: `{}`, Output: "a\nb"},
		},
		"arguments as an object": {
			[]string{item("function_call", "name", "x", "arguments", obj{"a": 1}, "call_id", "c"), item("function_call_output", "call_id", "c", "output", "")},
			ambry.ToolCall{Name: "x", Input: `{"a":1}`},
		},
		"namespace": {
			[]string{item("function_call", "namespace", "mcp__tracker__", "name", "find", "arguments", `{}`, "call_id", "c"), item("function_call_output", "call_id", "c", "output", "x")},
			ambry.ToolCall{Name: "mcp__tracker__find", Input: `{}`, Output: "x"},
		},
		"custom": {
			[]string{
				item("custom_tool_call", "name", "apply_patch", "input", "*** Begin", "call_id", "c", "id", "other"),
				event("patch_apply_end", "call_id", "c", "success", false, "stdout", "", "stderr", "no such file", "changes", obj{}),
				item("custom_tool_call_output", "call_id", "c", "output", ""),
			},
			ambry.ToolCall{Name: "apply_patch", Input: "*** Begin", Output: "no such file", Failed: true},
		},
		"local shell": {
			[]string{item("local_shell_call", "call_id", "c", "action", obj{"command": []string{"ls"}}), item("function_call_output", "call_id", "c", "output", "x")},
			ambry.ToolCall{Name: "local_shell", Input: `{"command":["ls"]}`, Output: "x"},
		},
		"tool search": {
			[]string{item("tool_search_call", "call_id", "c", "arguments", obj{"query": "x"}), item("tool_search_output", "call_id", "c", "tools", []obj{{"name": "find"}})},
			ambry.ToolCall{Name: "tool_search", Input: `{"query":"x"}`, Output: `[{"name":"find"}]`},
		},
		"command with its end": {
			[]string{
				item("function_call", "name", "exec_command", "arguments", `{}`, "call_id", "c"),
				event("exec_command_end", "call_id", "c", "command", []string{"ls"}, "exit_code", 3, "aggregated_output", "x", "duration", obj{"secs": 1, "nanos": 2}),
				item("function_call_output", "call_id", "c", "output", "Output:\nx"),
			},
			ambry.ToolCall{Name: "exec_command", Input: `{}`, Output: "x", ExitCode: &three, Failed: true},
		},
		"the end of a command alone": {
			[]string{event("exec_command_end", "call_id", "c", "command", []string{"bash", "-lc", "ls -l"}, "exit_code", 0, "stdout", "x", "stderr", "y")},
			ambry.ToolCall{Name: "exec_command", Input: "ls -l", Output: "xy", ExitCode: &zero},
		},
		"the end of an MCP call alone": {
			[]string{event("mcp_tool_call_end", "call_id", "c", "invocation", obj{"server": "tracker", "tool": "find", "arguments": obj{"q": 1}}, "result", obj{"Err": "gone"})},
			ambry.ToolCall{Name: "mcp__tracker__find", Input: `{"q":1}`, Output: "gone", Failed: true},
		},
		"a tool of the program around it": {
			[]string{event("dynamic_tool_call_response", "call_id", "c", "tool", "open", "arguments", obj{"a": 1}, "content_items", parts("inputText", "opened"), "success", true)},
			ambry.ToolCall{Name: "open", Input: `{"a":1}`, Output: "opened"},
		},
		"view image": {
			[]string{event("view_image_tool_call", "call_id", "c", "path", "/x/a.png")},
			ambry.ToolCall{Name: "view_image", Input: "/x/a.png"},
		},
		"a sub-agent": {
			[]string{
				item("function_call", "name", "spawn_agent", "arguments", `{"task":"x"}`, "call_id", "c"),
				event("collab_agent_spawn_end", "call_id", "c", "sender_thread_id", parentID, "new_thread_id", laterID, "prompt", "x"),
				item("function_call_output", "call_id", "c", "output", `{"agent_id":"x"}`),
			},
			ambry.ToolCall{Name: "spawn_agent", Input: `{"task":"x"}`, Output: `{"agent_id":"x"}`, Session: laterID},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := read(t, append([]string{meta(parentID), asked("one")}, c.lines...)...)
			var got []ambry.ToolCall
			for _, turn := range f.turns {
				for _, m := range turn.Messages {
					got = append(got, m.Calls...)
				}
			}
			want := c.want
			want.ID, want.Done = "c", true
			if len(got) == 1 {
				want.At = got[0].At
			}
			if diff := cmp.Diff([]ambry.ToolCall{want}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParallelCallsArePairedByCallID(t *testing.T) {
	call := func(id string) string {
		return item("function_call", "id", "fc", "name", id, "arguments", id, "call_id", id)
	}
	output := func(id string) string { return item("function_call_output", "call_id", id, "output", "of "+id) }
	f := read(t, meta(parentID), asked("one"), answered("doing"), call("a"), call("b"), call("never"), output("b"), output("a"), call("c"), output("c"), output("stray"))
	want := []string{"user: one", "assistant: doing", "a(a)=of a", "b(b)=of b", "never(never)=", "c(c)=of c", "unknown()=of stray"}
	if diff := cmp.Diff(want, f.said()); diff != "" {
		t.Error(diff)
	}
}

func TestASearchIsToldOnce(t *testing.T) {
	action := obj{"type": "search", "query": "go"}
	for name, lines := range map[string][]string{
		"by id":      {event("web_search_end", "call_id", "ws", "query", "go", "action", action), item("web_search_call", "id", "ws", "status", "completed", "action", action)},
		"without id": {event("web_search_end", "call_id", "ws", "query", "go", "action", action), item("web_search_call", "status", "completed", "action", action)},
		"item first": {item("web_search_call", "status", "completed", "action", action), event("web_search_end", "call_id", "ws", "query", "go", "action", action)},
	} {
		f := read(t, append([]string{meta(parentID), asked("one")}, lines...)...)
		want := []string{"user: one", `web_search({"query":"go","type":"search"})=`}
		if diff := cmp.Diff(want, f.said()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestPicturesAreToldAndNotKept(t *testing.T) {
	data := strings.Repeat("QUJD", 1<<20) // 3 MiB
	f := read(t, meta(parentID),
		item("message", "role", "user", "content", []obj{
			{"type": "input_text", "text": "look"},
			{"type": "input_text", "text": "<image name=[Image #1]>"},
			{"type": "input_image", "image_url": "data:image/png;base64," + data},
			{"type": "input_text", "text": "</image>"},
		}),
		event("user_message", "message", "look", "images", []string{"data:image/png;base64," + data}, "local_images", []string{}),
		item("image_generation_call", "id", "ig", "status", "completed", "revised_prompt", "a cat", "result", data),
		event("image_generation_end", "call_id", "ig", "status", "completed", "revised_prompt", "a cat", "result", data),
		asked("by address"), event("user_message", "message", "remote", "images", []string{"https://example.com/a.png"}, "local_images", []string{`C:\Users\ana\b.png`}),
	)
	var files []ambry.Attached
	for _, key := range f.order {
		for _, m := range f.turns[key].Messages {
			if len(m.Text) > 100 {
				t.Errorf("a text of %d bytes", len(m.Text))
			}
			files = append(files, m.Files...)
		}
	}
	want := []ambry.Attached{
		{Kind: "image", Mime: "image/png", Bytes: 3 << 20},
		{Kind: "image", Bytes: 3 << 20},
		{Kind: "image", Name: "https://example.com/a.png"},
		{Kind: "image", Name: "b.png"},
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Error(diff)
	}
}

func TestNoticesOfCodex(t *testing.T) {
	f := read(t, meta(parentID), started(turnA), asked("one"), answered("first"),
		line("compacted", obj{"message": "they said one", "replacement_history": []obj{with("message", "role", "user", "content", parts("input_text", "one"))}}),
		event("context_compacted"), line("compacted", obj{"message": "", "replacement_history": []obj{}}),
		event("entered_review_mode", "user_facing_hint", "current changes"), event("exited_review_mode", "review_output", nil),
		event("error", "message", "stream closed"), event("turn_aborted", "turn_id", turnA, "reason", "interrupted"),
		item("ghost_snapshot", "ghost_commit", obj{}), item("reasoning", "summary", parts("summary_text", "hm")), event("agent_reasoning", "text", "hm"),
		line("world_state", obj{"state": obj{}}), line("something_new", obj{"text": "x"}), event("something_new", "message", "x"), item("something_new", "content", "x"),
	)
	want := []string{"user: one", "assistant: first", "summary: they said one", "system: Review: current changes", "system: Error: stream closed", "system: Turn aborted: interrupted"}
	if diff := cmp.Diff(want, f.said()); diff != "" {
		t.Error(diff)
	}
}

func TestWhatWasRolledBackIsHidden(t *testing.T) {
	f := read(t, meta(parentID), started(turnA), asked("one"), answered("first"), ended(turnA),
		started(turnB), asked("two"), answered("second"), ended(turnB), event("thread_rolled_back", "num_turns", 1), asked("three"))
	if diff := cmp.Diff([]string{"user: one", "assistant: first", "user: three"}, f.said()); diff != "" {
		t.Error(diff)
	}
}

func TestTitles(t *testing.T) {
	home := t.TempDir()
	save(t, home, "session_index.jsonl",
		fmt.Sprintf(`{"id":"%s","thread_name":"old name","updated_at":"2026-08-01T10:00:00Z"}`, laterID),
		fmt.Sprintf(`{"id":"%s","thread_name":"named in the list","updated_at":"2026-08-01T10:00:00Z"}`, laterID),
		fmt.Sprintf(`{"id":"x","thread_name":"%s"}`, laterID), `{"id":`)
	save(t, home, rollout(parentID), meta(parentID), asked("the first\nprompt"), asked("another"))
	save(t, home, rollout(laterID), meta(laterID), asked("the first prompt"))
	save(t, home, rollout("other"), meta("other"), asked("the first prompt"), event("thread_name_updated", "thread_id", "other", "thread_name", "a"),
		event("thread_name_updated", "thread_id", "other", "thread_name", "named in the file"), event("thread_name_updated", "thread_id", "x", "thread_name", "of another"), asked("b"))
	f := find(t, home)
	for id, want := range map[string]string{parentID: "the first prompt", laterID: "named in the list", "other": "named in the file"} {
		if got := f.sessions[id].Title; got != want {
			t.Errorf("%s is called %q, want %q", id, got, want)
		}
	}
}

func TestACopyWithoutIDsGetsThoseOfItsParent(t *testing.T) {
	home := t.TempDir()
	turns := []string{asked("continue"), answered("a"), asked("continue"), answered("b"), asked("other"), answered("c")}
	save(t, home, rollout(parentID), append([]string{meta(parentID)}, turns...)...)
	save(t, home, rollout(laterID), append(append([]string{meta(laterID, "forked_from_id", parentID), meta(parentID)}, turns[:4]...), asked("own"), answered("d"))...)
	f := find(t, home)
	want := []string{"user: continue", "assistant: a", "user: continue", "assistant: b", "user: other", "assistant: c", "user: own", "assistant: d"}
	if diff := cmp.Diff(want, f.said()); diff != "" {
		t.Error(diff)
	}
	if f.sessions[laterID].ParentID != parentID {
		t.Errorf("got %+v", f.sessions[laterID])
	}
}

func TestSubagents(t *testing.T) {
	spawn := obj{"subagent": obj{"thread_spawn": obj{"parent_thread_id": parentID, "depth": 1}}}
	for name, c := range map[string]struct {
		meta []any
		want ambry.Session
	}{
		"spawned":      {[]any{"source", spawn}, ambry.Session{ParentID: parentID, Relation: ambry.Subagent, Background: true}},
		"forked, too":  {[]any{"source", spawn, "forked_from_id", "x"}, ambry.Session{ParentID: parentID, Relation: ambry.Subagent, Background: true}},
		"by its id":    {[]any{"parent_thread_id", parentID}, ambry.Session{ParentID: parentID, Relation: ambry.Subagent, Background: true}},
		"review":       {[]any{"source", obj{"subagent": "review"}}, ambry.Session{Relation: ambry.Review, Background: true}},
		"compaction":   {[]any{"source", obj{"subagent": "compact"}}, ambry.Session{Relation: ambry.Subagent, Background: true}},
		"other":        {[]any{"source", obj{"subagent": obj{"other": "x"}}}, ambry.Session{Relation: ambry.Subagent, Background: true}},
		"fork":         {[]any{"forked_from_id", parentID}, ambry.Session{ParentID: parentID, Relation: ambry.Fork}},
		"a person's":   {[]any{"source", "cli"}, ambry.Session{Relation: ambry.Root}},
		"fork of self": {[]any{"forked_from_id", laterID}, ambry.Session{Relation: ambry.Fork}},
	} {
		t.Run(name, func(t *testing.T) {
			got := read(t, meta(laterID, c.meta...), asked("one")).sessions[laterID]
			got = ambry.Session{ParentID: got.ParentID, Relation: got.Relation, Background: got.Background}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOddSessionMeta(t *testing.T) {
	for name, first := range map[string]string{
		"cwd is no text":      meta(parentID, "cwd", obj{"path": "/x"}, "git", "none", "timestamp", 7, "cli_version", 1.5),
		"more than a MB":      meta(parentID, "base_instructions", obj{"text": strings.Repeat("x y ", 1<<19)}),
		"only a session id":   strings.Replace(meta(parentID), `"id":`, `"session_id":`, 1),
		"none":                "",
		"torn":                meta(parentID)[:80],
		"a NUL after a crash": strings.Repeat("\x00", 4096) + meta(parentID),
		"byte order mark":     "\ufeff" + meta(parentID),
	} {
		t.Run(name, func(t *testing.T) {
			f := read(t, first, asked("one")+"\r", answered("first")+"\r")
			if diff := cmp.Diff([]string{"user: one", "assistant: first"}, f.said()); diff != "" {
				t.Error(diff)
			}
			if _, ok := f.sessions[parentID]; !ok || len(f.sessions) != 1 {
				t.Errorf("got %+v", f.sessions)
			}
		})
	}
}

func TestLongTurnsComeInParts(t *testing.T) {
	lines := []string{meta(parentID), started(turnA), asked("one")}
	for i := range 100 {
		id := fmt.Sprint(i)
		lines = append(lines, item("function_call", "name", "cat", "arguments", id, "call_id", id), item("function_call_output", "call_id", id, "output", strings.Repeat("x", 5000)))
	}
	f := read(t, append(lines, answered("done"), spent(once, once))...)
	if len(f.order) < 5 || len(f.order) > 10 {
		t.Errorf("%d parts", len(f.order))
	}
	ids, calls := map[string]bool{}, 0
	for _, turn := range f.turns {
		if turn.ID != turnA {
			t.Errorf("turn %s", turn.ID)
		}
		for _, m := range turn.Messages {
			if ids[m.ID] {
				t.Errorf("message %s comes twice", m.ID)
			}
			ids[m.ID] = true
			for _, c := range m.Calls {
				if calls++; !c.Done {
					t.Errorf("call %s has no result", c.ID)
				}
			}
		}
	}
	if calls != 100 || f.tokens().Input != 100 {
		t.Errorf("%d calls, %+v", calls, f.tokens())
	}
}

func TestRoots(t *testing.T) {
	home, other := t.TempDir(), t.TempDir()
	save(t, home, rollout(parentID), parent()...)
	env := map[string]string{}
	h := agent.Home{Dir: home, Getenv: func(name string) string { return env[name] }}
	for dir, want := range map[string]string{
		"":                            filepath.Join(home, ".codex", "sessions"),
		"relative":                    filepath.Join(home, ".codex", "sessions"),
		other:                         filepath.Join(other, "sessions"),
		filepath.Join(home, ".codex"): filepath.Join(home, ".codex", "sessions"),
	} {
		env["CODEX_HOME"] = dir
		if got := codex.Agent().History.Roots(h); got[0] != want || len(got) != 2 {
			t.Errorf("with %q: %v", dir, got)
		}
	}
	for _, name := range []string{"rollout-x.jsonl.tmp", "notes.jsonl", "rollout-x.txt", ".rollout-x.jsonl.swp"} {
		path := filepath.Join(home, ".codex", "sessions", name)
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, ok := codex.Agent().History.Locate(h, path); ok {
			t.Errorf("%s is a source", name)
		}
	}
}
