package mcp

import (
	"context"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ambry.dev/ambry"
)

const (
	itemScheme    = "memory://item/"
	sessionScheme = "memory://session/"
)

var itemResource = &mcp.ResourceTemplate{
	Name: "memory", Title: "A memory", URITemplate: itemScheme + "{id}", MIMEType: "text/plain",
	Description: "One memory in full, with the file and line it comes from",
}

var sessionResource = &mcp.ResourceTemplate{
	Name: "session", Title: "A session", URITemplate: sessionScheme + "{id}", MIMEType: "text/plain",
	Description: "The end of an earlier session of any agent",
}

func (s *Server) readItem(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	id, err := idOf(req.Params.URI, itemScheme)
	if err != nil {
		return nil, err
	}
	out, err := s.part(ctx, s.as(s.caller(req)), id, 0)
	if err != nil {
		return nil, s.protocolFailure("resource item", req.Params.URI, err)
	}
	return contents(req.Params.URI, out.String()), nil
}

func (s *Server) readTranscript(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	id, err := idOf(req.Params.URI, sessionScheme)
	if err != nil {
		return nil, err
	}
	t, err := s.turns(ctx, s.as(s.caller(req)), id, -1)
	if err != nil {
		return nil, s.protocolFailure("resource session", req.Params.URI, err)
	}
	out := newTranscript(t)
	out.Text = tail(turnsText(t.Turns), partBytes)
	return contents(req.Params.URI, out.String()), nil
}

func contents(uri, shown string) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: shown}}}
}

// idOf returns the id that a URI names.
func idOf(uri, scheme string) (string, error) {
	rest, ok := strings.CutPrefix(uri, scheme)
	id, err := url.PathUnescape(rest)
	if !ok || err != nil || strings.TrimSpace(id) == "" {
		return "", mcp.ResourceNotFoundError(uri)
	}
	return id, nil
}

// protocolFailure is a failure of something that is no tool, and so has no
// answer that could say it.
func (s *Server) protocolFailure(what, uri string, err error) error {
	if ambry.KindOf(err) == ambry.NotFound && uri != "" {
		return mcp.ResourceNotFoundError(uri)
	}
	code := int64(jsonrpc.CodeInternalError)
	if ambry.KindOf(err).Status() < 500 {
		code = jsonrpc.CodeInvalidParams
	}
	return &jsonrpc.Error{Code: code, Message: s.failure(what, err).Error()}
}

// tail returns the last lines of s that fit in some bytes.
func tail(s string, bytes int) string {
	if len(s) <= bytes {
		return s
	}
	s = strings.ToValidUTF8(s[len(s)-bytes:], "")
	if _, rest, ok := strings.Cut(s, "\n"); ok {
		s = rest
	}
	return "(what came before is left out)\n" + s
}
