package app

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/client"
)

// upstreamAt serves an MCP server with one tool on an address of this machine.
func upstreamAt(t *testing.T, ip string) string {
	t.Helper()
	ln, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		t.Fatal(err)
	}
	s := sdk.NewServer(&sdk.Implementation{Name: "docs", Version: "1"}, nil)
	s.AddTool(&sdk.Tool{Name: "find", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "found"}}}, nil
	})
	web := httptest.NewUnstartedServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{DisableLocalhostProtection: true}))
	web.Listener.Close()
	web.Listener = ln
	web.Start()
	t.Cleanup(web.Close)
	return web.URL
}

func (r *running) upstream() ambry.UpstreamStatus {
	r.t.Helper()
	c, err := r.Capabilities(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	if len(c.Upstreams) != 1 {
		return ambry.UpstreamStatus{}
	}
	return c.Upstreams[0]
}

// speak posts one message to the bridge and returns the status and the answer.
func (r *running) speak(token, session, message string) (int, http.Header, string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.file.BaseURL+"/mcp/bridge", strings.NewReader(message))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set(ambry.MCPTokenHeader, token)
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(body)
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"Some Agent","version":"0"}}}`

// The settings are followed: an upstream comes and goes without a restart, and
// in local-only mode one on another machine goes too.
func TestUpstreamsFollowTheSettings(t *testing.T) {
	memory, dir := memoryAt(t, "127.0.0.1"), t.TempDir()
	url := upstreamAt(t, outsideAddress(t))
	s := serveIn(t, dir, memory.URL)
	config := filepath.Join(dir, ".ambry", "config.yaml")
	if _, err := os.Stat(filepath.Dir(config)); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(config)
	text := string(before) + "\nmcp:\n  upstreams:\n    - id: docs\n      url: " + url + "\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.eventually("the upstream answers", func() bool {
		u := s.upstream()
		return u.Status == ambry.HealthOK && slices.Equal(u.Tools, []string{"docs__find"})
	})
	_, header, _ := s.speak(s.file.MCPToken, "", initialize)
	session := header.Get("Mcp-Session-Id")
	call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"docs__find","arguments":{}}}`
	if status, _, body := s.speak(s.file.MCPToken, session, call); status != 200 || !strings.Contains(body, `"text":"found"`) {
		t.Errorf("got %d %s", status, body)
	}
	if _, err := s.PatchPrivacy(t.Context(), ambry.PrivacyPatch{LocalOnlyMode: ptr(true)}); err != nil {
		t.Fatal(err)
	}
	s.eventually("it is not called any more", func() bool { return strings.Contains(s.upstream().Reason, "local-only mode is on") })
	if status, _, body := s.speak(s.file.MCPToken, session, call); status != 200 || !strings.Contains(body, `"isError":true`) {
		t.Errorf("got %d %s", status, body)
	}
	if err := os.WriteFile(config, before, 0o600); err != nil {
		t.Fatal(err)
	}
	s.eventually("it is gone", func() bool { return s.upstream().ID == "" })
}

// A token of an agent opens the bridge and the memory, and nothing else, until
// it is revoked; it is nowhere on the disk.
func TestTokensOfAgents(t *testing.T) {
	memory, dir := memoryAt(t, "127.0.0.1"), t.TempDir()
	s := serveIn(t, dir, memory.URL)
	one, err := s.CreateToken(t.Context(), "Claude-Code")
	if err != nil || one.Agent != "claude_code" || len(one.Token) < 40 {
		t.Fatalf("got %+v, %v", one, err)
	}
	agent, err := client.New(s.file.BaseURL, one.Token)
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	if _, err := agent.Search(t.Context(), ambry.Query{Query: "x"}); err != nil {
		t.Errorf("search: %v", err)
	}
	if status, _, body := s.speak(one.Token, "", initialize); status != 200 {
		t.Errorf("bridge: %d %s", status, body)
	}
	_, errBootstrap := agent.Bootstrap(t.Context())
	_, errCreate := agent.CreateToken(t.Context(), "codex")
	_, errSources := agent.Sources(t.Context())
	for _, err := range []error{errBootstrap, errCreate, errSources} {
		if ambry.KindOf(err) != ambry.Unauthorized {
			t.Errorf("got %v", err)
		}
	}
	if err := filepath.WalkDir(filepath.Join(dir, ".ambry"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(one.Token)) {
			t.Errorf("%s holds the token", d.Name())
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	list, err := s.Tokens(t.Context())
	if err != nil || len(list.Tokens) != 1 || list.Tokens[0].Token != "" || list.Tokens[0].LastUsedAt == nil {
		t.Errorf("got %+v, %v", list, err)
	}
	if r, err := s.RevokeToken(t.Context(), "claude-code"); err != nil || r.Revoked != 1 {
		t.Errorf("got %+v, %v", r, err)
	}
	if _, err := agent.Search(t.Context(), ambry.Query{Query: "x"}); ambry.KindOf(err) != ambry.Unauthorized {
		t.Errorf("after it was revoked: %v", err)
	}
	if _, err := s.RevokeToken(t.Context(), one.ID); ambry.KindOf(err) != ambry.NotFound {
		t.Errorf("got %v", err)
	}
}
