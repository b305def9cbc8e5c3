package mcp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ambry.dev/ambry"
)

var timelineTool = &mcp.Tool{
	Name: "memory_timeline",
	Description: "List the sessions of all agents, newest first: who worked on what, when and where. " +
		"Use it when there is nothing to search for: what was done lately, what a project was about, where work stopped. Read one with session_read.",
	Annotations: &mcp.ToolAnnotations{Title: "List sessions", ReadOnlyHint: true, OpenWorldHint: new(false)},
}

type timelineInput struct {
	Project string `json:"project,omitempty" jsonschema:"only this project: its directory"`
	Agent   string `json:"agent,omitempty" jsonschema:"only this agent"`
	After   string `json:"after,omitempty" jsonschema:"only what went on since, as in memory_search"`
	Page    int    `json:"page,omitempty" jsonschema:"20 sessions each; 1 if absent"`
}

// timeline is the structured answer of a look at the sessions.
type timeline struct {
	Notice   string  `json:"notice"`
	Sessions []visit `json:"sessions"`
	NextPage int     `json:"nextPage,omitempty"`
	Tokens   int     `json:"tokenEstimate"`
}

// visit is a session as a line of a timeline.
type visit struct {
	SessionID string    `json:"sessionId"`
	Agent     string    `json:"agent"`
	Project   string    `json:"project,omitempty"`
	Branch    string    `json:"branch,omitempty"`
	Title     string    `json:"title,omitempty"`
	Relation  string    `json:"relation,omitempty"`
	StartedAt time.Time `json:"startedAt"`
	EndedAt   time.Time `json:"endedAt"`
	Turns     int64     `json:"turns"`
}

func (s *Server) timeline(ctx context.Context, req *mcp.CallToolRequest, in timelineInput) (*mcp.CallToolResult, any, error) {
	after, err := ambry.ParseWhen(in.After, time.Now())
	if err != nil {
		return nil, nil, err
	}
	if in.Page < 0 {
		return nil, nil, ambry.InvalidArgument.Errorf("page %d is none; pages count from 1", in.Page)
	}
	page, err := s.as(s.caller(req)).Sessions(ctx, ambry.SessionsQuery{Agent: in.Agent, Project: in.Project, Page: max(in.Page, 1)})
	if err != nil {
		return nil, nil, s.failure(timelineTool.Name, err)
	}
	out := timeline{Notice: notice, Sessions: make([]visit, 0, len(page.Sessions))}
	if page.HasNext {
		out.NextPage = page.Page.Page + 1
	}
	for _, one := range page.Sessions {
		if one.EndedAt.Before(after) {
			out.NextPage = 0 // all that follow ended before this one
			break
		}
		out.Sessions = append(out.Sessions, newVisit(one))
	}
	shown := out.String()
	out.Tokens = tokens(shown)
	return text(fmt.Sprintf("%s\n(about %d tokens)", shown, out.Tokens)), out, nil
}

func newVisit(s ambry.SessionSummary) visit {
	v := visit{
		SessionID: ambry.Plain(s.ID), Agent: s.Agent, Project: ambry.Plain(s.Project), Branch: ambry.Plain(s.Branch),
		Title: ambry.Plain(s.Title), StartedAt: s.StartedAt, EndedAt: s.EndedAt, Turns: s.Turns,
	}
	if s.Relation != ambry.Root {
		v.Relation = string(s.Relation)
	}
	return v
}

// String shows the sessions to an agent that reads text.
func (t timeline) String() string {
	if len(t.Sessions) == 0 {
		return "No session is known here. Leave out project, agent and after to see all."
	}
	shown := fmt.Sprintf("%d sessions, newest first. %s\n%s", len(t.Sessions), notice, fence(visits(t.Sessions)))
	if t.NextPage > 0 {
		shown += fmt.Sprintf("\nThere are older ones: page %d.", t.NextPage)
	}
	return shown
}

// visits writes sessions one a line.
func visits(sessions []visit) string {
	var b strings.Builder
	for _, v := range sessions {
		fmt.Fprintf(&b, "%s · %s", v.EndedAt.UTC().Format("2006-01-02 15:04"), v.SessionID)
		for _, s := range []string{v.Agent, v.Project, v.Branch, v.Relation, fmt.Sprintf("%d turns", v.Turns), strings.ReplaceAll(v.Title, "\n", " ")} {
			if s != "" {
				b.WriteString(" · " + s)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
