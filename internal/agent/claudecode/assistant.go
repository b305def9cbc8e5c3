package claudecode

import (
	"strings"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
)

// synthetic is the model of messages that no model wrote.
const synthetic = "<synthetic>"

// assistant takes a part of a message of the model: each block of it is a
// record of its own with the same message id.
func (s *state) assistant(r row, b *agent.Builder) {
	if s.Replay || r.inline && !b.Open() {
		return
	}
	v := r.Get("message")
	m := ambry.Message{ID: v.Text("id"), Role: ambry.Assistant, At: r.at, Model: v.Text("model")}
	if m.ID == "" {
		m.ID = r.id
	}
	switch {
	case r.Bool("isCompactSummary"):
		m.Role = ambry.Summary
	case r.Bool("isApiErrorMessage") || m.Model == synthetic:
		m.Role = ambry.System
	}
	if m.Model == synthetic {
		m.Model = ""
	}
	results := s.blocks(r, v.Get("content"), &m)
	m.Tokens = s.tokens(m.ID, usage(v.Get("usage")))
	b.Add(m)
	for _, result := range results {
		b.Result(result)
	}
}

// blocks takes the content of the model's message. Its thoughts are not kept.
// Tools that run where the model does have their results in it, too.
func (s *state) blocks(r row, v agent.Value, m *ambry.Message) (results []ambry.ToolCall) {
	if v.IsText() {
		m.Text = v.Text()
		return nil
	}
	var texts []string
	for block := range v.List() {
		switch kind := string(block.Bytes("type")); kind {
		case "text":
			if text := block.Text("text"); text != "" {
				texts = append(texts, text)
			}
		case "tool_use", "server_tool_use", "mcp_tool_use":
			m.Calls = append(m.Calls, ambry.ToolCall{
				ID:    block.Text("id"),
				Name:  block.Text("name"),
				Input: block.Raw(agent.MaxInput, "input"),
				At:    r.at,
			})
		default:
			if strings.HasSuffix(kind, "_tool_result") {
				results = append(results, ambry.ToolCall{
					ID:     block.Text("tool_use_id"),
					Output: block.JSON(agent.MaxOutput, "content"),
					Failed: block.Bool("is_error") || strings.HasSuffix(block.Text("content", "type"), "_error"),
					At:     r.at,
				})
			}
		}
	}
	m.Text = strings.Join(texts, "\n\n")
	return results
}

// usage returns the tokens of a message so far.
func usage(v agent.Value) ambry.Tokens {
	written := v.Int("cache_creation_input_tokens")
	kinds := v.Int("cache_creation", "ephemeral_5m_input_tokens") + v.Int("cache_creation", "ephemeral_1h_input_tokens")
	cached := v.Int("cache_read_input_tokens")
	return ambry.Tokens{
		Input:  v.Int("input_tokens") + max(written, kinds) + cached, // some records have the kinds alone
		Cached: cached,
		Output: v.Int("output_tokens"),
	}
}

// tokens returns those of a message that were not counted in an earlier turn.
func (s *state) tokens(id string, now ambry.Tokens) ambry.Tokens {
	switch {
	case s.Said.ID != id:
		s.Said = said{ID: id}
	case s.Said.Turn != s.Turn:
		s.Said.Counted = s.Said.Most
	}
	s.Said.Turn = s.Turn
	s.Said.Most = ambry.Tokens{
		Input:  max(s.Said.Most.Input, now.Input),
		Cached: max(s.Said.Most.Cached, now.Cached),
		Output: max(s.Said.Most.Output, now.Output),
	}
	return ambry.Tokens{
		Input:  max(0, now.Input-s.Said.Counted.Input),
		Cached: max(0, now.Cached-s.Said.Counted.Cached),
		Output: max(0, now.Output-s.Said.Counted.Output),
	}
}
