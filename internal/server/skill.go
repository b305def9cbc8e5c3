package server

import (
	"context"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/web"
)

type skillOf struct {
	SourceID string `path:"sourceId" maxLength:"128" doc:"An agent source, such as codex"`
	DryRun   bool   `query:"dryRun" doc:"Say what would change, and change nothing"`
}

type skillAnswer = web.JSON[ambry.SkillResult]

func (s *Server) installSkill(ctx context.Context, in *skillOf) (*skillAnswer, error) {
	return written(s.Skills.Install(ctx, in.SourceID, ambry.SkillText, in.DryRun))
}

func (s *Server) removeSkill(ctx context.Context, in *skillOf) (*skillAnswer, error) {
	return written(s.Skills.Remove(ctx, in.SourceID, ambry.SkillText, in.DryRun))
}

func (s *Server) installPlugin(ctx context.Context, in *skillOf) (*skillAnswer, error) {
	return written(s.Skills.Install(ctx, in.SourceID, ambry.Plugin, in.DryRun))
}

func (s *Server) removePlugin(ctx context.Context, in *skillOf) (*skillAnswer, error) {
	return written(s.Skills.Remove(ctx, in.SourceID, ambry.Plugin, in.DryRun))
}

func written(r ambry.SkillResult, err error) (*skillAnswer, error) {
	if err != nil {
		return nil, err
	}
	return web.Reply(r), nil
}
