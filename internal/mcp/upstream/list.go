package upstream

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// features is what an upstream has, checked and cut to size, under the names
// that it gives.
type features struct {
	tools     []*mcp.Tool
	prompts   []*mcp.Prompt
	resources []*mcp.Resource
	templates []*mcp.ResourceTemplate
}

// list asks for all that there is.
func (m *member) list(ctx context.Context, session *mcp.ClientSession) (features, error) {
	ctx, cancel := context.WithTimeout(ctx, m.pool.cfg.Timing.Connect)
	defer cancel()
	var f features
	can := session.InitializeResult().Capabilities
	if can == nil {
		return f, nil
	}
	var err error
	if can.Tools != nil {
		f.tools, err = pages(func(cursor string) ([]*mcp.Tool, string, error) {
			res, err := session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
			if err != nil {
				return nil, "", err
			}
			return res.Tools, res.NextCursor, nil
		}, m.cleanTool)
	}
	if err == nil && can.Prompts != nil {
		f.prompts, err = pages(func(cursor string) ([]*mcp.Prompt, string, error) {
			res, err := session.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: cursor})
			if err != nil {
				return nil, "", err
			}
			return res.Prompts, res.NextCursor, nil
		}, cleanPrompt)
	}
	if err == nil && can.Resources != nil {
		f.resources, err = pages(func(cursor string) ([]*mcp.Resource, string, error) {
			res, err := session.ListResources(ctx, &mcp.ListResourcesParams{Cursor: cursor})
			if err != nil {
				return nil, "", err
			}
			return res.Resources, res.NextCursor, nil
		}, cleanResource)
	}
	if err == nil && can.Resources != nil {
		f.templates, err = pages(func(cursor string) ([]*mcp.ResourceTemplate, string, error) {
			res, err := session.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Cursor: cursor})
			if err != nil {
				return nil, "", nil //nolint:nilerr // many servers have resources and do not know this method
			}
			return res.ResourceTemplates, res.NextCursor, nil
		}, cleanTemplate)
	}
	return f, err
}

// pages reads a list page by page, and leaves out what clean refuses.
func pages[T any](next func(cursor string) ([]*T, string, error), clean func(*T) (*T, bool)) ([]*T, error) {
	var all []*T
	cursor := ""
	for range maxPages {
		page, after, err := next(cursor)
		if err != nil {
			return nil, err
		}
		for _, one := range page {
			if one == nil || len(all) >= maxFeatures {
				continue
			}
			if cleaned, ok := clean(one); ok {
				all = append(all, cleaned)
			}
		}
		if after == "" || after == cursor || len(all) >= maxFeatures {
			break
		}
		cursor = after
	}
	return all, nil
}

// cleanTool returns a tool as it may be offered. The SDK panics on schemas that
// are none.
func (m *member) cleanTool(t *mcp.Tool) (*mcp.Tool, bool) {
	if !plainName().MatchString(t.Name) || m.spec.Tools != nil && !slices.Contains(m.spec.Tools, t.Name) || !isObject(t.InputSchema) {
		return nil, false
	}
	c := *t
	c.Title, c.Description = short(t.Title, maxMessageText), short(t.Description, maxDescription)
	if t.Annotations != nil {
		a := *t.Annotations
		a.Title = short(a.Title, maxMessageText)
		c.Annotations = &a
	}
	return &c, fits(&c, maxFeature)
}

// isObject reports whether a schema says that it is of an object.
func isObject(schema any) bool {
	data, err := json.Marshal(schema)
	if err != nil {
		return false
	}
	var s struct {
		Type any `json:"type"`
	}
	return json.Unmarshal(data, &s) == nil && s.Type == "object"
}

func cleanPrompt(p *mcp.Prompt) (*mcp.Prompt, bool) {
	if !plainName().MatchString(p.Name) {
		return nil, false
	}
	c := *p
	c.Title, c.Description = short(p.Title, maxMessageText), short(p.Description, maxDescription)
	return &c, fits(&c, maxFeature)
}

// ours is how the addresses of our own resources begin; nobody else's may.
const ours = "memory://"

func cleanResource(r *mcp.Resource) (*mcp.Resource, bool) {
	if r.URI == "" || strings.HasPrefix(strings.ToLower(r.URI), ours) {
		return nil, false
	}
	c := *r
	c.Name, c.Title, c.Description = short(r.Name, 256), short(r.Title, maxMessageText), short(r.Description, maxDescription)
	return &c, fits(&c, maxFeature)
}

func cleanTemplate(t *mcp.ResourceTemplate) (*mcp.ResourceTemplate, bool) {
	// One that could stand for any address could stand for ours.
	if i := strings.Index(t.URITemplate, ":"); i <= 0 || strings.ContainsRune(t.URITemplate[:i], '{') || strings.HasPrefix(strings.ToLower(t.URITemplate), ours) {
		return nil, false
	}
	c := *t
	c.Name, c.Title, c.Description = short(t.Name, 256), short(t.Title, maxMessageText), short(t.Description, maxDescription)
	return &c, fits(&c, maxFeature)
}
