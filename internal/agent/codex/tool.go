package codex

import (
	"encoding/json"
	"strconv"
	"strings"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
)

// tool takes the use of a tool: what the model asked for, what it was given
// back, and what Codex told of it besides.
func (r record) tool(kind string, v agent.Value) {
	switch kind {
	case "function_call", "custom_tool_call", "local_shell_call", "tool_search_call":
		r.call(called(kind, v))
	case "function_call_output", "custom_tool_call_output", "tool_search_output":
		r.result(returned(v))
	case "web_search_call":
		r.search(false, v)
	case "web_search_end", "WebSearch":
		r.search(true, v)
	case "image_generation_call", "image_generation_end", "ImageGeneration":
		r.drawing(v)
	case "exec_command_end", "CommandExecution":
		r.done(commanded(v))
	case "patch_apply_end", "FileChange":
		r.done(patched(v))
	case "mcp_tool_call_end", "McpToolCall":
		r.done(served(v))
	case "dynamic_tool_call_response", "DynamicToolCall":
		r.done(provided(v))
	case "view_image_tool_call", "ImageView":
		r.done(ambry.ToolCall{ID: callID(v), Name: "view_image", Input: v.Text("path")})
	case "collab_agent_spawn_end", "CollabAgentToolCall":
		r.done(delegated(v))
	}
}

// callID returns what pairs a call with its result. The id of an item is
// another one than that of its call.
func callID(v agent.Value) string { return first(v.Text("call_id"), v.Text("id")) }

// call adds a call to what the model is saying.
func (r record) call(c ambry.ToolCall) {
	r.needs()
	t := &r.s.Turn
	if !t.Speaking {
		t.Said++
		t.Speaking = true
	}
	c.At = r.at()
	r.b.Add(ambry.Message{
		ID: messageID('a', t.Said-1), Role: ambry.Assistant, Model: r.s.Model, At: r.at(), Calls: []ambry.ToolCall{c},
	})
}

// result completes a call.
func (r record) result(c ambry.ToolCall) {
	r.needs()
	c.At = r.at()
	r.b.Result(c)
	r.s.Turn.Speaking = false
}

// done takes what Codex told of a call when it was over, which may be the only
// thing that is told of it.
func (r record) done(c ambry.ToolCall) {
	if r.b.Call(c.ID) == nil {
		c.Done = true
		r.call(c)
		r.s.Turn.Speaking = false
		return
	}
	r.result(c)
}

func called(kind string, v agent.Value) ambry.ToolCall {
	c := ambry.ToolCall{ID: callID(v)}
	switch kind {
	case "local_shell_call":
		c.Name, c.Input = "local_shell", v.JSON(agent.MaxInput, "action")
	case "tool_search_call":
		c.Name, c.Input = "tool_search", v.JSON(agent.MaxInput, "arguments")
	case "custom_tool_call":
		c.Name, c.Input = toolName(v.Text("namespace"), v.Text("name")), v.Text("input")
	default:
		c.Name, c.Input = toolName(v.Text("namespace"), v.Text("name")), v.JSON(agent.MaxInput, "arguments")
	}
	return c
}

// toolName joins the parts of a name as Codex does (codex-rs/protocol, ToolName).
func toolName(namespace, name string) string {
	if namespace == "" {
		return first(name, "unknown")
	}
	return strings.TrimRight(namespace, "_") + "__" + strings.TrimLeft(name, "_")
}

// returned reads an output: a text, a list of parts, or an object with one of
// both. The text may hold the exit code of a command.
func returned(v agent.Value) ambry.ToolCall {
	c := ambry.ToolCall{ID: v.Text("call_id"), Name: "unknown"}
	output := v.Get("output")
	if output.IsObject() {
		if success := output.Get("success"); success.Exists() {
			c.Failed = !success.Bool()
		}
		output = output.Get("content")
	}
	switch {
	case !output.Exists():
		c.Output = v.JSON(agent.MaxOutput, "tools")
	case output.IsText() && !isWrapped(output.Bytes()):
		c.Output = output.JSON(agent.MaxOutput + maxHead)
	default:
		c.Output = joined(output, "\n")
	}
	c.Output, c.ExitCode = unwrap(c.Output)
	c.Failed = c.Failed || c.ExitCode != nil && *c.ExitCode != 0
	return c
}

// unwrap takes the output of a command out of what Codex put around it, in one
// of two ways: a JSON object, or lines before it.
func unwrap(text string) (output string, exit *int) {
	if isWrapped(text) {
		var wrapped struct {
			Output   *string
			Metadata struct {
				ExitCode *int `json:"exit_code"`
			}
		}
		if json.Unmarshal([]byte(text), &wrapped) == nil && wrapped.Output != nil {
			return *wrapped.Output, wrapped.Metadata.ExitCode
		}
		return text, nil
	}
	rest := text
	for range maxHeadLines {
		line, after, found := strings.Cut(rest, "\n")
		switch {
		case line == "Output:":
			return after, exit
		case strings.HasPrefix(line, "Exit code: "):
			exit = number(line[len("Exit code: "):])
		case strings.HasPrefix(line, "Process exited with code "):
			exit = number(line[len("Process exited with code "):])
		case !isHead(line):
			return text, nil
		}
		if !found {
			break
		}
		rest = after
	}
	return text, exit
}

