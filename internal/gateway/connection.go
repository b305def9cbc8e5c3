package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

const (
	firstWait = time.Second     // before a lost connection is tried again
	longest   = 5 * time.Minute // that, after many times
	steady    = time.Minute     // a connection that has held for so long is none that fails

	// endWait is how long a connection may take to end before nobody waits for it
	// any more.
	endWait = 10 * time.Second
)

// connection is a channel that is held.
type connection struct {
	gateway  *Gateway
	provider channel.Provider
	id       string          // of the link
	ctx      context.Context // its life
	stop     context.CancelFunc
	done     chan struct{}
	wake     chan struct{} // what forbade it may be over
	strange  *rate.Limiter // messages of those who are not paired
	greet    *rate.Limiter // answers to them
	exits    *exits
	workers  sync.WaitGroup

	mu      sync.Mutex // guards what follows
	status  ambry.ChannelState
	reason  string
	name    string // who we are there, "" if it was not said yet
	since   time.Time
	secrets map[string]string
	seen    memory
	peers   map[string]*peer
	told    map[string]time.Time // when a stranger was answered last
	chats   map[string]*chat
}

// Run holds the connections until ctx ends, and returns when all have ended.
func (g *Gateway) Run(ctx context.Context) error {
	g.change.Lock()
	setup, err := g.Setup.Load(ctx)
	if err != nil {
		g.change.Unlock()
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	g.mu.Lock()
	g.ctx = ctx
	g.mu.Unlock()
	for i := range setup.Links {
		g.replace(setup.Links[i].Provider, &setup.Links[i])
	}
	g.change.Unlock()
	<-ctx.Done()
	g.mu.Lock()
	all := maps.Clone(g.live)
	g.mu.Unlock()
	end := time.NewTimer(endWait)
	defer end.Stop()
	for _, c := range all {
		select {
		case <-c.done:
		case <-end.C:
			g.Log.Error("a channel does not end", "channel", c.provider.ID)
			return nil
		}
	}
	return nil
}

// replace ends the connection of a provider and begins that of a link, if there
// is one. It returns the one that ends, nil if there is none, and does not wait
// for it. The caller has change.
func (g *Gateway) replace(id string, l *ambry.ChannelLink) *connection {
	g.mu.Lock()
	defer g.mu.Unlock()
	old := g.live[id]
	delete(g.live, id)
	if old != nil {
		old.stop()
	}
	p, err := g.provider(id)
	if l == nil || g.ctx == nil || g.ctx.Err() != nil || err != nil || p.New == nil {
		return old
	}
	ctx, stop := context.WithCancel(g.ctx)
	c := &connection{
		gateway: g, provider: p, id: l.ID, ctx: ctx, stop: stop, done: make(chan struct{}), wake: make(chan struct{}, 1),
		strange: rate.NewLimiter(rate.Every(2*time.Second), 20), greet: rate.NewLimiter(rate.Every(time.Minute), 5),
		status: ambry.ChannelStarting, since: g.Now().UTC(),
		peers: map[string]*peer{}, told: map[string]time.Time{}, chats: map[string]*chat{},
	}
	c.exits = &exits{gateway: g}
	g.live[id] = c
	go func() {
		defer close(c.done)
		defer stop()
		if old != nil {
			<-old.done // a service may allow one connection only
		}
		c.hold(ctx, *l)
		c.workers.Wait()
	}()
	return old
}

// Retry has lost connections tried again now, as far as it was local-only mode
// that forbade them.
func (g *Gateway) Retry() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.live {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

// hold connects until ctx ends, or the service takes the credentials no more.
func (c *connection) hold(ctx context.Context, l ambry.ChannelLink) {
	failures := 0
	for ctx.Err() == nil {
		c.exits.reset()
		err := c.once(ctx, l)
		if ctx.Err() != nil {
			return
		}
		why := reason(c.provider, err, c.hidden())
		if c.exits.refused() {
			c.set(ambry.ChannelRestarting, ErrLocalOnly.Error())
			select {
			case <-c.wake:
			case <-ctx.Done():
			}
			continue
		}
		if kind := ambry.KindOf(err); kind == ambry.Unauthorized || kind == ambry.InvalidArgument {
			c.gateway.Log.Warn("a channel is not accepted any more; connect it anew", "channel", c.provider.ID)
			c.set(ambry.ChannelExpired, why)
			<-ctx.Done()
			return
		}
		if c.held() > steady {
			failures = 0
		}
		wait := pause(failures)
		if e, ok := errors.AsType[*ambry.Error](err); ok {
			wait = max(wait, min(time.Duration(e.RetryAfter)*time.Second, longest))
		}
		failures++
		c.set(ambry.ChannelRestarting, why)
		_ = channel.Pause(ctx, wait) // the loop sees the end
	}
}

// pause is how long to wait after so many failures: longer each time, and never
// at the same moment as everybody else.
func pause(failures int) time.Duration {
	d := min(firstWait<<min(failures, 10), longest)
	return d/2 + rand.N(d/2)
}

var errPanic = errors.New("something of it has broken down")

// once connects, and returns why the connection is lost.
func (c *connection) once(ctx context.Context, l ambry.ChannelLink) (err error) {
	defer func() {
		if r := recover(); r != nil {
			// A library that cannot read what a service says must not end all else. What it
			// says of that may hold texts of people.
			c.gateway.Log.Error("a channel has panicked", "channel", c.provider.ID, "stack", string(debug.Stack()))
			err = errPanic
		}
	}()
	values := maps.Clone(l.Values)
	secrets, err := c.gateway.secrets(ctx, l)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.secrets = secrets
	c.mu.Unlock()
	if values == nil {
		values = map[string]string{}
	}
	maps.Copy(values, secrets)
	link, err := c.provider.New(c.exits.access(c.provider, values))
	if err != nil {
		return err
	}
	if err := link.Run(ctx, host{c}); err != nil {
		return err
	}
	return ambry.UpstreamFailed.Errorf("%s has ended the connection", c.provider.Name)
}

// secrets returns what is secret of a link.
func (g *Gateway) secrets(ctx context.Context, l ambry.ChannelLink) (map[string]string, error) {
	if l.Secret == "" {
		return nil, nil
	}
	text, err := g.Secrets.Get(ctx, l.Secret)
	if ambry.KindOf(err) == ambry.NotFound {
		return nil, ambry.Unauthorized.Errorf("what was secret of it is gone; connect it anew")
	}
	if err != nil {
		return nil, ambry.UpstreamFailed.Wrap(err, err.Error())
	}
	var secrets map[string]string
	if err := json.Unmarshal([]byte(text), &secrets); err != nil {
		return nil, ambry.Unauthorized.Errorf("what is secret of it is not as we wrote it; connect it anew")
	}
	return secrets, nil
}

func (c *connection) hidden() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.secrets
}

// held is how long the connection has been as it is.
func (c *connection) held() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status != ambry.ChannelConnected {
		return 0
	}
	return c.gateway.Now().Sub(c.since)
}

