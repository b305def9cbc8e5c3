package app

import (
	"context"
	"net/url"
	"os"
	"strings"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/mcp/upstream"
	"ambry.dev/ambry/internal/supervise"
)

// newUpstreams makes the MCP servers that the settings name; nothing runs yet.
func (s *service) newUpstreams() *upstream.Pool {
	return upstream.New(upstream.Config{
		Version: s.options.Version, Dir: s.options.UserHome,
		Environ: supervise.Environment(os.Environ()),
		Secret:  s.reference, Locate: s.permitted,
		DialContext: s.outgoing.DialContext, Log: s.log,
	}, s.config.get().MCP.Upstreams)
}

// reference returns what a reference in config.yaml stands for. The person who
// wrote that file may name any variable; over the API only those of keys can be
// named, see package secret.
func (s *service) reference(ctx context.Context, reference string) (string, error) {
	name, ok := strings.CutPrefix(reference, "env:")
	if !ok {
		return s.secrets.Resolve(ctx, reference)
	}
	if s.options.Getenv != nil {
		if value := s.options.Getenv(name); value != "" {
			return value, nil
		}
	}
	return "", ambry.NotFound.Errorf("the variable %s is not set for the service", name)
}

// permitted says why an upstream may not be connected to now. The dialer would
// refuse it too, but could not say so.
func (s *service) permitted(_ context.Context, u ambry.Upstream) (ambry.Upstream, error) {
	if u.URL == "" {
		return u, nil
	}
	at, err := url.Parse(u.URL)
	if err == nil {
		err = s.outgoing.allows(at.Hostname())
	}
	if err != nil {
		return u, ambry.Forbidden.Wrap(err, "is on another machine, and local-only mode is on")
	}
	return u, nil
}
