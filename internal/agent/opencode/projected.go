package opencode

import (
	"cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
)

// projected takes the record of a message of 2.x, which is all of it. What the
// kinds that are not here say is not part of the conversation: that the person
// chose another model or agent, or that the session is idle.
func (m *message) projected(_, kind string, v agent.Value) {
	m.parts++
	m.at = agent.Time(v.Get("time", "created"))
	switch kind {
	case "user":
		m.role = ambry.User
		m.texts = append(m.texts, v.Text("text"))
		for file := range v.List("files") {
			m.files = append(m.files, attached(file))
		}
	case "synthetic", "skill":
		m.aside(m.id, ambry.User, v.Text("text"))
	case "system":
		m.aside(m.id, ambry.System, v.Text("text"))
	case "shell":
		m.shell(v)
	case "assistant":
		m.role = ambry.Assistant
		m.model = modelName(v.Text("model", "providerID"), v.Text("model", "id"))
		m.tokens = tokens(v.Get("tokens"))
		m.failed = failure(v.Get("error"))
		for content := range v.List("content") {
			m.content(content)
		}
	case "compaction":
		m.role = ambry.Summary
		m.tokens = tokens(v.Get("tokens"))
		if status := v.Text("status"); status == "completed" || status == "" {
			m.texts = append(m.texts, v.Text("summary"))
		}
	}
}

// content takes a part of an answer.
func (m *message) content(v agent.Value) {
	switch string(v.Bytes("type")) {
	case "text":
		if text := v.Text("text"); text != "" {
			m.texts = append(m.texts, text)
		}
	case "tool":
		call := ambry.ToolCall{ID: v.Text("id"), Name: v.Text("name"), At: agent.Time(v.Get("time", "ran"))}
		if call.At.IsZero() {
			call.At = agent.Time(v.Get("time", "created"))
		}
		m.call(call, v.Get("state"))
	}
}

// shell takes a command that the person ran in the session.
func (m *message) shell(v agent.Value) {
	m.role = ambry.Assistant
	c := ambry.ToolCall{
		ID: cmp.Or(v.Text("shellID"), v.Text("callID"), m.id), Name: "shell", Input: v.Text("command"),
		Output: cmp.Or(v.Text("output", "output"), v.Text("output")),
		Done:   v.Get("time", "completed").Exists() || v.Is("exited", "status"),
		Failed: v.Is("timeout", "status") || v.Is("killed", "status"),
		At:     m.at,
	}
	c.Done = c.Done || c.Failed
	if exit := v.Get("exit"); exit.Exists() {
		code := int(exit.Int())
		c.ExitCode, c.Failed = &code, c.Failed || code != 0
	}
	m.calls = append(m.calls, c)
}
