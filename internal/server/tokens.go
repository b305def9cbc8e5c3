package server

import (
	"context"
	"net/http"
	"strings"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/web"
)

// AgentTokens makes, lists and revokes the tokens of agents.
type AgentTokens interface {
	Create(ctx context.Context, agent string) (ambry.AgentToken, error)
	List(ctx context.Context) (ambry.AgentTokens, error)
	Revoke(ctx context.Context, idOrAgent string) (ambry.TokensRevoked, error)
}

func (s *Server) createToken(ctx context.Context, in *struct{ Body ambry.NewAgentToken }) (*web.JSON[ambry.AgentToken], error) {
	t, err := s.Tokens.Create(ctx, in.Body.Agent)
	if err != nil {
		return nil, err
	}
	return web.Reply(t), nil
}

func (s *Server) listTokens(ctx context.Context, _ *web.None) (*web.JSON[ambry.AgentTokens], error) {
	all, err := s.Tokens.List(ctx)
	if err != nil {
		return nil, err
	}
	return web.Reply(all), nil
}

func (s *Server) revokeToken(ctx context.Context, in *struct {
	ID string `path:"id" pattern:"^[A-Za-z0-9_.:-]{1,128}$" patternDescription:"an id or the name of an agent"`
},
) (*web.JSON[ambry.TokensRevoked], error) {
	n, err := s.Tokens.Revoke(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return web.Reply(n), nil
}

// notMemories are paths below /api/v1/memory/ that look like an id and are not
// for agents.
var notMemories = map[string]bool{
	"logs": true, "import": true, "export": true, "forget": true, "processing": true, "wipe": true, "restore": true, "search": true, "add": true,
}

// memoryForAgents is what an agent may ask of the memory with a token of its own:
// reading and writing single memories.
func memoryForAgents(method, path string) bool {
	id, part, deeper := strings.Cut(strings.TrimPrefix(path, "/api/v1/memory/"), "/")
	switch {
	case !deeper && (id == "search" || id == "add"):
		return method == http.MethodPost
	case id == "" || notMemories[id]:
		return false
	case !deeper:
		return method == http.MethodGet || method == http.MethodPatch || method == http.MethodDelete
	case part == "source" || part == "related":
		return method == http.MethodGet
	}
	return part == "feedback" && method == http.MethodPost
}

// panelForAgents is what an agent needs to read earlier sessions.
func panelForAgents(method, path string) bool {
	rest := strings.TrimPrefix(path, "/api/v1/panel/")
	return method == http.MethodGet && (rest == "sessions" || strings.HasPrefix(rest, "sessions/"))
}

// toldByAgents is what an agent tells of its own sessions.
func toldByAgents(method, _ string) bool { return method == http.MethodPost }

func anything(string, string) bool { return true }
