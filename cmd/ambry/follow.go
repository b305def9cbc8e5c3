package main

import (
	"context"
	"sync"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/client"
	"ambry.dev/ambry/internal/mcp"
)

// memoryWait is how long a memory that is starting may take to answer.
const memoryWait = 10 * time.Second

// follower is the memory of whichever service runs: when one is gone, it finds
// or starts the next and asks that. Close it.
type follower struct {
	connect      func(context.Context) (*client.Client, error)
	agent, token string // who asks, and a token of its own, if it has one

	mu     sync.Mutex
	client *client.Client
}

var _ mcp.Memory = (*follower)(nil)

// follow returns a follower that starts a service if none runs.
func (p *program) follow() *follower { return &follower{connect: p.connect} }

// as returns the memory as an agent asks it.
func (f *follower) as(agent string) mcp.Memory { return agentFollower{f, agent} }

// agentFollower is the memory as one agent asks it.
type agentFollower struct {
	*follower
	agent string
}

func (a agentFollower) Get(ctx context.Context, id string) (d ambry.Detail, err error) {
	err = a.do(ctx, func(c *client.Client) error { d, err = c.As(a.agent, a.token).Get(ctx, id); return err })
	return d, err
}

func (a agentFollower) Forget(ctx context.Context, id, key string) (gone ambry.Forgotten, err error) {
	err = a.do(ctx, func(c *client.Client) error { gone, err = c.As(a.agent, a.token).Forget(ctx, id, key); return err })
	return gone, err
}

func (a agentFollower) Transcript(ctx context.Context, session string, page int) (t ambry.Transcript, err error) {
	err = a.do(ctx, func(c *client.Client) error {
		t, err = c.As(a.agent, a.token).Transcript(ctx, session, page)
		return err
	})
	return t, err
}

func (a agentFollower) Search(ctx context.Context, q ambry.Query) (answer ambry.Answer, err error) {
	err = a.do(ctx, func(c *client.Client) error { answer, err = c.As(a.agent, a.token).Search(ctx, q); return err })
	return answer, err
}

func (a agentFollower) Add(ctx context.Context, n ambry.Note, key string) (m ambry.Memory, err error) {
	err = a.do(ctx, func(c *client.Client) error { m, err = c.As(a.agent, a.token).Add(ctx, n, key); return err })
	return m, err
}

// Search asks the memory.
func (f *follower) Search(ctx context.Context, q ambry.Query) (a ambry.Answer, err error) {
	err = f.do(ctx, func(c *client.Client) error { a, err = c.Search(ctx, q); return err })
	return a, err
}

// Overview returns the counts of the memory.
func (f *follower) Overview(ctx context.Context) (o ambry.Overview, err error) {
	err = f.do(ctx, func(c *client.Client) error { o, err = c.Overview(ctx); return err })
	return o, err
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

// Forget deletes a memory. The key makes it safe to ask again.
func (f *follower) Forget(ctx context.Context, id, key string) (gone ambry.Forgotten, err error) {
	err = f.do(ctx, func(c *client.Client) error { gone, err = c.Forget(ctx, id, key); return err })
	return gone, err
}

// Sessions returns a page of sessions, newest first.
func (f *follower) Sessions(ctx context.Context, q ambry.SessionsQuery) (s ambry.Sessions, err error) {
	err = f.do(ctx, func(c *client.Client) error { s, err = c.Sessions(ctx, q); return err })
	return s, err
}

// Transcript returns a session with a page of its turns.
func (f *follower) Transcript(ctx context.Context, session string, page int) (t ambry.Transcript, err error) {
	err = f.do(ctx, func(c *client.Client) error { t, err = c.Transcript(ctx, session, page); return err })
	return t, err
}

// do asks, and asks once more when the service was another one, or its memory
// was not there: it may be starting, or being restarted.
func (f *follower) do(ctx context.Context, ask func(*client.Client) error) error {
	c, err := f.current(ctx)
	if err != nil {
		return err
	}
	err = ask(c)
	if kind := ambry.KindOf(err); kind != ambry.Unauthorized && kind != ambry.MemoryUnavailable {
		return err
	}
	f.drop(c)
	c, err = f.current(ctx)
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, memoryWait)
	defer cancel()
	if err := c.WaitMemory(waiting); err != nil {
		return err
	}
	return ask(c)
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
