package server

import (
	"context"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/web"
)

func (s *Server) capabilities(ctx context.Context, _ *web.None) (*web.JSON[ambry.Capabilities], error) {
	channels, err := s.Channels.Status(ctx)
	if err != nil {
		return nil, err
	}
	c := ambry.Capabilities{Toolkits: []string{}, Channels: channels, Upstreams: s.Upstreams()}
	for _, u := range c.Upstreams {
		if u.Status == ambry.HealthOK {
			c.Toolkits = append(c.Toolkits, u.ID)
		}
	}
	return web.Reply(c), nil
}
