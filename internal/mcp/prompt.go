package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ambry.dev/ambry"
)

var resumePrompt = &mcp.Prompt{
	Name: "resume", Title: "Resume a task",
	Description: "Pick up where the last session stopped, whichever agent it was in",
	Arguments: []*mcp.PromptArgument{
		{Name: "project", Description: "Directory of the project; the latest work anywhere if absent"},
		{Name: "about", Description: "Words that say which task; the latest work if absent"},
		{Name: "session", Description: "Id of the session to pick up, if it is known"},
	},
}

const (
	resumeBytes    = 12_000 // of the end of the session, some 3,000 tokens
	resumeSessions = 5      // latest ones that are named
)

const resumeTask = `Pick up the task that an earlier session left. Below are the latest sessions and the end of the one to go on with; it may have been in another agent.
1. Say in a few sentences what the task was, what is done, and what is open. If it is another task than the one that is meant, or this very conversation, read the right one with session_read.
2. Look at the files as they are now before you rely on what the record says of them.
3. Go on with what is open. Ask first if it is not clear what that is, or if the record shows that it was finished.
session_read reads a session in full, of whichever agent, memory_search finds what was decided before.`

func (s *Server) resume(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	argument := func(name string) string { return strings.TrimSpace(req.Params.Arguments[name]) }
	project, session := argument("project"), argument("session")
	latest, err := s.latest(ctx, s.as(s.caller(req)), project)
	if err != nil {
		return nil, s.protocolFailure("prompt", "", err)
	}
	if about := argument("about"); about != "" && session == "" {
		if session, err = sessionAbout(ctx, s.as(s.caller(req)), about, project); err != nil {
			return nil, s.protocolFailure("prompt", "", err)
		}
	}
	if session == "" && len(latest) == 0 {
		return said("I wanted to resume earlier work, but Ambry knows no session of this project. Tell me so, and ask what to do."), nil
	}
	if session == "" {
		session = latest[0].SessionID
	}
	t, err := s.turns(ctx, s.as(s.caller(req)), session, -1)
	if err != nil {
		return nil, s.protocolFailure("prompt", "", err)
	}
	end := newTranscript(t)
	end.Text = tail(turnsText(t.Turns), resumeBytes)
	shown := resumeTask
	if len(latest) > 0 {
		shown += "\n\nLatest sessions. " + notice + "\n" + fence(visits(latest))
	}
	shown += "\n\nThe end of " + end.String()
	return said(fmt.Sprintf("%s\n(about %d tokens)", shown, tokens(shown))), nil
}

// sessionAbout returns the id of the session that fits best to words about a task, "" if
// there is none.
func sessionAbout(ctx context.Context, m Memory, about, project string) (string, error) {
	answer, err := m.Search(ctx, ambry.Query{Query: about, Project: project, Limit: 10, ContextBudget: 1, Plain: true})
	if err != nil {
		return "", err
	}
	for _, h := range answer.Hits {
		if h.SessionID != "" {
			return h.SessionID, nil
		}
	}
	return "", nil
}

// latest returns the latest sessions that a person led.
func (s *Server) latest(ctx context.Context, m Memory, project string) ([]visit, error) {
	page, err := m.Sessions(ctx, ambry.SessionsQuery{Project: project, Page: 1})
	if err != nil {
		return nil, err
	}
	led := slices.DeleteFunc(page.Sessions, func(one ambry.SessionSummary) bool {
		return one.Background || one.Relation == ambry.Subagent || one.Relation == ambry.Review
	})
	latest := make([]visit, 0, resumeSessions)
	for _, one := range led[:min(len(led), resumeSessions)] {
		latest = append(latest, newVisit(one))
	}
	return latest, nil
}

func said(text string) *mcp.GetPromptResult {
	return &mcp.GetPromptResult{
		Description: resumePrompt.Description,
		Messages:    []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}},
	}
}