// What is looked at before the output of a command.
const (
	maxHeadLines = 8
	maxHead      = 512 // bytes
)

func isWrapped[T string | []byte](text T) bool {
	head := string(text[:min(len(text), len(`{"metadata":`))])
	return strings.HasPrefix(head, `{"output":`) || head == `{"metadata":`
}

// isHead reports whether a line is one of those before the output of a command.
func isHead(line string) bool {
	for _, head := range []string{"Chunk ID: ", "Wall time: ", "Process running with session ID ", "Original token count: ", "Total output lines: "} {
		if strings.HasPrefix(line, head) {
			return true
		}
	}
	return false
}

func number(text string) *int {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return nil
	}
	return &n
}

// commanded reads the end of a command.
func commanded(v agent.Value) ambry.ToolCall {
	c := ambry.ToolCall{ID: callID(v), Name: "exec_command", Input: command(v.Get("command"))}
	c.Output = first(v.Text("aggregated_output"), v.Text("aggregatedOutput"), v.Text("stdout")+v.Text("stderr"))
	for _, key := range []string{"exit_code", "exitCode"} {
		if v.Get(key).Exists() {
			exit := int(v.Int(key))
			c.ExitCode, c.Failed = &exit, exit != 0
		}
	}
	c.Failed = c.Failed || failed(v)
	return c
}

// command returns a command as a person would write it, without the shell that
// it is given to.
func command(v agent.Value) string {
	if v.IsText() {
		return v.Text()
	}
	var words []string
	for word := range v.List() {
		words = append(words, word.Text())
	}
	if len(words) == 3 && (words[1] == "-lc" || words[1] == "-c") {
		return words[2]
	}
	return strings.Join(words, " ")
}

// patched reads the end of a change to files.
func patched(v agent.Value) ambry.ToolCall {
	c := ambry.ToolCall{ID: callID(v), Name: "apply_patch", Input: v.JSON(agent.MaxInput, "changes")}
	c.Output = v.Text("stdout") + v.Text("stderr")
	c.Failed = failed(v)
	return c
}

// served reads the end of a call to an MCP server.
func served(v agent.Value) ambry.ToolCall {
	call := v
	if v.Get("invocation").Exists() {
		call = v.Get("invocation")
	}
	c := ambry.ToolCall{ID: callID(v), Name: toolName("mcp__"+call.Text("server"), call.Text("tool")), Input: call.JSON(agent.MaxInput, "arguments")}
	result := v.Get("result")
	if result.Get("Ok").Exists() {
		result = result.Get("Ok")
	}
	c.Output = first(joined(result.Get("content"), "\n"), result.Text("Err"), v.Text("error", "message"))
	c.Failed = failed(v) || result.Get("Err").Exists() || result.Bool("is_error") || result.Bool("isError")
	return c
}

// provided reads the end of a call to a tool of the program that runs Codex.
func provided(v agent.Value) ambry.ToolCall {
	c := ambry.ToolCall{ID: callID(v), Name: toolName(v.Text("namespace"), v.Text("tool")), Input: v.JSON(agent.MaxInput, "arguments")}
	c.Output = first(joined(v.Get("content_items"), "\n"), joined(v.Get("contentItems"), "\n"), v.Text("error"))
	c.Failed = failed(v)
	return c
}

// delegated reads what was done with a sub-agent.
func delegated(v agent.Value) ambry.ToolCall {
	c := ambry.ToolCall{ID: callID(v), Name: first(v.Text("tool"), "spawn_agent"), Input: v.Text("prompt"), Session: v.Text("new_thread_id")}
	for _, key := range []string{"receiver_thread_ids", "receiverThreadIds"} {
		for thread := range v.List(key) {
			c.Session = first(c.Session, thread.Text())
		}
	}
	c.Failed = failed(v)
	return c
}

// failed reports whether what is over went wrong.
func failed(v agent.Value) bool {
	success := v.Get("success")
	return success.Exists() && !success.Bool() || v.Is("failed", "status") || v.Is("declined", "status") || v.Get("error").Exists()
}

// search takes a search of the web. It is told in both streams, and not
// everywhere with an id.
func (r record) search(event bool, v agent.Value) {
	action := first(v.JSON(agent.MaxInput, "action"), v.Text("query"))
	named := callID(v)
	if named != "" && r.b.Call(named) != nil {
		return
	}
	r.needs()
	t := &r.s.Turn
	if _, told := t.told(bySearch, event, action); told {
		return
	}
	t.tells(bySearch, event, action, 0)
	r.call(ambry.ToolCall{ID: named, Name: "web_search", Input: action, Done: true, Failed: failed(v)})
}

// drawing takes a picture that the model made. It is told in both streams.
func (r record) drawing(v agent.Value) {
	named := callID(v)
	if named != "" && r.b.Call(named) != nil {
		return
	}
	r.call(ambry.ToolCall{ID: named, Name: "image_generation", Input: v.Text("revised_prompt"), Output: v.Text("saved_path"), Done: true, Failed: failed(v)})
	if data := v.Bytes("result"); len(data) > 0 {
		r.b.Change(messageID('a', r.s.Turn.Said-1), func(m *ambry.Message) {
			m.Files = append(m.Files, ambry.Attached{Kind: "image", Bytes: agent.DataSize(data)})
		})
	}
}
