package mcp_test

import (
	"io"
	"log/slog"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ambry.dev/ambry/internal/mcp"
)

// The client of the SDK speaks the newest revision.
func TestTheOfficialClient(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	m := &memory{answer: answer()}
	served := make(chan error, 1)
	go func() {
		server := &mcp.Server{Memory: m, Version: "1.2.3", Log: slog.New(slog.DiscardHandler)}
		served <- server.Serve(t.Context(), inR, outW)
		outW.Close()
	}()
	c := sdk.NewClient(&sdk.Implementation{Name: "official", Version: "0"}, nil)
	session, err := c.Connect(t.Context(), &sdk.IOTransport{Reader: outR, Writer: inW}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := session.InitializeResult().ProtocolVersion; got != "2026-07-28" {
		t.Errorf("got revision %s", got)
	}
	tools := 0
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if tool.Name != "" {
			tools++
		}
	}
	if tools != 6 {
		t.Errorf("got %d tools", tools)
	}
	got, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "memory_search", Arguments: object{"query": "mutex"}})
	if err != nil || got.IsError || len(got.Content) != 1 {
		t.Fatalf("got %+v, %v", got, err)
	}
	if said, ok := got.Content[0].(*sdk.TextContent); !ok || !strings.Contains(said.Text, "tr_1") {
		t.Errorf("got %+v", got.Content[0])
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
