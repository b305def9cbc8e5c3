package codex_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
)

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
