package mcp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ambry.dev/ambry"
)

var searchTool = &mcp.Tool{
	Name: "memory_search",
	Description: "Search what was said and done in earlier sessions of all coding agents on this machine (Claude Code, Codex and others), and in notes. " +
		"Use it when the person refers to earlier work, before asking them something they may have answered before, " +
		"before re-investigating an error or re-deciding a design, and at the start of a task in a project you have no notes on. " +
		"Ask with the words that would stand there: names, identifiers, parts of an error message; a question works too. " +
		"Returns passages with an id and the file and line they come from; read one in full with memory_get.",
	Annotations: &mcp.ToolAnnotations{Title: "Search memory", ReadOnlyHint: true, OpenWorldHint: new(false)},
}

type searchInput struct {
	Query   string `json:"query" jsonschema:"words, a question, an identifier or part of an error message"`
	Limit   int    `json:"limit,omitempty" jsonschema:"passages at most, 1 to 50; 8 if absent"`
	Project string `json:"project,omitempty" jsonschema:"only this project: its directory"`
	Agent   string `json:"agent,omitempty" jsonschema:"only sessions of this agent, such as claude_code or codex"`
	After   string `json:"after,omitempty" jsonschema:"only what happened since: 2026-03-01, an RFC 3339 time, or an age such as 7d"`
}

// Hits of a search when the agent asks for no number, and at most.
const (
	defaultHits = 8
	maxHits     = 50
)

// found is the structured answer of a search.
type found struct {
	Notice   string    `json:"notice"`
	SearchID string    `json:"searchEventId"`
	Total    int       `json:"total"`
	AtLeast  bool      `json:"totalAtLeast,omitempty"`
	Tokens   int       `json:"tokenEstimate"`
	Memories []passage `json:"memories"`
}

type passage struct {
	ID        string      `json:"id"`
	Title     string      `json:"title"`
	Snippet   string      `json:"snippet"`
	Layer     ambry.Layer `json:"memoryLayer"`
	Agent     string      `json:"agent,omitempty"`
	Project   string      `json:"project,omitempty"`
	SessionID string      `json:"sessionId,omitempty"`
	Source    string      `json:"source,omitempty"`
	CreatedAt time.Time   `json:"createdAt"`
	Score     float64     `json:"score"`
}

func (s *Server) search(ctx context.Context, req *mcp.CallToolRequest, in searchInput) (*mcp.CallToolResult, any, error) {
	// The smallest budget: the text for an agent is made here, from the hits. None
	// counts as given to the session, so that a hook says it again when it is
	// asked for: it has more of it than a passage.
	c := s.caller(req)
	q := ambry.Query{Query: in.Query, Limit: defaultHits, Project: in.Project, Source: c.agent, SessionID: c.session, ContextBudget: 1}
	if in.Limit != 0 {
		q.Limit = min(max(in.Limit, 1), maxHits)
	}
	if in.Agent != "" {
		q.Agents = []string{in.Agent}
	}
	var err error
	if q.After, err = ambry.ParseWhen(in.After, time.Now()); err != nil {
		return nil, nil, err
	}
	if err := q.Validate(); err != nil {
		return nil, nil, err
	}
	answer, err := s.as(c).Search(ctx, q)
	if err != nil {
		return nil, nil, s.failure(searchTool.Name, err)
	}
	out := found{Notice: notice, SearchID: answer.SearchID, Total: answer.Total, AtLeast: answer.TotalAtLeast, Memories: make([]passage, 0, len(answer.Hits))}
	for _, h := range answer.Hits {
		out.Memories = append(out.Memories, passage{
			ID: h.ID, Title: ambry.Plain(h.Title), Snippet: ambry.Plain(h.Snippet), Layer: h.Layer, Agent: h.Agent, Project: h.Project,
			SessionID: h.SessionID, Source: h.Source.String(), CreatedAt: h.CreatedAt, Score: h.Score,
		})
	}
	shown := out.String()
	out.Tokens = tokens(shown)
	return text(fmt.Sprintf("%s\n(about %d tokens)", shown, out.Tokens)), out, nil
}

// String shows the passages to an agent that reads text.
func (f found) String() string {
	if len(f.Memories) == 0 {
		return "Nothing in memory matches. Try fewer or other words; leave out project, agent and after."
	}
	var b strings.Builder
	for i, p := range f.Memories {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "[%d] %s%s\n", i+1, p.ID, origin(p.Agent, p.Project, p.CreatedAt, p.Source))
		if p.Title != "" && !strings.HasPrefix(p.Snippet, p.Title) {
			fmt.Fprintln(&b, p.Title)
		}
		fmt.Fprintln(&b, p.Snippet)
	}
	of := "of"
	if f.AtLeast {
		of = "of at least"
	}
	return fmt.Sprintf("%d %s %d memories, best first. %s\n%s\nmemory_get with an id returns the whole turn.",
		len(f.Memories), of, max(f.Total, len(f.Memories)), notice, fence(b.String()))
}
