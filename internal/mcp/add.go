package mcp

import (
	"context"
	"fmt"
	"time"
	"uuid"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ambry.dev/ambry"
)

var addTool = &mcp.Tool{
	Name: "memory_add",
	Description: "Remember something for later sessions of every agent: a decision and its reason, a preference of the person, the cause and fix of a bug, how to build or run something. " +
		"Write one self-contained statement that is understood without this conversation; name the project, file or command it is about. " +
		"Sessions are remembered by themselves: do not add summaries of them, secrets, or what the repository already says.",
	Annotations: &mcp.ToolAnnotations{Title: "Remember", DestructiveHint: new(false), OpenWorldHint: new(false)},
}

type addInput struct {
	Content string   `json:"content" jsonschema:"what to remember"`
	Title   string   `json:"title,omitempty" jsonschema:"a few words; made from the content if absent"`
	Tags    []string `json:"tags,omitempty"`
	Project string   `json:"project,omitempty" jsonschema:"directory of the project it is about, if it is about one"`
}

// added is the structured answer of an addition.
type added struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	CreatedAt time.Time `json:"createdAt"`
}

func (s *Server) add(ctx context.Context, req *mcp.CallToolRequest, in addInput) (*mcp.CallToolResult, any, error) {
	n := ambry.Note{Content: in.Content, Title: in.Title, Tags: in.Tags, Project: in.Project}
	c := s.caller(req)
	n.Source = c.agent
	if err := n.Validate(); err != nil {
		return nil, nil, err
	}
	// A key of its own lets the call be sent again after a restart of the service.
	m, err := s.as(c).Add(ctx, n, uuid.NewV7().String())
	if err != nil {
		return nil, nil, s.failure(addTool.Name, err)
	}
	return text(fmt.Sprintf("Remembered as %s.", m.ID)), added{ID: m.ID, Title: ambry.Plain(m.Title), CreatedAt: m.CreatedAt}, nil
}
