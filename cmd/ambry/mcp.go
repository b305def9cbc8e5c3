package main

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"ambry.dev/ambry"
	"ambry.dev/ambry/client"
	"ambry.dev/ambry/internal/mcp"
)

// agentTokenVariable holds the token of an agent that has one of its own.
const agentTokenVariable = "AMBRY_AGENT_TOKEN"

func (p *program) mcpCommand() *cobra.Command {
	var agent string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Offer the memory to an agent over MCP (stdio)",
		Long: `Mcp speaks the Model Context Protocol on standard input and output. An agent runs
it; it offers memory_search, memory_get, memory_add, memory_forget, session_read
and memory_timeline, the prompt "resume", and what the MCP servers in
mcp.upstreams have. It finds the running service, starts one if there is none,
and finds it again after a restart.

The log of the memory tells which agent read and wrote what: the one named with
--agent, or the name that the agent gives itself. An agent with a token of its
own, in ` + agentTokenVariable + `, is known by that; see "ambry token".`,
		Example: `  claude mcp add ambry -- ambry mcp --agent claude-code
  codex mcp add ambry -- ambry mcp --agent codex`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if agent != "" && ambry.AgentName(agent) == "" {
				return ambry.InvalidArgument.Errorf("--agent is a name of letters, digits, _, . and -, such as claude-code")
			}
			return p.serveMCP(cmd.Context(), ambry.AgentName(agent))
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "agent that is served, such as claude-code; what it calls itself if absent")
	return cmd
}

func (p *program) serveMCP(ctx context.Context, agent string) error {
	log := slog.New(slog.NewTextHandler(p.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	f := p.follow()
	defer f.close()
	token := p.getenv(agentTokenVariable)
	f.agent, f.token = agent, token

	others := mcp.Relay(version, func(ctx context.Context) (string, map[string]string, error) { return p.bridge(ctx, token) }, client.DialContext)
	server := &mcp.Server{Memory: f, As: func(agent string) mcp.Memory { return f.as(agent) }, Agent: agent, Session: p.agentSession(), Version: version, Log: log, Others: others}

	// An agent that begins a session gets a service that reads along, and its
	// first call does not wait for the start.
	ctx, cancel := context.WithCancel(ctx)
	var parts sync.WaitGroup
	defer parts.Wait()
	defer cancel()
	parts.Go(func() {
		if _, err := f.current(ctx); err != nil && ctx.Err() == nil {
			log.Warn("no service yet; the next call tries again", "err", err)
		}
	})
	offered := make(chan struct{})
	server.Offered = func() { close(offered) }
	parts.Go(func() {
		select {
		case <-offered:
			_ = others.Run(ctx) // never fails
		case <-ctx.Done():
		}
	})
	return server.Serve(ctx, io.NopCloser(p.in), writeCloser{p.out})
}

// sessionVariables are where agents tell the programs that they run in which
// session they do, by the name that their hooks have for it.
var sessionVariables = []string{"CLAUDE_CODE_SESSION_ID"}

// agentSession returns the session of the agent that runs this process, or a
// name of its own: most agents run one for each session.
func (p *program) agentSession() string {
	for _, name := range sessionVariables {
		if id := ambry.SessionName(p.getenv(name)); id != "" {
			return id
		}
	}
	return "mcp_" + rand.Text()
}

// How long a service that is being started, or started again, is waited for.
const (
	bridgeWait = 10 * time.Second
	bridgeLook = 100 * time.Millisecond
)

// bridge returns where the bridge of the running service is, and what opens it.
// It starts none: a person may have ended it.
func (p *program) bridge(ctx context.Context, token string) (string, map[string]string, error) {
	dir, err := p.home()
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, bridgeWait)
	defer cancel()
	for {
		c, rt, err := client.Find(ctx, dir)
		if err == nil {
			c.Close()
			if token == "" {
				token = rt.MCPToken
			}
			return rt.BaseURL + "/mcp/bridge", map[string]string{ambry.MCPTokenHeader: token}, nil
		}
		if !errors.Is(err, client.ErrNotRunning) {
			return "", nil, err
		}
		select {
		case <-ctx.Done():
			return "", nil, err
		case <-time.After(bridgeLook):
		}
	}
}

type writeCloser struct{ io.Writer }

// Close does nothing: standard output is not ours to close.
func (writeCloser) Close() error { return nil }
