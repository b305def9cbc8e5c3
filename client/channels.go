package client

import (
	"context"
	"net/http"
	"net/url"

	"ambry.dev/ambry"
)

// ChannelDefinitions are the services on which people can write to Ambry.
func (c *Client) ChannelDefinitions(ctx context.Context) (d ambry.ChannelDefinitions, err error) {
	return d, c.call(ctx, http.MethodGet, "/api/v1/channels/definitions", nil, nil, &d)
}

// ChannelConnections are those that were connected, and how they are.
func (c *Client) ChannelConnections(ctx context.Context) (s ambry.ChannelConnections, err error) {
	return s, c.call(ctx, http.MethodGet, "/api/v1/channels/connections", nil, nil, &s)
}

// ConnectChannel connects a channel with the fields of its definition.
func (c *Client) ConnectChannel(ctx context.Context, provider string, fields map[string]string) (o ambry.ChannelOpened, err error) {
	return o, c.call(ctx, http.MethodPost, channelPath(provider, "connect"), nil, fields, &o)
}

// DisconnectChannel ends a channel, and forgets what belongs to it.
func (c *Client) DisconnectChannel(ctx context.Context, provider string) error {
	return c.call(ctx, http.MethodPost, channelPath(provider, "disconnect"), nil, nil, nil)
}

// PairChannel draws a code by which somebody may be paired.
func (c *Client) PairChannel(ctx context.Context, provider string) (p ambry.ChannelCode, err error) {
	return p, c.call(ctx, http.MethodPost, channelPath(provider, "pair"), nil, nil, &p)
}

// UnpairChannel takes somebody's permission to write.
func (c *Client) UnpairChannel(ctx context.Context, provider, peer string) error {
	return c.call(ctx, http.MethodPost, channelPath(provider, "unpair"), nil, map[string]string{"id": peer}, nil)
}

func channelPath(provider, what string) string {
	return "/api/v1/channels/" + url.PathEscape(provider) + "/" + what
}
