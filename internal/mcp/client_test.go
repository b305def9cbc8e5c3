package mcp_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/mcp"
)

// heard is what a client was told while it waited for its answers.
type heard struct {
	mu       sync.Mutex
	progress []float64
	logs     []string
}

func (h *heard) options() *sdk.ClientOptions {
	return &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, req *sdk.ProgressNotificationClientRequest) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.progress = append(h.progress, req.Params.Progress)
		},
		//nolint:staticcheck // the 2025 revisions have it
		LoggingMessageHandler: func(_ context.Context, req *sdk.LoggingMessageRequest) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.logs = append(h.logs, string(req.Params.Level))
		},
	}
}

// has waits for some progress and some log messages.
func (h *heard) has(t *testing.T, progress, logs int) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		h.mu.Lock()
		gotProgress, gotLogs := len(h.progress), len(h.logs)
		h.mu.Unlock()
		if gotProgress == progress && gotLogs == logs {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("heard of progress %d times and %d logs, want %d and %d", gotProgress, gotLogs, progress, logs)
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// use does with a session what an agent does.
func use(t *testing.T, session *sdk.ClientSession, h *heard) {
	t.Helper()
	tools := map[string]bool{}
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		tools[tool.Name] = true
	}
	if len(tools) != 6 || !tools["session_read"] {
		t.Errorf("got tools %v", tools)
	}
	params := &sdk.CallToolParams{Name: "memory_search", Arguments: object{"query": "mutex"}}
	params.SetProgressToken("a-token")
	got, err := session.CallTool(t.Context(), params)
	if err != nil || got.IsError || len(got.Content) != 1 {
		t.Fatalf("got %+v, %v", got, err)
	}
	if said, ok := got.Content[0].(*sdk.TextContent); !ok || !strings.Contains(said.Text, "tr_1") {
		t.Errorf("got %+v", got.Content[0])
	}
	h.has(t, 2, 0)
	if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "memory_destroy"}); err == nil {
		t.Error("an unknown tool is an error")
	}
	prompt, err := session.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "resume"})
	if err != nil || !strings.Contains(prompt.Messages[0].Content.(*sdk.TextContent).Text, "the last turn") {
		t.Errorf("got %+v, %v", prompt, err)
	}
	item, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "memory://item/tr_1"})
	if err != nil || !strings.Contains(item.Contents[0].Text, "what it says") {
		t.Errorf("got %+v, %v", item, err)
	}
	if _, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "memory://item/none"}); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("got %v", err)
	}
}

func full() *memory {
	return &memory{
		answer:     answer(),
		detail:     ambry.Detail{Memory: ambry.Memory{ID: "tr_1"}, Body: "what it says"},
		sessions:   ambry.Sessions{Sessions: []ambry.SessionSummary{summary("s1", "")}},
		transcript: []ambry.Transcript{page("s1", "the first turn"), page("s1", "the last turn")},
	}
}

// The client of the SDK speaks the newest revision.
func TestTheOfficialClient(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	served := make(chan error, 1)
	go func() {
		server := &mcp.Server{Memory: full(), Version: "1.2.3", Log: slog.New(slog.DiscardHandler)}
		served <- server.Serve(t.Context(), inR, outW)
		outW.Close()
	}()
	h := &heard{}
	c := sdk.NewClient(&sdk.Implementation{Name: "official", Version: "0"}, h.options())
	session, err := c.Connect(t.Context(), &sdk.IOTransport{Reader: outR, Writer: inW}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := session.InitializeResult().ProtocolVersion; got != "2026-07-28" {
		t.Errorf("got revision %s", got)
	}
	use(t, session, h)
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// withToken adds the token of the bridge to each request.
type withToken struct{ http.RoundTripper }

func (t withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(ambry.MCPTokenHeader, bridgeToken)
	return t.RoundTripper.RoundTrip(r)
}

func TestTheOfficialClientOverHTTP(t *testing.T) {
	for _, tt := range []struct{ asked, revision string }{
		{"", "2026-07-28"},
		{"2026-07-28", "2026-07-28"},
		{"2025-11-25", "2025-11-25"},
		{"2025-06-18", "2025-06-18"},
		{"2025-03-26", "2025-03-26"},
	} {
		t.Run("revision "+tt.asked, func(t *testing.T) {
			s := serve(t, full())
			h := &heard{}
			c := sdk.NewClient(&sdk.Implementation{Name: "official", Version: "0"}, h.options())
			transport := &sdk.StreamableClientTransport{Endpoint: s.base + bridgePath, HTTPClient: &http.Client{Transport: withToken{http.DefaultTransport}}}
			session, err := c.Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: tt.asked})
			if err != nil {
				t.Fatal(err)
			}
			if got := session.InitializeResult().ProtocolVersion; got != tt.revision {
				t.Errorf("got revision %s", got)
			}
			if (session.ID() != "") != (tt.revision < "2026") {
				t.Errorf("got session %q", session.ID())
			}
			use(t, session, h)
			if session.ID() != "" {
				//nolint:staticcheck // the 2025 revisions have it
				if err := session.SetLoggingLevel(t.Context(), &sdk.SetLoggingLevelParams{Level: "debug"}); err != nil {
					t.Error(err)
				}
				for _, id := range []string{"tr_1", "none"} {
					if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "memory_get", Arguments: object{"id": id}}); err != nil {
						t.Error(err)
					}
				}
				h.has(t, 2, 2)
				if h.logs[0] != "debug" || h.logs[1] != "warning" {
					t.Errorf("got logs %v", h.logs)
				}
			}
			if err := session.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A client whose session ended while it was away begins a new one.
func TestAnEndedSessionIsToldApart(t *testing.T) {
	s := serve(t, full())
	c := sdk.NewClient(&sdk.Implementation{Name: "official", Version: "0"}, nil)
	connect := func() *sdk.ClientSession {
		transport := &sdk.StreamableClientTransport{Endpoint: s.base + bridgePath, HTTPClient: &http.Client{Transport: withToken{http.DefaultTransport}}}
		session, err := c.Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			t.Fatal(err)
		}
		return session
	}
	session := connect()
	if got := s.ask("DELETE", "", "Mcp-Session-Id", session.ID()); got.status != 204 {
		t.Fatalf("got %d", got.status)
	}
	if _, err := session.ListTools(t.Context(), nil); err == nil {
		t.Error("the session goes on after its end")
	}
	_ = session.Close() // it has ended already
	again := connect()
	if _, err := again.ListTools(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
