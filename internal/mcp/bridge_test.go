package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/mcp"
	"ambry.dev/ambry/internal/web"
)

const (
	bridgeToken = "the-token-of-the-bridge"
	bridgePath  = "/mcp/bridge"
	friend      = "http://127.0.0.1:4711" // an Origin that is listed
)

// site is a bridge on a real socket, behind the gate of the API.
type site struct {
	t      testing.TB
	base   string
	bridge *mcp.Bridge
	stop   func()
}

// grace is how long requests may take to end when the service does.
const grace = time.Minute

func serve(t testing.TB, m mcp.Memory) *site {
	t.Helper()
	s := &site{t: t, bridge: mcp.NewBridge(&mcp.Server{Memory: m, Version: "1.2.3", Log: slog.New(slog.DiscardHandler)})}
	token := web.Token{Header: ambry.MCPTokenHeader, Secret: bridgeToken}
	handler, _ := web.New(
		web.Config{
			Title: "Test", Version: "1", Token: web.Token{Header: ambry.LocalTokenHeader, Secret: "the-other-token"},
			Origins: func() []string { return []string{friend} },
		},
		[]web.Route{
			web.Stream(bridgePath, "Listen", s.bridge).WithToken(token),
			web.Handle(bridgePath, "Speak", s.bridge, http.MethodPost, http.MethodDelete).WithToken(token),
		},
	)
	ln, err := web.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- (&web.Server{Handler: handler, Grace: grace}).Serve(ctx, ln) }()
	var stopped bool
	s.stop = func() {
		if stopped {
			return
		}
		stopped = true
		// A connection that was dialled and never used would be waited for.
		http.DefaultClient.CloseIdleConnections()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		s.bridge.Close()
	}
	t.Cleanup(s.stop)
	s.base = "http://" + ln.Addr().String()
	return s
}

// said is an answer of the bridge.
type said struct {
	status int
	header http.Header
	body   string
}

// ask sends a request with the token and what a client sends; headers come as
// name, value pairs, and an empty value takes one out.
func (s *site) ask(method, body string, headers ...string) said {
	s.t.Helper()
	resp := s.open(method, body, headers...)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return said{resp.StatusCode, resp.Header, string(data)}
}

func (s *site) open(method, body string, headers ...string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.base+bridgePath, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body == "" {
		req.Body, req.ContentLength = nil, 0
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set(ambry.MCPTokenHeader, bridgeToken)
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] == "" {
			req.Header.Del(headers[i])
			continue
		}
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

func hello(revision string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + revision +
		`","capabilities":{},"clientInfo":{"name":"a-test","version":"0"}}}`
}

// begin begins a session and returns its id.
func (s *site) begin(revision string) string {
	s.t.Helper()
	got := s.ask("POST", hello(revision))
	id := got.header.Get("Mcp-Session-Id")
	if got.status != 200 || id == "" || !strings.Contains(got.body, `"protocolVersion":"`+revision+`"`) {
		s.t.Fatalf("got %d %q %s", got.status, id, got.body)
	}
	if got := s.ask("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Session-Id", id); got.status != 202 {
		s.t.Fatalf("initialized: got %d %s", got.status, got.body)
	}
	return id
}

// code is the error code of a problem document.
func (a said) code() string {
	var p struct {
		Error struct{ Code string }
	}
	_ = json.Unmarshal([]byte(a.body), &p) // an answer that is none has no code
	return p.Error.Code
}

// events reads frames until one matches, and returns their data and last id.
func events(t *testing.T, body io.Reader, until string) (data []string, last string) {
	t.Helper()
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			last = id
		}
		if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok && text != "" {
			data = append(data, text)
		}
		if strings.HasPrefix(lines.Text(), until) {
			return data, last
		}
	}
	if until != "" {
		t.Fatalf("the stream ended before %q: %q, %v", until, data, lines.Err())
	}
	return data, last
}

