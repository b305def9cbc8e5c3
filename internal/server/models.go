package server

import (
	"context"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/web"
)

// Models are the models that the person has chosen, and what they have cost.
type Models interface {
	ModelConfig(ctx context.Context) (ambry.ModelConfig, error)
	SetModelConfig(ctx context.Context, in ambry.ModelConfigInput) (ambry.ModelConfig, error)
	TestModel(ctx context.Context, in ambry.ModelTest) (ambry.ModelTested, error)
	TokenUsage(ctx context.Context) (ambry.TokenUsage, error)
	UsageSummary(ctx context.Context) (ambry.UsageOverview, error)
	RecordUsage(ctx context.Context, u ambry.UsageEvent) error
}

func (s *Server) modelConfig(ctx context.Context, _ *web.None) (*web.JSON[ambry.ModelConfig], error) {
	return replied(s.Models.ModelConfig(ctx))
}

func (s *Server) putModelConfig(ctx context.Context, in *patch[ambry.ModelConfigInput]) (*web.JSON[ambry.ModelConfig], error) {
	return replied(s.Models.SetModelConfig(ctx, in.Body))
}

func (s *Server) testModel(ctx context.Context, in *patch[ambry.ModelTest]) (*web.JSON[ambry.ModelTested], error) {
	return replied(s.Models.TestModel(ctx, in.Body))
}

func (s *Server) tokenUsage(ctx context.Context, _ *web.None) (*web.JSON[ambry.TokenUsage], error) {
	return replied(s.Models.TokenUsage(ctx))
}

func (s *Server) usageSummary(ctx context.Context, _ *web.None) (*web.JSON[ambry.UsageOverview], error) {
	return replied(s.Models.UsageSummary(ctx))
}

func (s *Server) recordUsage(ctx context.Context, in *patch[ambry.UsageEvent]) (*web.JSON[done], error) {
	return replied(done{OK: true}, s.Models.RecordUsage(ctx, in.Body))
}

func replied[T any](body T, err error) (*web.JSON[T], error) {
	if err != nil {
		return nil, err
	}
	return web.Reply(body), nil
}