// set says how the connection is. Whoever follows is told if that is new.
func (c *connection) set(status ambry.ChannelState, reason string) {
	c.mu.Lock()
	if status == c.status && reason == c.reason {
		c.mu.Unlock()
		return
	}
	if c.status != status {
		c.since = c.gateway.Now().UTC()
	}
	c.status, c.reason = status, reason
	c.mu.Unlock()
	c.gateway.Log.Info("a channel", "channel", c.provider.ID, "status", string(status))
	c.gateway.Bus.Publish(ambry.ChannelChanged{Provider: c.provider.ID, ConnectionID: c.id, Status: status, Reason: reason})
}

// told says that a channel has other peers.
func (g *Gateway) told(provider, link string) {
	g.mu.Lock()
	c := g.live[provider]
	g.mu.Unlock()
	change := ambry.ChannelChanged{Provider: provider, ConnectionID: link, Status: ambry.ChannelStarting}
	if c != nil && c.id == link {
		c.mu.Lock()
		change.Status, change.Reason = c.status, c.reason
		c.mu.Unlock()
	}
	g.Bus.Publish(change)
}

// exits are the ways out of one connection. They notice when local-only mode
// closes them, however the provider puts that.
type exits struct {
	gateway *Gateway

	mu    sync.Mutex
	local bool
}

func (e *exits) note(err error) {
	if errors.Is(err, ErrLocalOnly) {
		e.mu.Lock()
		e.local = true
		e.mu.Unlock()
	}
}

func (e *exits) refused() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.local
}

func (e *exits) reset() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.local = false
}

func (e *exits) access(p channel.Provider, values map[string]string) channel.Access {
	client := *e.gateway.HTTP
	client.Transport = noticing{e, client.Transport}
	return channel.Access{
		Values: values, Log: e.gateway.Log.With("channel", p.ID), HTTP: &client, Roots: e.gateway.Roots,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := e.gateway.Dial(ctx, network, address)
			if err != nil {
				e.note(err)
				return nil, fmt.Errorf("call: %w", err)
			}
			return conn, nil
		},
	}
}

// noticing is an [http.RoundTripper] that notes errors.
type noticing struct {
	exits *exits
	next  http.RoundTripper
}

// RoundTrip sends a request.
func (n noticing) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := n.next.RoundTrip(r)
	if err != nil {
		n.exits.note(err)
	}
	return answer, err
}
