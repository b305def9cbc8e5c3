package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/client"
)

// mcpTimes is how often each is measured.
const mcpTimes = 200

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"speed","version":"1"}}}`

// agents measures what an agent sees of the bridge: the beginning of a session
// and a search, over HTTP and over the stdio command.
func (b *bench) agents(ctx context.Context, s *service) error {
	rt, err := client.ReadRuntimeFile(s.home)
	if err != nil {
		return err
	}
	if err := b.agentsHTTP(ctx, rt, b.rare); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, b.binary, "mcp", "--agent", "speed", "--home", s.home)
	cmd.Env = []string{"HOME=" + b.home, "PATH=" + os.Getenv("PATH")}
	c := sdk.NewClient(&sdk.Implementation{Name: "speed", Version: "1"}, nil)
	session, err := c.Connect(ctx, &sdk.CommandTransport{Command: cmd}, &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		return fmt.Errorf("start ambry mcp: %w", err)
	}
	defer session.Close()
	var took []time.Duration
	for i := range mcpTimes {
		began := time.Now()
		res, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "memory_search", Arguments: map[string]any{"query": b.rare[i%len(b.rare)]}})
		if err != nil || res.IsError {
			return fmt.Errorf("memory_search over stdio: %v, %+v", err, res)
		}
		took = append(took, time.Since(began))
	}
	b.add("MCP memory_search over stdio, p50", ms(quantile(took, .5)), "ms", "<= 10", fmt.Sprintf("p99 %.2f", ms(quantile(took, .99))))
	return nil
}

func (b *bench) agentsHTTP(ctx context.Context, rt ambry.RuntimeFile, queries []string) error {
	session := ""
	post := func(method, body string) (time.Duration, error) {
		began := time.Now()
		req, err := http.NewRequestWithContext(ctx, method, rt.BaseURL+"/mcp/bridge", bytes.NewReader([]byte(body)))
		if err != nil {
			return 0, err
		}
		req.Header.Set(ambry.MCPTokenHeader, rt.MCPToken)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, err
		}
		defer res.Body.Close()
		if res.StatusCode >= 300 {
			return 0, fmt.Errorf("the bridge answers %s", res.Status)
		}
		if session == "" {
			session = res.Header.Get("Mcp-Session-Id")
		}
		answer, err := io.ReadAll(res.Body)
		if method == http.MethodPost && !bytes.Contains(answer, []byte(`"result"`)) {
			return 0, fmt.Errorf("the bridge answers %.100s", answer)
		}
		return time.Since(began), err
	}
	var begins, searches []time.Duration
	for range mcpTimes {
		session = ""
		d, err := post(http.MethodPost, initialize)
		if err != nil {
			return err
		}
		begins = append(begins, d)
		if _, err := post(http.MethodDelete, ""); err != nil {
			return err
		}
	}
	session = ""
	if _, err := post(http.MethodPost, initialize); err != nil {
		return err
	}
	for i := range mcpTimes {
		d, err := post(http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"memory_search","arguments":{"query":%q}}}`, i+2, queries[i%len(queries)]))
		if err != nil {
			return err
		}
		searches = append(searches, d)
	}
	b.add("MCP initialize, p50", ms(quantile(begins, .5)), "ms", "<= 5", fmt.Sprintf("p99 %.2f", ms(quantile(begins, .99))))
	b.add("MCP memory_search over HTTP, p50", ms(quantile(searches, .5)), "ms", "<= 8", fmt.Sprintf("p99 %.2f", ms(quantile(searches, .99))))
	return nil
}
