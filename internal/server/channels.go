package server

import (
	"context"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/web"
)

// Channels are the services on which people can write to us.
type Channels interface {
	Definitions() ambry.ChannelDefinitions
	Connections(ctx context.Context) (ambry.ChannelConnections, error)
	Status(ctx context.Context) ([]ambry.ChannelStatus, error)

	Connect(ctx context.Context, provider string, fields map[string]string) (ambry.ChannelOpened, error)
	Disconnect(ctx context.Context, provider string) error
	Pair(ctx context.Context, provider string) (ambry.ChannelCode, error)
	Unpair(ctx context.Context, provider, peer string) error
}

func (s *Server) channelDefinitions(context.Context, *web.None) (*web.JSON[ambry.ChannelDefinitions], error) {
	return web.Reply(s.Channels.Definitions()), nil
}

func (s *Server) channelConnections(ctx context.Context, _ *web.None) (*web.JSON[ambry.ChannelConnections], error) {
	return replied(s.Channels.Connections(ctx))
}

// OfChannel is a request about one channel.
type OfChannel struct {
	Provider string `path:"provider" maxLength:"64" doc:"A channel, such as telegram"`
}

func (s *Server) connectChannel(ctx context.Context, in *struct {
	OfChannel
	Body *map[string]string `doc:"The fields of its definition, by their keys"`
},
) (*web.JSON[ambry.ChannelOpened], error) {
	var fields map[string]string
	if in.Body != nil {
		fields = *in.Body
	}
	return replied(s.Channels.Connect(ctx, in.Provider, fields))
}

func (s *Server) disconnectChannel(ctx context.Context, in *OfChannel) (*web.JSON[done], error) {
	return replied(done{OK: true}, s.Channels.Disconnect(ctx, in.Provider))
}

func (s *Server) pairChannel(ctx context.Context, in *OfChannel) (*web.JSON[ambry.ChannelCode], error) {
	return replied(s.Channels.Pair(ctx, in.Provider))
}

func (s *Server) unpairChannel(ctx context.Context, in *struct {
	OfChannel
	Body struct {
		ID string `json:"id" minLength:"1" maxLength:"1000" doc:"Of a peer, as the connection shows it"`
	}
},
) (*web.JSON[done], error) {
	return replied(done{OK: true}, s.Channels.Unpair(ctx, in.Provider, in.Body.ID))
}
