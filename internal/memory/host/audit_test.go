package host_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"ambry.dev/ambry"
)

// The log says which agent read and wrote what: ids, in the order that it was
// done in, and never a text. What a person does is not in it.
func TestTheLogNamesTheAgents(t *testing.T) {
	h := serve(t, real(t))
	as := func(agent, method, path, body string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, h.base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		if body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		if agent != "" {
			req.Header.Set(ambry.AgentHeader, agent)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	var m ambry.Memory
	if err := json.Unmarshal([]byte(as("codex", "POST", "/api/v1/memory/add", `{"content":"the gate is blue","source":"somebody else"}`)), &m); err != nil {
		t.Fatal(err)
	}
	as("", "GET", "/api/v1/memory/"+m.ID, "")
	as("claude_code", "POST", "/api/v1/memory/search", `{"query":"gate","source":"somebody else"}`)
	as("claude_code", "GET", "/api/v1/memory/"+m.ID, "")
	as("claude_code", "GET", "/api/v1/memory/none", "")
	as("opencode", "PATCH", "/api/v1/memory/"+m.ID, `{"title":"Gate"}`)
	as("codex", "DELETE", "/api/v1/memory/"+m.ID, "")
	text := as("", "GET", "/api/v1/memory/logs", "")
	var logs ambry.Logs
	if err := json.Unmarshal([]byte(text), &logs); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range slices.Backward(logs.Logs) {
		var in struct{ ID string }
		_ = json.Unmarshal([]byte(c.Input), &in)
		line := c.Agent + " " + c.Tool
		if in.ID != "" {
			line += " " + strings.Replace(in.ID, m.ID, "ID", 1)
		}
		if !c.Success {
			line += " failed"
		}
		got = append(got, line)
	}
	want := []string{
		"codex memory_add", "claude_code memory_search", "claude_code memory_get ID", "claude_code memory_get none failed",
		"opencode memory_update ID", "codex memory_forget ID",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if bytes.Contains([]byte(text), []byte("blue")) {
		t.Error("the log holds what a memory says")
	}
	if one := as("", "GET", "/api/v1/memory/logs?tools=memory_get&sourceAgent=claude_code", ""); !strings.Contains(one, `"total":2`) {
		t.Errorf("got %s", one)
	}
}
