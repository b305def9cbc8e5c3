package app

import (
	"context"
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
		Secret:  s.secret, DialContext: s.outgoing.DialContext, Log: s.log,
	}, s.config.get().MCP.Upstreams)
}

// secret returns what a reference in the settings stands for.
func (s *service) secret(_ context.Context, reference string) (string, error) {
	name, ok := strings.CutPrefix(reference, "env:")
	if !ok {
		return "", ambry.NotFound.Errorf("there is no key ring to look in")
	}
	if s.options.Getenv != nil {
		if value := s.options.Getenv(name); value != "" {
			return value, nil
		}
	}
	return "", ambry.NotFound.Errorf("the variable %s is not set for the service", name)
}
