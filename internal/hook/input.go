package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"ambry.dev/ambry"
)

// input is what an agent says, in whatever names.
type input struct {
	session    string
	turn       string
	prompt     string
	answer     string
	cwd        string
	model      string
	transcript string
	subagent   bool
}

var errNoObject = errors.New("not a JSON object")

// parse reads what an agent says. Unknown fields do not matter, nor do fields of
// another type than they should have: they count as absent.
func parse(data []byte) (input, error) {
	data = bytes.TrimPrefix(bytes.TrimSpace(data), []byte("\ufeff"))
	var all fields
	if err := json.Unmarshal(data, &all); err != nil || all == nil {
		return input{}, errNoObject
	}
	// Some keep what is of the event apart.
	for _, name := range []string{"extra", "tool_info", "userPromptSubmit", "taskComplete", "taskCancel", "preCompact", "data"} {
		var inner fields
		if json.Unmarshal(all[name], &inner) == nil {
			for key, value := range inner {
				if _, ok := all[key]; !ok {
					all[key] = value
				}
			}
		}
	}
	in := input{
		session:    ambry.SessionName(all.text("session_id", "sessionId", "sessionID", "conversation_id", "conversationId", "trajectory_id", "taskId", "sessionKey")),
		turn:       ambry.SessionName(all.text("turn_id", "turnId", "prompt_id", "promptId", "generation_id", "execution_id", "messageID", "messageId")),
		prompt:     all.text("prompt", "user_prompt", "user_message", "userMessage", "message", "query"),
		answer:     all.text("last_assistant_message", "lastAssistantMessage", "prompt_response", "assistant_response", "assistant_message", "response", "answer", "text", "result"),
		cwd:        all.text("cwd", "workspacePath", "workspace_path", "directory", "projectRoot"),
		model:      all.text("model"),
		transcript: all.text("transcript_path", "transcriptPath"),
		subagent:   all.text("agent_id") != "",
	}
	if parent, ok := all["parent_agent_id"]; ok { // Cline gives an id to those that have none, too
		in.subagent = textOf(parent, 0) != ""
	}
	if in.cwd == "" {
		in.cwd = all.first("workspace_roots", "workspaceRoots")
	}
	return in, nil
}

// fields are the fields of a JSON object.
type fields map[string]json.RawMessage

// text returns the text of the first of the fields that has one.
func (f fields) text(names ...string) string {
	for _, name := range names {
		if s := textOf(f[name], 0); s != "" {
			return s
		}
	}
	return ""
}

// first returns the first text of the first of the fields that is a list.
func (f fields) first(names ...string) string {
	for _, name := range names {
		var list []json.RawMessage
		if json.Unmarshal(f[name], &list) == nil && len(list) > 0 {
			return textOf(list[0], 0)
		}
	}
	return ""
}

// maxNested is how deep the text of a message may be hidden.
const maxNested = 3

// textOf returns the text of a string, of a list of parts with text, or of an
// object that has a text or a content.
func textOf(raw json.RawMessage, depth int) string {
	if len(raw) == 0 || depth > maxNested {
		return ""
	}
	switch raw[0] {
	case '"':
		var s string
		_ = json.Unmarshal(raw, &s) // it was valid as part of the whole
		return s
	case '[':
		var parts []json.RawMessage
		_ = json.Unmarshal(raw, &parts) // as above
		var texts []string
		for _, part := range parts {
			if s := textOf(part, depth+1); s != "" {
				texts = append(texts, s)
			}
		}
		return strings.Join(texts, "\n")
	case '{':
		var f fields
		_ = json.Unmarshal(raw, &f) // as above
		for _, name := range []string{"text", "content"} {
			if s := textOf(f[name], depth+1); s != "" {
				return s
			}
		}
	}
	return ""
}
