package server

import (
	"context"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/web"
)

func (s *Server) capabilities(context.Context, *web.None) (*web.JSON[ambry.Capabilities], error) {
	c := ambry.Capabilities{Toolkits: []string{}, Channels: []ambry.ChannelStatus{}, Upstreams: s.Upstreams()}
	for _, u := range c.Upstreams {
		if u.Status == ambry.HealthOK {
			c.Toolkits = append(c.Toolkits, u.ID)
		}
	}
	return web.Reply(c), nil
}
