// Package gateway keeps the channels that a person has connected: it checks and
// stores what they gave, holds the connections, and decides who may write. It
// knows no service, and does not answer; what is answered is up to others.
package gateway

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
	"ambry.dev/ambry/internal/secret"
)

// Document is something that there is one of.
type Document[T any] interface {
	Load(ctx context.Context) (T, error)

	// Change has edit change the document; nothing comes between. When edit returns
	// an error nothing changes and that error comes back.
	Change(ctx context.Context, edit func(*T) error) (T, error)
}

// Bus is told what happens.
type Bus interface {
	Publish(p ambry.Payload) ambry.Event
}

// ErrLocalOnly is, perhaps wrapped, the error of Dial and HTTP when the person
// permits no call of another machine.
var ErrLocalOnly = errors.New("local-only mode is on; no other machine is called")

// Question is something that somebody who may write has written to us.
type Question struct {
	Provider string
	Chat     string // names the conversation, and tells nothing of it
	Person   string // names who has written, likewise
	ID       string // names the message, the same when it comes again
	Text     string
	Group    bool // others read along
}

// Answer is what is answered: nothing if the text is empty.
type Answer struct {
	Text  string
	Leave bool // whoever asked wants to be paired no longer
}

// Config is what a [Gateway] is made of. All of it is needed but Roots.
type Config struct {
	Providers []channel.Provider
	Setup     Document[ambry.ChannelSetup]
	Cursors   Document[ambry.ChannelCursors]
	Secrets   *secret.Store

	// The ways out, as [channel.Access] wants them.
	HTTP  *http.Client
	Dial  func(ctx context.Context, network, address string) (net.Conn, error)
	Roots *x509.CertPool

	// Answer answers a question until ctx ends. It is called for several
	// conversations at a time, for one message after the other in each.
	Answer func(ctx context.Context, q Question) Answer

	Bus Bus
	Log *slog.Logger
	Now func() time.Time
}

// Gateway keeps the channels. Its methods may be called at the same time.
type Gateway struct {
	Config
	checks  chan struct{} // a place for each check that goes on
	answers chan struct{} // a place for each answer that is made

	change sync.Mutex // held by who changes what is connected, and reads secrets of it

	mu   sync.Mutex // guards what follows
	ctx  context.Context
	live map[string]*connection // by provider
}

const (
	maxChecks  = 8 // at a time
	maxAnswers = 4
)

// secretPrefix begins the names of the secrets that the gateway has stored.
const secretPrefix = "channel-"

// New makes a gateway, and removes the secrets that nothing refers to: a crash
// may have left some. Nothing is connected before [Gateway.Run].
func New(ctx context.Context, cfg Config) (*Gateway, error) {
	g := &Gateway{
		Config: cfg, live: map[string]*connection{},
		checks: make(chan struct{}, maxChecks), answers: make(chan struct{}, maxAnswers),
	}
	setup, err := g.Setup.Load(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range g.Secrets.IDs() {
		used := slices.ContainsFunc(setup.Links, func(l ambry.ChannelLink) bool { return l.Secret == id })
		if strings.HasPrefix(id, secretPrefix) && !used {
			g.forget(ctx, id)
		}
	}
	return g, nil
}

// forget deletes a secret that nothing refers to any more. What cannot be deleted
// now is tried again at the next start.
func (g *Gateway) forget(ctx context.Context, id string) {
	if id == "" {
		return
	}
	if err := g.Secrets.Delete(context.WithoutCancel(ctx), id); err != nil {
		g.Log.Warn("delete the secrets of a channel that is not connected any more", "err", err)
	}
}

// provider returns a provider by its id.
func (g *Gateway) provider(id string) (channel.Provider, error) {
	i := slices.IndexFunc(g.Providers, func(p channel.Provider) bool { return p.ID == id })
	if i < 0 {
		return channel.Provider{}, ambry.NotFound.Errorf("there is no such channel")
	}
	return g.Providers[i], nil
}

const (
	authForm        = "form"
	authUnsupported = "unsupported"
)

func authKind(p channel.Provider) string {
	if p.New == nil {
		return authUnsupported
	}
	return authForm
}

// Definitions are the channels that there are.
func (g *Gateway) Definitions() ambry.ChannelDefinitions {
	all := ambry.ChannelDefinitions{Channels: []ambry.ChannelDefinition{}}
	for _, p := range g.Providers {
		all.Channels = append(all.Channels, ambry.ChannelDefinition{
			ID: p.ID, Name: p.Name, AuthKind: authKind(p), Enabled: p.New != nil, Reason: p.Unsupported,
			Capabilities: append([]string{}, p.Capabilities...), Fields: append([]ambry.ChannelField{}, p.Fields...),
		})
	}
	return all
}

// Connections are the channels that were connected, and how they are.
func (g *Gateway) Connections(ctx context.Context) (ambry.ChannelConnections, error) {
	setup, err := g.Setup.Load(ctx)
	if err != nil {
		return ambry.ChannelConnections{}, err
	}
	all := ambry.ChannelConnections{Connections: []ambry.ChannelConnection{}}
	for _, l := range setup.Links {
		all.Connections = append(all.Connections, g.view(l))
	}
	return all, nil
}

func (g *Gateway) view(l ambry.ChannelLink) ambry.ChannelConnection {
	v := ambry.ChannelConnection{
		ID: l.ID, Provider: l.Provider, Status: ambry.ChannelStarting, DisplayName: l.Name, UpdatedAt: l.ConnectedAt,
		Peers: append([]ambry.ChannelPeer{}, l.Peers...),
	}
	g.mu.Lock()
	c := g.live[l.Provider]
	g.mu.Unlock()
	if c == nil || c.id != l.ID {
		return v
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	v.Status, v.LastError = c.status, c.reason
	v.Running = c.status != ambry.ChannelExpired
	if c.name != "" {
		v.DisplayName = c.name
	}
	if !c.since.IsZero() {
		v.UpdatedAt = c.since
	}
	return v
}

// Status is every channel that there is, and how it is.
func (g *Gateway) Status(ctx context.Context) ([]ambry.ChannelStatus, error) {
	connected, err := g.Connections(ctx)
	if err != nil {
		return nil, err
	}
	all := []ambry.ChannelStatus{}
	for _, d := range g.Definitions().Channels {
		s := ambry.ChannelStatus{
			Provider: d.ID, Name: d.Name, AuthKind: d.AuthKind, Fields: d.Fields, Capabilities: d.Capabilities, Status: ambry.ChannelDisabled,
		}
		if !d.Enabled {
			s.Status = ambry.ChannelUnsupported
		}
		for _, c := range connected.Connections {
			if c.Provider == d.ID {
				s.Connected, s.Status = c.Status == ambry.ChannelConnected, c.Status
			}
		}
		all = append(all, s)
	}
	return all, nil
}
