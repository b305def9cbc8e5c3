package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"ambry.dev/ambry/internal/channel/all"
	"ambry.dev/ambry/internal/converse"
	"ambry.dev/ambry/internal/event"
	"ambry.dev/ambry/internal/gateway"
	"ambry.dev/ambry/internal/model"
)

// newChannels makes what holds the channels; nothing is connected yet.
func (s *service) newChannels(ctx context.Context, memory *memoryRuntime, bus *event.Bus) (*gateway.Gateway, error) {
	conversations := &converse.Conversations{
		Memory: func(source string) converse.Memory { return memory.As(source) },
		Models: s.models, Log: s.log, Now: now,
		Chosen: func(ctx context.Context) bool {
			setup, err := s.db.ModelSetup.Load(ctx)
			return err == nil && setup.Main.ModelID != ""
		},
	}
	return gateway.New(ctx, gateway.Config{
		Providers: all.Providers(), Setup: s.db.Channels, Cursors: s.db.ChannelCursors, Secrets: s.secrets,
		HTTP: s.channelClient(),
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			return s.dialChannel(ctx, network, address, model.MayCall)
		},
		Answer: func(ctx context.Context, q gateway.Question) gateway.Answer {
			r := conversations.Answer(ctx, converse.Line{Channel: q.Provider, Chat: q.Chat, Person: q.Person, ID: q.ID, Text: q.Text})
			return gateway.Answer{Text: r.Text, Leave: r.Leave}
		},
		Bus: bus, Log: s.log, Now: now,
	})
}

// dialChannel connects to a service on which people write, if that is allowed.
// Where it is, the person says, as of a model.
func (s *service) dialChannel(ctx context.Context, network, address string, may allowIP) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, modelConnect)
	defer cancel()
	conn, err := s.outgoing.dialModel(ctx, network, address, may)
	if errors.Is(err, errLocalOnly) {
		return nil, fmt.Errorf("%w: %w", gateway.ErrLocalOnly, err)
	}
	return conn, err
}

// channelIdle is longer than the pauses of those who poll.
const channelIdle = 2 * time.Minute

// channelClient returns what calls such services: without following redirects,
// and unencrypted only within the person's own network.
func (s *service) channelClient() *http.Client {
	transport := func(may allowIP) *http.Transport {
		return &http.Transport{
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				return s.dialChannel(ctx, network, address, may)
			},
			TLSHandshakeTimeout: modelConnect, MaxResponseHeaderBytes: modelHeaders, IdleConnTimeout: channelIdle, MaxIdleConnsPerHost: 4,
		}
	}
	return &http.Client{
		Transport:     byScheme{plain: transport(model.MayCallPlain), secure: transport(model.MayCall)},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// ChannelProviders returns the ids of the services that can be connected.
func ChannelProviders() []string {
	var ids []string
	for _, p := range all.Providers() {
		if p.New != nil {
			ids = append(ids, p.ID)
		}
	}
	return ids
}
