package mcp

import (
	"context"
	"net"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/mcp/upstream"
)

// relayRest is how often a relay looks for a service that is gone, at least.
const relayRest = 5 * time.Second

// Relay returns what a running service offers behind its bridge, for
// [Server.Others] of another process. Each time that it connects, find says where
// the bridge is and which headers open it. It has to be run.
func Relay(version string, find func(context.Context) (url string, header map[string]string, err error),
	dial func(ctx context.Context, network, address string) (net.Conn, error),
) *upstream.Pool {
	return upstream.New(upstream.Config{
		Version: version, DialContext: dial, Timing: upstream.Timing{Longest: relayRest},
		Locate: func(ctx context.Context, u ambry.Upstream) (ambry.Upstream, error) {
			var err error
			u.URL, u.Headers, err = find(ctx)
			return u, err
		},
		// The service has limits of its own for each call.
	}, []ambry.Upstream{{ID: "ambry", URL: "http://127.0.0.1", PassThrough: true, Timeout: ambry.MaxUpstreamTimeout}})
}
