package opencode

import (
	"strconv"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
)

// early takes a message of 0.3 and before, which has its parts in itself and
// the rest in its metadata.
func (m *message) early(v agent.Value) {
	data := v.Get("metadata")
	m.at = agent.Time(data.Get("time", "created"))
	switch string(v.Bytes("role")) {
	case "user":
		m.role = ambry.User
	case "assistant":
		m.role = ambry.Assistant
		m.answer(data.Get("assistant"))
		m.failed = failure(data.Get("error"))
	}
	n := 0
	for part := range v.List("parts") {
		if part.Is("tool-invocation", "type") {
			m.parts++
			m.invocation(part.Get("toolInvocation"), data.Get("tool"))
		} else {
			m.part(m.id+"/"+strconv.Itoa(n), part)
		}
		n++
	}
}

// invocation takes the use of a tool; told is what the message says of all.
func (m *message) invocation(v, told agent.Value) {
	c := ambry.ToolCall{
		ID: v.Text("toolCallId"), Name: v.Text("toolName"),
		Input: v.JSON(agent.MaxInput, "args"), Output: v.JSON(agent.MaxOutput, "result"),
		Done: v.Is("result", "state"),
	}
	about := told.Get(c.ID)
	c.At = agent.Time(about.Get("time", "start"))
	c.Failed = about.Bool("error") || c.Name == "invalid"
	m.calls = append(m.calls, c)
}
