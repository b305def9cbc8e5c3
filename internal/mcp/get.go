package mcp

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ambry.dev/ambry"
)

var getTool = &mcp.Tool{
	Name: "memory_get",
	Description: "Read one memory in full by its id: what was asked, what was answered, which tools ran with what result, and the file and line it comes from. " +
		"Use it after memory_search, when a passage looks like what you need. A long one comes in parts: go on with offset.",
	Annotations: &mcp.ToolAnnotations{Title: "Read a memory", ReadOnlyHint: true, OpenWorldHint: new(false)},
}

type getInput struct {
	ID     string `json:"id" jsonschema:"id of the memory, as memory_search returned it"`
	Offset int    `json:"offset,omitempty" jsonschema:"where to go on, as the part before said; 0 if absent"`
}

// partBytes is how much of a memory one answer holds, some 5,000 tokens: agents
// cut answers off that are much longer.
const partBytes = 20_000

// part is the structured answer of a read.
type part struct {
	Notice     string      `json:"notice"`
	ID         string      `json:"id"`
	Title      string      `json:"title"`
	Layer      ambry.Layer `json:"memoryLayer"`
	Agent      string      `json:"agent,omitempty"`
	Project    string      `json:"project,omitempty"`
	SessionID  string      `json:"sessionId,omitempty"`
	Source     string      `json:"source,omitempty"`
	CreatedAt  time.Time   `json:"createdAt"`
	Text       string      `json:"text"`
	Bytes      int         `json:"bytes"`
	Offset     int         `json:"offset"`
	NextOffset int         `json:"nextOffset,omitempty"`
	Tokens     int         `json:"tokenEstimate"`
}

func (s *Server) get(ctx context.Context, req *mcp.CallToolRequest, in getInput) (*mcp.CallToolResult, any, error) {
	if strings.TrimSpace(in.ID) == "" {
		return nil, nil, errNoID
	}
	out, err := s.part(ctx, s.as(s.caller(req)), in.ID, in.Offset)
	if err != nil {
		return nil, nil, s.failure(getTool.Name, err)
	}
	shown := out.String()
	out.Tokens = tokens(shown)
	return text(fmt.Sprintf("%s\n(about %d tokens)", shown, out.Tokens)), out, nil
}

// part returns the part of a memory that begins at offset.
func (s *Server) part(ctx context.Context, m Memory, id string, offset int) (part, error) {
	d, err := m.Get(ctx, id)
	if err != nil {
		return part{}, err
	}
	whole := body(d)
	if offset < 0 || offset > len(whole) {
		return part{}, ambry.InvalidArgument.Errorf("offset %d is outside of the %d bytes of this memory", offset, len(whole))
	}
	out := part{
		Notice: notice, ID: d.ID, Title: ambry.Plain(d.Title), Layer: d.Layer, Agent: d.Agent, Project: d.Project,
		SessionID: d.SessionID, Source: d.Source.String(), CreatedAt: d.CreatedAt, Bytes: len(whole), Offset: offset,
	}
	out.Text, out.NextOffset = cut(whole, offset)
	return out, nil
}

// cut returns the part of s at offset and where the next one begins, 0 after
// the last. It ends a part at a line if it can, and never within a character.
func cut(s string, offset int) (string, int) {
	for offset > 0 && offset < len(s) && !utf8.RuneStart(s[offset]) {
		offset--
	}
	rest := s[offset:]
	if len(rest) <= partBytes {
		return rest, 0
	}
	end := partBytes
	for !utf8.RuneStart(rest[end]) {
		end--
	}
	if line := strings.LastIndexByte(rest[:end], '\n'); line > partBytes/2 {
		end = line + 1
	}
	return rest[:end], offset + end
}

// String shows the part to an agent that reads text.
func (p part) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s\n%s\n%s", p.ID, origin(p.Agent, p.Project, p.CreatedAt, p.Source), notice, fence(p.Text))
	if p.NextOffset > 0 {
		fmt.Fprintf(&b, "\nBytes %d to %d of %d. To go on, call memory_get with offset %d.", p.Offset, p.NextOffset, p.Bytes, p.NextOffset)
	}
	return b.String()
}

// body is the text of a memory: the turn it is the trace of, or what it says
// itself.
func body(d ambry.Detail) string {
	if d.Turn == nil || len(d.Turn.Messages) == 0 {
		return ambry.Plain(d.Body)
	}
	var b strings.Builder
	writeTurn(&b, *d.Turn)
	return b.String()
}

// writeTurn writes what was said and done in a turn. What the agent hid from
// the person stays hidden.
func writeTurn(b *strings.Builder, t ambry.Turn) {
	for _, m := range t.Messages {
		if m.Hidden {
			continue
		}
		fmt.Fprintf(b, "--- %s\n", m.Role)
		if m.Text != "" {
			fmt.Fprintln(b, ambry.Plain(m.Text))
		}
		for _, f := range m.Files {
			fmt.Fprintf(b, "(attached %s %s)\n", ambry.Plain(f.Kind), ambry.Plain(f.Name))
		}
		for _, c := range m.Calls {
			how := c.Outcome()
			if how != "" {
				how = ", " + how
			}
			fmt.Fprintf(b, "--- tool %s%s\n%s\n", ambry.Plain(c.Name), how, ambry.Plain(c.Input))
			if c.Output != "" {
				fmt.Fprintf(b, "--- result\n%s\n", ambry.Plain(c.Output))
			}
		}
	}
}
