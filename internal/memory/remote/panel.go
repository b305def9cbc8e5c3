package remote

import (
	"context"
	"net/url"
	"strconv"

	"ambry.dev/ambry"
)

// Source says where a memory came from.
func (c *Client) Source(ctx context.Context, id string) (p ambry.Provenance, err error) {
	path, err := memoryPath(id)
	if err != nil {
		return p, err
	}
	return p, c.read(ctx, path+"/source", nil, &p)
}

// Overview is the first page of the panel.
func (c *Client) Overview(ctx context.Context) (o ambry.Overview, err error) {
	return o, c.read(ctx, "/api/v1/panel/overview", nil, &o)
}

// Items returns a page of memories, newest first.
func (c *Client) Items(ctx context.Context, q ambry.ItemsQuery) (items ambry.Items, err error) {
	query := given(map[string]string{
		"layer": string(q.Layer), "rule": string(q.Rule), "status": string(q.Status), "q": q.Text,
		"sourceAgent": q.Agent, "project": q.Project, "page": page(q.Page),
	})
	query["excludedSourceAgents"] = q.Exclude
	return items, c.read(ctx, "/api/v1/panel/items", query, &items)
}

// Sessions returns a page of sessions, newest first.
func (c *Client) Sessions(ctx context.Context, q ambry.SessionsQuery) (s ambry.Sessions, err error) {
	query := given(map[string]string{"sourceAgent": q.Agent, "project": q.Project, "page": page(q.Page)})
	return s, c.read(ctx, "/api/v1/panel/sessions", query, &s)
}

// Transcript returns a session with a page of its turns.
func (c *Client) Transcript(ctx context.Context, session string, number int) (t ambry.Transcript, err error) {
	query := given(map[string]string{"page": page(number)})
	return t, c.read(ctx, "/api/v1/panel/sessions/"+url.PathEscape(session), query, &t)
}

// given leaves out what is empty.
func given(values map[string]string) url.Values {
	query := url.Values{}
	for name, value := range values {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// page is empty for the first page, which is also what 0 and less mean.
func page(number int) string {
	if number <= 1 {
		return ""
	}
	return strconv.Itoa(number)
}
