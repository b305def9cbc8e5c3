package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"ambry.dev/ambry"
)

// These take as long as they take: they go over connections that wait for an
// answer without a limit of their own.

// ForgetAll deletes what is selected, for good.
func (c *Client) ForgetAll(ctx context.Context, f ambry.Forget, key string) (out ambry.ForgottenAll, err error) {
	return out, c.patient().write(ctx, http.MethodPost, "/api/v1/memory/forget", key, f, &out)
}

// Scrub overwrites what was deleted.
func (c *Client) Scrub(ctx context.Context, deep bool) (out ambry.Scrubbed, err error) {
	return out, c.patient().write(ctx, http.MethodPost, "/api/v1/admin/scrub", "", map[string]bool{"deep": deep}, &out)
}

// Wipe empties the memory.
func (c *Client) Wipe(ctx context.Context, all bool) (out ambry.Wiped, err error) {
	return out, c.patient().write(ctx, http.MethodPost, "/api/v1/admin/wipe", "", map[string]bool{"all": all}, &out)
}

// Backup makes a copy of the memory in the backups of its home.
func (c *Client) Backup(ctx context.Context) (out ambry.BackupMade, err error) {
	return out, c.patient().write(ctx, http.MethodPost, "/api/v1/admin/backup", "", nil, &out)
}

// Rebuild makes the text index anew.
func (c *Client) Rebuild(ctx context.Context) error {
	var out struct{}
	return c.patient().write(ctx, http.MethodPost, "/api/v1/admin/rebuild", "", nil, &out)
}

var errCutShort = ambry.MemoryUnavailable.Errorf("the memory stopped in the middle of the export; try again")

// Export writes the memory as lines of JSON.
func (c *Client) Export(ctx context.Context, w io.Writer) error {
	p := c.patient()
	req, err := p.request(ctx, http.MethodGet, "/api/v1/admin/export", nil)
	if err != nil {
		return err
	}
	res, err := p.send(req)
	if err != nil {
		return unreachable(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return problem(ctx, res)
	}
	out := &unended{w: w}
	if _, err := io.CopyBuffer(out, res.Body, make([]byte, 256<<10)); err != nil {
		if out.failed != nil {
			return out.failed
		}
		return unreachable(ctx, err)
	}
	if !out.ended() {
		return errCutShort
	}
	return nil
}

// unended writes all but the empty line that ends an export.
type unended struct {
	w      io.Writer
	held   []byte // the last bytes, which may be that line
	failed error  // of w
}

func (u *unended) Write(p []byte) (int, error) {
	u.held = append(u.held, p...)
	if n := len(u.held) - 2; n > 0 {
		if _, err := u.w.Write(u.held[:n]); err != nil {
			u.failed = err
			return 0, err
		}
		u.held = append(u.held[:0], u.held[n:]...)
	}
	return len(p), nil
}

// ended reports whether the end came, and writes what was held.
func (u *unended) ended() bool {
	if !bytes.Equal(u.held, []byte("\n\n")) {
		return false
	}
	_, u.failed = u.w.Write([]byte("\n"))
	return u.failed == nil
}

// Restore adds what Export wrote.
func (c *Client) Restore(ctx context.Context, r io.Reader, p ambry.RestorePolicy) (out ambry.Restored, err error) {
	switch p {
	case ambry.KeepOurs, ambry.TakeTheirs, ambry.TakeNewer:
	default:
		return out, ambry.InvalidArgument.Errorf("there is no policy %q; use skip, replace or newer", p)
	}
	client := c.patient()
	req, err := client.request(ctx, http.MethodPost, "/api/v1/admin/restore/"+string(p), nil)
	if err != nil {
		return out, err
	}
	body := &watched{r: r}
	req.Body, req.ContentLength = io.NopCloser(body), -1
	req.Header.Set("Content-Type", "application/x-ndjson")
	err = client.do(req, &out)
	if body.err != nil && !errors.Is(body.err, io.EOF) {
		return out, body.err // the reader failed, not the memory
	}
	return out, err
}

type watched struct {
	r   io.Reader
	err error
}

func (w *watched) Read(p []byte) (n int, err error) {
	n, w.err = w.r.Read(p)
	return n, w.err
}
