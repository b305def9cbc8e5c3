package engine

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"ambry.dev/ambry"
)

// turnOf says in our own terms what an agent told of a turn. What the agent did
// not repeat was asked, or began, as it says here.
func turnOf(id string, c ambry.TurnComplete, query string, at time.Time) ambry.Turn {
	if c.Query != "" {
		query = c.Query
	}
	if !c.StartedAt.IsZero() {
		at = c.StartedAt
	}
	end := c.EndedAt
	if end.Before(at) {
		end = at
	}
	t := ambry.Turn{ID: id, At: at, Model: c.Model, Tokens: tokensOf(c.Usage)}
	add := func(m ambry.Message) { t.Messages = append(t.Messages, m) }
	if strings.TrimSpace(query) != "" {
		add(ambry.Message{ID: "query", Role: ambry.User, Text: query, At: at})
	}
	if c.ReasoningSummary != "" {
		add(ambry.Message{ID: "reasoning", Role: ambry.Assistant, Text: c.ReasoningSummary, Hidden: true, At: end})
	}
	answer := ambry.Message{ID: "answer", Role: ambry.Assistant, Text: c.Answer, At: end, Model: c.Model}
	answer.Calls, answer.Files = callsOf(c), filesOf(c.Artifacts)
	if answer.Text != "" || len(answer.Calls)+len(answer.Files) > 0 {
		add(answer)
	}
	switch c.Outcome {
	case ambry.TurnFailed:
		add(ambry.Message{ID: "status", Role: ambry.System, Text: "The turn failed.", At: end})
	case ambry.TurnCancelled:
		add(ambry.Message{ID: "status", Role: ambry.System, Text: "The turn was cancelled.", At: end})
	}
	return t
}

func filesOf(artifacts []ambry.Artifact) []ambry.Attached {
	var out []ambry.Attached
	for _, a := range artifacts {
		out = append(out, ambry.Attached{Kind: a.Kind, Mime: a.Mime, Name: cmp.Or(a.URI, a.Title), Bytes: a.Bytes})
	}
	return out
}

// callsOf returns the calls with the results that were told apart from them.
func callsOf(c ambry.TurnComplete) []ambry.ToolCall {
	results := map[string]ambry.ToldResult{}
	for _, r := range c.ToolResults {
		if id := cmp.Or(r.ToolCallID, r.ID); id != "" {
			results[id] = r
		}
	}
	var out []ambry.ToolCall
	for _, call := range c.ToolCalls {
		if r, ok := results[call.ID]; ok {
			call.Output = firstJSON(call.Output, call.Result, r.Output, r.Result)
			call.Error = firstJSON(call.Error, r.Error)
			call.Success = cmp.Or(call.Success, r.Success)
		}
		out = append(out, callOf(call))
	}
	return out
}

func callOf(c ambry.ToldCall) ambry.ToolCall {
	out := ambry.ToolCall{
		ID: c.ID, Name: c.Name, At: c.StartedAt,
		Input: plain(firstJSON(c.Input, c.Args, c.Arguments)), Output: plain(firstJSON(c.Output, c.Result)),
	}
	problem := plain(c.Error)
	out.Failed = problem != "" || c.Success != nil && !*c.Success
	out.Done = out.Output != "" || out.Failed || c.Success != nil || !c.EndedAt.IsZero()
	if problem != "" && problem != out.Output {
		out.Output = strings.TrimLeft(out.Output+"\n"+problem, "\n")
	}
	return out
}

func firstJSON(values ...json.RawMessage) json.RawMessage {
	for _, v := range values {
		if plain(v) != "" {
			return v
		}
	}
	return nil
}

// plain returns JSON as text: that of a string, or else the JSON itself.
func plain(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" || string(raw) == "false" {
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// tokensOf finds the counts in what providers call them.
func tokensOf(usage map[string]json.RawMessage) ambry.Tokens {
	first := func(names ...string) int64 {
		for _, name := range names {
			var n int64
			if raw, ok := usage[name]; ok && json.Unmarshal(raw, &n) == nil && n > 0 {
				return n
			}
		}
		return 0
	}
	return ambry.Tokens{
		Input:  first("input", "inputTokens", "input_tokens", "promptTokens", "prompt_tokens"),
		Cached: first("cached", "cachedTokens", "cached_tokens", "cachedInputTokens", "cached_input_tokens", "cache_read_input_tokens", "cacheReadInputTokens"),
		Output: first("output", "outputTokens", "output_tokens", "completionTokens", "completion_tokens"),
	}
}
