package mcp_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/mcp"
	"ambry.dev/ambry/internal/mcp/upstream"
)

// stranger serves an MCP server of somebody else.
func stranger(t *testing.T) string {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "docs", Version: "1"}, nil)
	s.AddTool(&sdk.Tool{Name: "find", InputSchema: object{"type": "object"}}, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		res, err := req.Session.CreateMessage(ctx, &sdk.CreateMessageParams{MaxTokens: 1, Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: "where?"}}}}) //nolint:staticcheck // servers of 2025 have nothing else
		if err != nil {
			return nil, err
		}
		return &sdk.CallToolResult{Content: []sdk.Content{res.Content}}, nil
	})
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(func() {
		web.Close()
		for session := range s.Sessions() { // who was cut off while it began one cannot end it
			_ = session.Close()
		}
	})
	return web.URL
}

// home is a service with a stranger's server behind its bridge, that can end and
// come back elsewhere.
type home struct {
	t        *testing.T
	stranger string

	mu   sync.Mutex // guards url
	url  string
	stop func()
}

func (h *home) start() {
	h.t.Helper()
	pool := upstream.New(upstream.Config{Version: "1", DialContext: new(net.Dialer).DialContext}, []ambry.Upstream{{ID: "docs", URL: h.stranger}})
	bridge := mcp.NewBridge(&mcp.Server{Memory: full(), Version: "1", Log: slog.New(slog.DiscardHandler), Others: pool})
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- pool.Run(ctx) }()
	web := httptest.NewServer(bridge)
	h.mu.Lock()
	h.url = web.URL
	h.mu.Unlock()
	h.stop = sync.OnceFunc(func() {
		h.mu.Lock()
		h.url = ""
		h.mu.Unlock()
		bridge.Close()
		web.CloseClientConnections()
		web.Close()
		cancel()
		<-ran
	})
	h.t.Cleanup(h.stop)
}

func (h *home) find(context.Context) (string, map[string]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.url == "" {
		return "", nil, errors.New("there is no service")
	}
	return h.url, nil, nil
}

// An agent at the stdio command gets what is behind the bridge of the service,
// is asked back through both, and does not notice that the service is another.
func TestTheRelayFollowsTheService(t *testing.T) {
	h := &home{t: t, stranger: stranger(t)}
	h.start()
	others := mcp.Relay("1", h.find, new(net.Dialer).DialContext)
	offered := make(chan struct{})
	server := &mcp.Server{Memory: full(), Version: "1", Log: slog.New(slog.DiscardHandler), Others: others, Offered: func() { close(offered) }}
	ctx, cancel := context.WithCancel(context.Background())
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	served, ran := make(chan error, 1), make(chan error, 1)
	go func() { served <- server.Serve(ctx, inR, outW); outW.Close() }()
	<-offered
	go func() { ran <- others.Run(ctx) }()
	c := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, &sdk.ClientOptions{
		CreateMessageHandler: func(context.Context, *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) { //nolint:staticcheck // clients of 2025 have nothing else
			return &sdk.CreateMessageResult{Model: "m", Role: "assistant", Content: &sdk.TextContent{Text: "here"}}, nil //nolint:staticcheck // clients of 2025 have nothing else
		},
	})
	session, err := c.Connect(t.Context(), &sdk.IOTransport{Reader: outR, Writer: inW}, &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	tools := map[string]bool{}
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		tools[tool.Name] = true
	}
	if len(tools) != 7 || !tools["docs__find"] || !tools["memory_search"] {
		t.Errorf("got %v", tools)
	}
	find := func() string {
		res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "docs__find"})
		if err != nil {
			return err.Error()
		}
		if text, ok := res.Content[0].(*sdk.TextContent); ok {
			return text.Text
		}
		return "no text"
	}
	if got := find(); got != "here" {
		t.Errorf("got %s", got)
	}
	h.stop()
	h.start()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		got := find()
		if got == "here" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("after the restart: %s", got)
		}
	}
	session.Close()
	cancel()
	<-served
	<-ran
}
