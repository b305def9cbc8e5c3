package main

import (
	"context"
	"io"
	"log/slog"
	"sync"

	"github.com/spf13/cobra"

	"ambry.dev/ambry"
	"ambry.dev/ambry/client"
	"ambry.dev/ambry/internal/mcp"
)

func (p *program) mcpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "Offer the memory to an agent over MCP (stdio)",
		Long: `Mcp speaks the Model Context Protocol on standard input and output. An agent runs
it; it offers memory_search, memory_get and memory_add. It finds the running
service, starts one if there is none, and finds it again after a restart.`,
		Example: `  claude mcp add ambry -- ambry mcp
  codex mcp add ambry -- ambry mcp`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log := slog.New(slog.NewTextHandler(p.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
			f := &follower{connect: p.memory}
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

// follower is the memory of whichever service runs: when one is gone, it finds
// or starts the next and asks that.
type follower struct {
	connect func(context.Context) (*client.Client, error)

	mu     sync.Mutex
	client *client.Client
}

var _ mcp.Memory = (*follower)(nil)

// Search asks the memory.
func (f *follower) Search(ctx context.Context, q ambry.Query) (a ambry.Answer, err error) {
	err = f.do(ctx, func(c *client.Client) error { a, err = c.Search(ctx, q); return err })
	return a, err
}

// Get returns a memory with its whole text.
func (f *follower) Get(ctx context.Context, id string) (d ambry.Detail, err error) {
	err = f.do(ctx, func(c *client.Client) error { d, err = c.Get(ctx, id); return err })
	return d, err
}

// Add adds a note. The key makes it safe to ask again.
func (f *follower) Add(ctx context.Context, n ambry.Note, key string) (m ambry.Memory, err error) {
	err = f.do(ctx, func(c *client.Client) error { m, err = c.Add(ctx, n, key); return err })
	return m, err
}

// do asks, and asks once more when the service or its memory went away.
func (f *follower) do(ctx context.Context, ask func(*client.Client) error) error {
	c, err := f.current(ctx)
	if err != nil {
		return err
	}
	err = ask(c)
	kind := ambry.KindOf(err)
	if err == nil || kind != ambry.Unauthorized && kind != ambry.MemoryUnavailable {
		return err
	}
	f.drop(c)
	next, again := f.current(ctx)
	if again != nil {
		return again
	}
	return ask(next)
}

// current returns the client, after connecting if there is none. Calls at the
// same time connect once.
func (f *follower) current(ctx context.Context) (*client.Client, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.client != nil {
		return f.client, nil
	}
	c, err := f.connect(ctx)
	if err == nil {
		f.client = c
	}
	return c, err
}

// drop forgets a client whose service is gone, unless somebody has done so.
func (f *follower) drop(c *client.Client) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.client == c {
		f.client = nil
		c.Close()
	}
}

func (f *follower) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.client != nil {
		f.client.Close()
	}
}
