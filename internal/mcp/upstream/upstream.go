// Package upstream connects to MCP servers of somebody else and offers what they
// have through a server of ours. It trusts none of them: what they say is data,
// cut to size, and one that is dead, slow or hostile hurts nobody else. It does
// not know our own tools, and starts nothing that a person has not named.
package upstream

import (
	"context"
	"log/slog"
	"net"
	"reflect"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ambry.dev/ambry"
)

// Config is what a [Pool] is made of.
type Config struct {
	Version string // ours, which the servers are told
	Dir     string // where programs run

	// Environ is what programs find in their environment, before what is set for
	// them. It should hold no secret of ours.
	Environ []string

	// Secret returns what a reference, such as env:NAME, stands for.
	Secret func(ctx context.Context, reference string) (string, error)

	// Locate returns where an upstream is, each time that it is connected to; nil
	// means where its settings say.
	Locate func(ctx context.Context, u ambry.Upstream) (ambry.Upstream, error)

	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
	Log         *slog.Logger
	Timing      Timing
}

// Pool is the upstreams there are. Attach it to a server, then Run it.
type Pool struct {
	cfg  Config
	wake chan struct{} // wanted has changed

	mu       sync.Mutex // guards what follows
	wanted   []ambry.Upstream
	members  []*member // in the order of the settings
	server   *mcp.Server
	offered  registry
	sessions map[*mcp.ServerSession]*client
}

// client is what has to be remembered of a session of ours with a client.
type client struct {
	level mcp.LoggingLevel   //nolint:staticcheck // clients of 2025 have nothing else
	subs  map[string]*member // subscriptions, by address
}

// New returns a pool of the upstreams given; nothing runs yet.
func New(cfg Config, upstreams []ambry.Upstream) *Pool {
	cfg.Timing = cfg.Timing.withDefaults()
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Pool{cfg: cfg, wake: make(chan struct{}, 1), wanted: upstreams, sessions: map[*mcp.ServerSession]*client{}}
}

// Set makes the upstreams given those that there are. What stays as it was goes
// on; the rest is stopped and started.
func (p *Pool) Set(upstreams []ambry.Upstream) {
	p.mu.Lock()
	p.wanted = upstreams
	p.mu.Unlock()
	signal(p.wake)
}

// signal wakes whoever waits for c, once.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run keeps the upstreams connected until ctx ends, and returns when all of them
// are gone. Call it once, after Attach.
func (p *Pool) Run(ctx context.Context) error {
	running := map[*member]func(){}
	defer func() {
		for _, stop := range running {
			stop()
		}
	}()
	for {
		started, stopped := p.arrange()
		for _, m := range stopped {
			running[m]()
			delete(running, m)
		}
		p.publish()
		for _, m := range started {
			running[m] = m.start(ctx)
		}
		select {
		case <-ctx.Done():
			p.mu.Lock()
			p.members = nil
			p.mu.Unlock()
			return nil
		case <-p.wake:
		}
	}
}

// arrange makes the members those that are wanted, and returns which ones begin
// and end by that.
func (p *Pool) arrange() (started, stopped []*member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.members
	p.members = nil
	for _, u := range p.wanted {
		i := slices.IndexFunc(before, func(m *member) bool { return reflect.DeepEqual(m.spec, u) })
		if i >= 0 {
			p.members = append(p.members, before[i])
			before = slices.Delete(slices.Clone(before), i, i+1)
			continue
		}
		m := newMember(p, u)
		p.members = append(p.members, m)
		started = append(started, m)
	}
	return started, before
}

// Status returns how each upstream is, in the order of the settings.
func (p *Pool) Status() []ambry.UpstreamStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]ambry.UpstreamStatus, 0, len(p.members))
	for _, m := range p.members {
		s := m.status()
		s.Tools = p.offered.toolsOf(m)
		all = append(all, s)
	}
	return all
}

// all returns the members.
func (p *Pool) all() []*member {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.members)
}

// know returns what is remembered of a session. The first time it begins to
// watch for the session's end, with which all that was opened for it is closed.
func (p *Pool) know(session *mcp.ServerSession) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sessions[session] != nil {
		return
	}
	p.sessions[session] = &client{subs: map[string]*member{}}
	go func() { // ends with the session
		_ = session.Wait() // however it ended
		p.mu.Lock()
		delete(p.sessions, session)
		p.mu.Unlock()
		for _, m := range p.all() {
			m.leave(session)
		}
	}()
}

// level returns the least level that a session wants to hear of, "" if it has
// not said so.
func (p *Pool) level(session *mcp.ServerSession) mcp.LoggingLevel { //nolint:staticcheck // clients of 2025 have nothing else
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.sessions[session]; c != nil {
		return c.level
	}
	return ""
}

// remember notes who was asked to say when a resource changes; nil that nobody
// is any more.
func (p *Pool) remember(session *mcp.ServerSession, uri string, m *member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.sessions[session]
	if c == nil {
		return
	}
	delete(c.subs, uri)
	if m != nil {
		c.subs[uri] = m
	}
}

// waiting returns the addresses that a session waits for news of from m.
func (p *Pool) waiting(session *mcp.ServerSession, m *member) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var uris []string
	if c := p.sessions[session]; c != nil {
		for uri, one := range c.subs {
			if one == m {
				uris = append(uris, uri)
			}
		}
	}
	return uris
}

// listeners returns the sessions that wait for news from m.
func (p *Pool) listeners(m *member) []*mcp.ServerSession {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []*mcp.ServerSession
	for session, c := range p.sessions {
		for _, one := range c.subs {
			if one == m {
				all = append(all, session)
				break
			}
		}
	}
	return all
}
