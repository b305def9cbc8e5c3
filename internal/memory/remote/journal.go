package remote

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"ambry.dev/ambry"
)

// Feedback says what a memory was good for.
func (c *Client) Feedback(ctx context.Context, id string, f ambry.Feedback, key string) (taken ambry.FeedbackTaken, err error) {
	path, err := memoryPath(id)
	if err != nil {
		return taken, err
	}
	f.Note = passable(f.Note)
	return taken, c.write(ctx, http.MethodPost, path+"/feedback", key, f, &taken)
}

// Logs returns what was asked, newest first.
func (c *Client) Logs(ctx context.Context, q ambry.LogsQuery) (l ambry.Logs, err error) {
	query := given(map[string]string{
		"tools": strings.Join(q.Tools, ","), "sourceAgent": q.Agent,
		"limit": positive(min(q.Limit, 500)), "offset": positive(q.Offset),
	})
	query["excludedSourceAgents"] = q.Exclude
	return l, c.read(ctx, "/api/v1/memory/logs", query, &l)
}

// positive is empty for what is not more than 0.
func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}
