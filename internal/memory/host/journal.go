package host

import (
	"context"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/web"
)

func (h *host) feedback(ctx context.Context, in *struct {
	ByID
	Keyed
	Body ambry.Feedback
},
) (*web.JSON[ambry.FeedbackTaken], error) {
	return reply(h.memory.Feedback(ctx, in.ID, in.Body, in.Key))
}

func (h *host) logs(ctx context.Context, in *struct {
	Tools   []string `query:"tools" maxItems:"16" enum:"memory_search,memory_add,memory_get,memory_forget,memory_update,session_read,turn_start,turn_complete,skill_generate,skill_evolve" doc:"Only these, with commas between them"`
	Agent   string   `query:"sourceAgent" maxLength:"128"`
	Exclude []string `query:"excludedSourceAgents,explode" maxItems:"64"`
	Limit   int      `query:"limit" minimum:"1" maximum:"500" default:"50"`
	Offset  int      `query:"offset" minimum:"0" maximum:"1000000000"`
},
) (*web.JSON[ambry.Logs], error) {
	return reply(h.memory.Logs(ctx, ambry.LogsQuery{
		Tools: in.Tools, Agent: in.Agent, Exclude: in.Exclude, Limit: in.Limit, Offset: in.Offset,
	}))
}
