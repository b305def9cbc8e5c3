package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ambry.dev/ambry"
)

var sessionTool = &mcp.Tool{
	Name: "session_read",
	Description: "Read a whole earlier session of any agent, turn by turn in order: how a piece of work went, and where it stopped. " +
		"Session ids come with what memory_search and memory_timeline return. Page -1 is the end, which says most about unfinished work.",
	Annotations: &mcp.ToolAnnotations{Title: "Read a session", ReadOnlyHint: true, OpenWorldHint: new(false)},
}

type sessionInput struct {
	ID     string `json:"sessionId"`
	Page   int    `json:"page,omitempty" jsonschema:"20 turns each; 1 if absent, -1 the last"`
	Offset int    `json:"offset,omitempty" jsonschema:"where in the page to go on, as the part before said"`
}

// transcript is the structured answer of reading a session.
type transcript struct {
	Notice     string `json:"notice"`
	SessionID  string `json:"sessionId"`
	Agent      string `json:"agent"`
	Project    string `json:"project,omitempty"`
	Title      string `json:"title,omitempty"`
	Turns      int64  `json:"turns"`
	Page       int    `json:"page"`
	Pages      int    `json:"pages"`
	Text       string `json:"text"`
	Offset     int    `json:"offset"`
	NextPage   int    `json:"nextPage,omitempty"`
	NextOffset int    `json:"nextOffset,omitempty"`
	Tokens     int    `json:"tokenEstimate"`

	head string
}

func (s *Server) readSession(ctx context.Context, req *mcp.CallToolRequest, in sessionInput) (*mcp.CallToolResult, any, error) {
	if strings.TrimSpace(in.ID) == "" {
		return nil, nil, ambry.InvalidArgument.Errorf("sessionId is empty; memory_search and memory_timeline return them")
	}
	t, err := s.turns(ctx, s.as(s.caller(req)), in.ID, in.Page)
	if err != nil {
		return nil, nil, s.failure(sessionTool.Name, err)
	}
	whole := turnsText(t.Turns)
	if in.Offset < 0 || in.Offset > len(whole) {
		return nil, nil, ambry.InvalidArgument.Errorf("offset %d is outside of the %d bytes of this page", in.Offset, len(whole))
	}
	out := newTranscript(t)
	out.Offset = in.Offset
	out.Text, out.NextOffset = cut(whole, in.Offset)
	switch {
	case out.NextOffset > 0:
		out.NextPage = out.Page
	case t.HasNext:
		out.NextPage = out.Page + 1
	}
	shown := out.String()
	out.Tokens = tokens(shown)
	return text(fmt.Sprintf("%s\n(about %d tokens)", shown, out.Tokens)), out, nil
}

// turns returns a page of a session; -1 is the last one.
func (s *Server) turns(ctx context.Context, m Memory, session string, page int) (ambry.Transcript, error) {
	if page < -1 {
		return ambry.Transcript{}, ambry.InvalidArgument.Errorf("page %d is none; pages count from 1, and -1 is the last", page)
	}
	t, err := m.Transcript(ctx, session, max(page, 1))
	if err == nil && page == -1 && t.TotalPages > 1 {
		t, err = m.Transcript(ctx, session, int(t.TotalPages))
	}
	if err == nil && int64(page) > max(t.TotalPages, 1) {
		err = ambry.InvalidArgument.Errorf("this session has %d pages", t.TotalPages)
	}
	return t, err
}

func newTranscript(t ambry.Transcript) transcript {
	return transcript{
		Notice: notice, SessionID: t.Session.ID, Agent: t.Session.Agent, Project: t.Session.Project,
		Title: ambry.Plain(t.Session.Title), Turns: t.Session.Turns, Page: t.Page.Page, Pages: int(t.TotalPages),
		head: ambry.Plain(t.Session.ID) + origin(t.Session.Agent, t.Session.Project, t.Session.StartedAt, ""),
	}
}

// turnsText writes turns one after the other, each with where it was read.
func turnsText(turns []ambry.Turn) string {
	var b strings.Builder
	for _, t := range turns {
		fmt.Fprintf(&b, "=== turn%s\n", origin("", "", t.At, t.Source.String()))
		writeTurn(&b, t)
	}
	return b.String()
}

// String shows the part to an agent that reads text.
func (t transcript) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "session %s\n%s\n%s\npage %d of %d, %d turns in all", t.head, notice, fence(t.Title+"\n"+t.Text), t.Page, max(t.Pages, 1), t.Turns)
	if t.NextPage > 0 {
		fmt.Fprintf(&b, ". To go on, call session_read with page %d and offset %d.", t.NextPage, t.NextOffset)
	}
	return b.String()
}