const (
	ping   = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	list   = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	search = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"memory_search","arguments":{"query":"mutex"}}}`
)

// M01, A08
func TestTheBridgeHasItsOwnToken(t *testing.T) {
	s := serve(t, &memory{})
	for _, method := range []string{"GET", "POST", "DELETE"} {
		body := ""
		if method == "POST" {
			body = hello("2025-06-18")
		}
		for _, headers := range [][]string{
			{ambry.MCPTokenHeader, ""},
			{ambry.MCPTokenHeader, "", ambry.MCPTokenHeader, "the-other-token"},
			{ambry.MCPTokenHeader, "", ambry.LocalTokenHeader, bridgeToken},
			{ambry.MCPTokenHeader, "", ambry.LocalTokenHeader, "the-other-token"},
			{ambry.MCPTokenHeader, "", "Authorization", "Bearer " + bridgeToken},
			{ambry.MCPTokenHeader, bridgeToken},
		} {
			if got := s.ask(method, body, headers...); got.status != 401 || got.code() != "unauthorized" {
				t.Errorf("%s with %v: got %d %s", method, headers, got.status, got.body)
			}
		}
	}
}

// M02, M09 and what the gate refuses besides
func TestTheGateIsBeforeTheBridge(t *testing.T) {
	s := serve(t, &memory{})
	for _, tt := range []struct {
		name, method, body string
		headers            []string
		status             int
	}{
		{"a page of somebody", "POST", hello("2025-06-18"), []string{"Origin", "https://evil.example"}, 403},
		{"a sandboxed page", "POST", hello("2025-06-18"), []string{"Origin", "null"}, 403},
		{"a page that is listed", "POST", hello("2025-06-18"), []string{"Origin", friend}, 200},
		{"plain text", "POST", hello("2025-06-18"), []string{"Content-Type", "", "Content-Type", "text/plain"}, 415},
		{"a form", "POST", hello("2025-06-18"), []string{"Content-Type", "", "Content-Type", "application/x-www-form-urlencoded"}, 415},
		{"no type", "POST", hello("2025-06-18"), []string{"Content-Type", ""}, 415},
		{"too long a frame", "POST", `{"x":"` + strings.Repeat("x", 1<<20) + `"}`, nil, 413},
		{"another method", "PUT", ping, nil, 405},
		{"a nesting bomb", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000) + `}`, nil, 400},
	} {
		if got := s.ask(tt.method, tt.body, tt.headers...); got.status != tt.status || tt.status > 400 && got.code() == "" {
			t.Errorf("%s: got %d %.200s, want %d", tt.name, got.status, got.body, tt.status)
		}
	}
}

// M06, M07: what is refused is refused in the one form of the API.
func TestMalformedFramesAreRefused(t *testing.T) {
	s := serve(t, &memory{})
	id := s.begin("2025-03-26")
	tests := map[string]string{
		"not JSON":           `{"jsonrpc":`,
		"two values":         ping + ping,
		"duplicate method":   `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`,
		"case variant":       `{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/list"}`,
		"method in capitals": `{"jsonrpc":"2.0","id":1,"Method":"tools/list"}`,
		"NUL in a key":       `{"jsonrpc":"2.0","id":1,"method\u0000":"tools/list"}`,
		"no version":         `{"id":1,"method":"tools/list"}`,
		"method is a number": `{"jsonrpc":"2.0","id":1,"method":7}`,
		"unknown method":     `{"jsonrpc":"2.0","id":1,"method":"tools/destroy"}`,
		"id is an object":    `{"jsonrpc":"2.0","id":{},"method":"ping"}`,
		"huge id":            `{"jsonrpc":"2.0","id":1e400,"method":"ping"}`,
		"empty array":        `[]`,
		"null":               `null`,
		"a number":           `7`,
		"nothing":            ``,
		"neither":            `{"jsonrpc":"2.0","id":1}`,
		"neither in a batch": `[` + ping + `,{"jsonrpc":"2.0","id":1}]`,
		"invalid UTF-8":      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}",
		"BOM":                "\ufeff" + ping,
		"too long a batch":   "[" + strings.Repeat(ping+",", 40) + ping + "]",
	}
	for name, body := range tests {
		for with, headers := range map[string][]string{"without": nil, "with": {"Mcp-Session-Id", id}} {
			if got := s.ask("POST", body, headers...); got.status != 400 || got.code() != "invalid_argument" {
				t.Errorf("%s, %s a session: got %d %s", name, with, got.status, got.body)
			}
		}
	}
	if got := s.ask("POST", ping, "Mcp-Session-Id", id); got.status != 200 {
		t.Errorf("the session did not outlive them: %d %s", got.status, got.body)
	}
}

// M06
func TestUnknownRevisionsAreRefused(t *testing.T) {
	s := serve(t, &memory{})
	id := s.begin("2025-06-18")
	for _, revision := range []string{"1999-01-01", "x", "2025-06-18, 2024-11-05", "2027-01-01", strings.Repeat("9", 4096)} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			body := ""
			if method == "POST" {
				body = list
			}
			got := s.ask(method, body, "Mcp-Session-Id", id, "Mcp-Protocol-Version", revision)
			if got.status != 400 || len(got.body) > 1000 {
				t.Errorf("%s of %.20s: got %d %.200s", method, revision, got.status, got.body)
			}
			if method == "POST" && (!strings.Contains(got.body, "-32022") || !strings.Contains(got.body, `"supported":["2026-07-28"`) || !strings.Contains(got.body, `"id":2`)) {
				t.Errorf("%.20s is not told what is supported: %s", revision, got.body)
			}
		}
	}
	if got := s.ask("POST", list, "Mcp-Session-Id", id, "Mcp-Protocol-Version", "2025-06-18", "Mcp-Protocol-Version", "2025-06-18"); got.status != 400 {
		t.Errorf("twice: got %d", got.status)
	}
}
