package remote

import (
	"context"
	"net/http"

	"ambry.dev/ambry"
)

// Analysis says what became of the memories, and how fast they were there.
func (c *Client) Analysis(ctx context.Context) (a ambry.Analysis, err error) {
	return a, c.read(ctx, "/api/v1/panel/analysis", nil, &a)
}

// Tasks returns a page of tasks, newest first.
func (c *Client) Tasks(ctx context.Context, q ambry.TasksQuery) (t ambry.Tasks, err error) {
	return t, c.read(ctx, "/api/v1/panel/tasks", given(map[string]string{"q": q.Text, "page": page(q.Page)}), &t)
}

// Processing says how far memories are made ready.
func (c *Client) Processing(ctx context.Context, ids []string) (p ambry.Processing, err error) {
	in := map[string][]string{"memoryIds": ids}
	if ids == nil {
		in["memoryIds"] = []string{}
	}
	req, err := c.jsonRequest(ctx, http.MethodPost, "/api/v1/memory/processing/status", in)
	if err != nil {
		return p, err
	}
	safeToRepeat(req)
	return p, c.do(req, &p)
}

// RetryProcessing has a trace learned from again.
func (c *Client) RetryProcessing(ctx context.Context, id string) (r ambry.Retried, err error) {
	path, err := memoryPath(id)
	if err != nil {
		return r, err
	}
	return r, c.write(ctx, http.MethodPost, path+"/processing/retry", "", nil, &r)
}

// ForgetTask deletes all that is remembered of a session.
func (c *Client) ForgetTask(ctx context.Context, id, key string) (f ambry.ForgottenTask, err error) {
	if !isID(id) {
		return f, ambry.NotFound.Errorf("there is no task of that id")
	}
	return f, c.write(ctx, http.MethodDelete, "/api/v1/panel/tasks/"+id, key, nil, &f)
}

// Related returns what has to do with a memory.
func (c *Client) Related(ctx context.Context, id string, limit int) (r ambry.Related, err error) {
	path, err := memoryPath(id)
	if err != nil {
		return r, err
	}
	return r, c.read(ctx, path+"/related", given(map[string]string{"limit": positive(min(limit, 50))}), &r)
}
