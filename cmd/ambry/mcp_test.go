package main

import (
	"strings"
	"testing"
)

func TestMCPSpeaksOnlyProtocol(t *testing.T) {
	s := fakeService(t, map[string]any{"POST /api/v1/memory/search": answer()})
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"memory_search","arguments":{"query":"mutex"}}}
`
	got := ambryWith(t.Context(), t, in, "mcp", "--home", s.home)
	got.check(t, 0, "tr_1", `"serverInfo":{"name":"ambry"`)
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	if len(lines) != 3 || got.err != "" {
		t.Errorf("got %d lines and %q", len(lines), got.err)
	}
	for _, line := range lines {
		if !strings.HasPrefix(line, `{"jsonrpc":"2.0"`) {
			t.Errorf("got %s", line)
		}
	}
}
