package client

import (
	"context"
	"net/http"
	"net/url"

	"ambry.dev/ambry"
)

// As returns a client for what an agent asks. It uses c's connections; with a
// token of the agent's own the service knows that it is that agent.
func (c *Client) As(agent, token string) *Client {
	other := *c
	other.agent = agent
	if token != "" {
		other.token = token
	}
	return &other
}

// CreateToken makes a token for an agent.
func (c *Client) CreateToken(ctx context.Context, agent string) (t ambry.AgentToken, err error) {
	return t, c.call(ctx, http.MethodPost, "/api/agent-tokens", nil, ambry.NewAgentToken{Agent: agent}, &t)
}

// Tokens lists the tokens of agents.
func (c *Client) Tokens(ctx context.Context) (t ambry.AgentTokens, err error) {
	return t, c.call(ctx, http.MethodGet, "/api/agent-tokens", nil, nil, &t)
}

// RevokeToken revokes a token by its id, or all of an agent.
func (c *Client) RevokeToken(ctx context.Context, idOrAgent string) (r ambry.TokensRevoked, err error) {
	return r, c.call(ctx, http.MethodDelete, "/api/agent-tokens/"+url.PathEscape(idOrAgent), nil, nil, &r)
}

// Capabilities says what the service is connected with.
func (c *Client) Capabilities(ctx context.Context) (a ambry.Capabilities, err error) {
	return a, c.call(ctx, http.MethodGet, "/api/v1/integrations/capabilities", nil, nil, &a)
}
