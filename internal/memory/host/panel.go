package host

import (
	"context"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/web"
)

// Paged is the part of a list's input that selects a page.
type Paged struct {
	Page int `query:"page" minimum:"1" maximum:"1000000000" default:"1"`
}

func (h *host) overview(ctx context.Context, _ *web.None) (*web.JSON[ambry.Overview], error) {
	return reply(h.memory.Overview(ctx))
}

func (h *host) items(ctx context.Context, in *struct {
	Paged
	Layer   ambry.Layer  `query:"layer" enum:"L1,L2,L3,Skill"`
	Rule    ambry.Rule   `query:"rule" enum:"decision,preference,correction,command,fix,fact,task" doc:"Only what was learned by this rule"`
	Status  ambry.Status `query:"status" enum:"activated,resolving,archived,deleted"`
	Text    string       `query:"q" maxLength:"4096" doc:"Only what matches these words"`
	Agent   string       `query:"sourceAgent" maxLength:"128"`
	Exclude []string     `query:"excludedSourceAgents,explode" maxItems:"64"`
	Project string       `query:"project" maxLength:"4096"`
},
) (*web.JSON[ambry.Items], error) {
	return reply(h.memory.Items(ctx, ambry.ItemsQuery{
		Layer: in.Layer, Rule: in.Rule, Status: in.Status, Text: in.Text,
		Agent: in.Agent, Exclude: in.Exclude, Project: in.Project, Page: in.Page,
	}))
}

func (h *host) sessions(ctx context.Context, in *struct {
	Paged
	Agent   string `query:"sourceAgent" maxLength:"128"`
	Project string `query:"project" maxLength:"4096"`
},
) (*web.JSON[ambry.Sessions], error) {
	return reply(h.memory.Sessions(ctx, ambry.SessionsQuery{Agent: in.Agent, Project: in.Project, Page: in.Page}))
}

func (h *host) transcript(ctx context.Context, in *struct {
	ByID
	Paged
	Caller
},
) (*web.JSON[ambry.Transcript], error) {
	began := time.Now()
	t, err := h.memory.Transcript(ctx, in.ID, in.Page)
	h.record(in.Caller, ambry.ToolSession, in.ID, began, err)
	return reply(t, err)
}
