package client

import (
	"context"
	"net/http"

	"ambry.dev/ambry"
)

// ModelConfig returns the models that are chosen, without their keys.
func (c *Client) ModelConfig(ctx context.Context) (m ambry.ModelConfig, err error) {
	return m, c.call(ctx, http.MethodGet, "/api/app/model-config", nil, nil, &m)
}

// SetModelConfig chooses the models.
func (c *Client) SetModelConfig(ctx context.Context, in ambry.ModelConfigInput) (m ambry.ModelConfig, err error) {
	return m, c.call(ctx, http.MethodPut, "/api/app/model-config", nil, in, &m)
}

// TestModel asks whether a model can be used as given. Nothing is kept.
func (c *Client) TestModel(ctx context.Context, in ambry.ModelTest) (r ambry.ModelTested, err error) {
	return r, c.call(ctx, http.MethodPost, "/api/app/model-config/test", nil, in, &r)
}

// UsageSummary returns what calls of models have used.
func (c *Client) UsageSummary(ctx context.Context) (u ambry.UsageOverview, err error) {
	return u, c.call(ctx, http.MethodGet, "/api/app/byok-token-usage/summary", nil, nil, &u)
}
