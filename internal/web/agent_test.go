package web_test

import (
	"io"
	"net/http"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/web"
)

// An agent with a token of its own gets where it may and nowhere else, and its
// own word for its name does not count.
func TestAgentsGetWhereTheyMay(t *testing.T) {
	cfg := config()
	cfg.Agent = func(token string) (string, bool) { return "codex", token == "agent-token" }
	say := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get(ambry.AgentHeader))
	})
	s := startWith(
		t, cfg,
		web.Proxy("/api/v1/memory/", "Memory", say).ForAgents(func(method, path string) bool { return method == "GET" && path == "/api/v1/memory/search" }),
		web.Proxy("/api/v1/memories/", "Not for agents", say),
		web.Handle("/mcp/bridge", "Bridge", say, "POST").WithToken(web.Token{Header: ambry.MCPTokenHeader, Secret: mcpSecret}).ForAgents(func(string, string) bool { return true }),
	)
	for _, c := range []struct {
		name, request string
		status        int
		body          string
	}{
		{"where it may", "GET /api/v1/memory/search HTTP/1.1\r\nHost: HOST\r\nx-app-local-token: agent-token\r\n\r\n", 200, "codex"},
		{"under another name", "GET /api/v1/memory/search HTTP/1.1\r\nHost: HOST\r\nx-app-local-token: agent-token\r\nx-app-agent: other\r\nx-app-agent: third\r\n\r\n", 200, "codex"},
		{"the person says who asks", "GET /api/v1/memory/search HTTP/1.1\r\nHost: HOST\r\nx-app-local-token: " + secret + "\r\nx-app-agent: other\r\n\r\n", 200, "other"},
		{"another method", "DELETE /api/v1/memory/search HTTP/1.1\r\nHost: HOST\r\nx-app-local-token: agent-token\r\n\r\n", 401, ""},
		{"another path", "GET /api/v1/memory/logs HTTP/1.1\r\nHost: HOST\r\nx-app-local-token: agent-token\r\n\r\n", 401, ""},
		{"another spelling", "GET /api/v1/memory/%73earch HTTP/1.1\r\nHost: HOST\r\nx-app-local-token: agent-token\r\n\r\n", 401, ""},
		{"a detour", "GET /api/v1/memories/../memory/search HTTP/1.1\r\nHost: HOST\r\nx-app-local-token: agent-token\r\n\r\n", 401, ""},
		{"another route", "GET /api/v1/memories/search HTTP/1.1\r\nHost: HOST\r\nx-app-local-token: agent-token\r\n\r\n", 401, ""},
		{"a wrong token", "GET /api/v1/memory/search HTTP/1.1\r\nHost: HOST\r\nx-app-local-token: agent-token2\r\n\r\n", 401, ""},
		{"two tokens", "GET /api/v1/memory/search HTTP/1.1\r\nHost: HOST\r\nx-app-local-token: agent-token\r\nx-app-local-token: agent-token\r\n\r\n", 401, ""},
		{"the bridge", "POST /mcp/bridge HTTP/1.1\r\nHost: HOST\r\nx-app-mcp-token: agent-token\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", 200, "codex"},
		{"the bridge with the wrong header", "POST /mcp/bridge HTTP/1.1\r\nHost: HOST\r\nx-app-local-token: agent-token\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", 401, ""},
	} {
		got := s.raw(c.request)
		if got.status != c.status || c.body != "" && got.body != c.body {
			t.Errorf("%s: got %d %s, want %d %s", c.name, got.status, got.body, c.status, c.body)
		}
	}
}
