package main

import (
	"context"
	"io"
	"log/slog"
	"sync"

	"github.com/spf13/cobra"

	"ambry.dev/ambry/internal/mcp"
)

func (p *program) mcpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "Offer the memory to an agent over MCP (stdio)",
		Long: `Mcp speaks the Model Context Protocol on standard input and output. An agent runs
it; it offers memory_search, memory_get, memory_add, memory_forget, session_read
and memory_timeline, and the prompt "resume". It finds the running service, starts
one if there is none, and finds it again after a restart.`,
		Example: `  claude mcp add ambry -- ambry mcp
  codex mcp add ambry -- ambry mcp`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log := slog.New(slog.NewTextHandler(p.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
			f := p.follow()
			defer f.close()

			// An agent that begins a session gets a service that reads along, and its
			// first call does not wait for the start.
			ctx, cancel := context.WithCancel(cmd.Context())
			var early sync.WaitGroup
			defer early.Wait()
			defer cancel()
			early.Go(func() {
				if _, err := f.current(ctx); err != nil && ctx.Err() == nil {
					log.Warn("no service yet; the next call tries again", "err", err)
				}
			})
			server := &mcp.Server{Memory: f, Version: version, Log: log}
			return server.Serve(ctx, io.NopCloser(p.in), writeCloser{p.out})
		},
	}
}

type writeCloser struct{ io.Writer }

// Close does nothing: standard output is not ours to close.
func (writeCloser) Close() error { return nil }
