// Package client is the Go client of the local API. The command line, the MCP
// command and the end-to-end tests use it. It starts no service and reads no
// file but runtime.json.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"ambry.dev/ambry"
)

// Client talks to one running service.
type Client struct {
	BaseURL string
	Token   string
	HTTP    *http.Client // nil means a default without a time limit
}

// ErrNotRunning says that no service answers.
var ErrNotRunning = ambry.MemoryUnavailable.Errorf("ambry is not running; start it with \"ambry serve\"")

// Find returns a client of the service whose files are in home, or
// [ErrNotRunning]. A runtime.json that was left by a service that died is not
// believed: health has to answer and the token has to work.
func Find(ctx context.Context, home string) (*Client, ambry.RuntimeFile, error) {
	var rt ambry.RuntimeFile
	data, err := os.ReadFile(filepath.Join(home, "runtime.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, rt, ErrNotRunning
	}
	if err != nil {
		return nil, rt, fmt.Errorf("read runtime.json: %w", err)
	}
	if err := json.Unmarshal(data, &rt); err != nil || rt.BaseURL == "" {
		return nil, rt, ErrNotRunning
	}
	if !loopback(rt.BaseURL) {
		return nil, rt, fmt.Errorf("runtime.json names an address that is not on this machine")
	}
	c := &Client{BaseURL: rt.BaseURL, Token: rt.LocalToken}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := c.Bootstrap(ctx); err != nil {
		return nil, rt, ErrNotRunning
	}
	return c, rt, nil
}

// loopback reports whether the address is plain HTTP on 127.0.0.1, the only
// place that a token may be sent to.
func loopback(base string) bool {
	u, err := url.Parse(base)
	return err == nil && u.Scheme == "http" && u.Hostname() == "127.0.0.1" && u.User == nil
}

// Bootstrap returns what a front end needs at its start.
func (c *Client) Bootstrap(ctx context.Context) (b ambry.Bootstrap, err error) {
	return b, c.call(ctx, http.MethodGet, "/api/app/bootstrap", nil, nil, &b)
}

// PatchOnboarding changes the onboarding; consent to scan is part of it.
func (c *Client) PatchOnboarding(ctx context.Context, p ambry.OnboardingPatch) (o ambry.Onboarding, err error) {
	return o, c.call(ctx, http.MethodPatch, "/api/app/onboarding", nil, p, &o)
}

// Sources lists the agents.
func (c *Client) Sources(ctx context.Context) (s []ambry.AgentSource, err error) {
	return s, c.call(ctx, http.MethodGet, "/api/agent-sources", nil, nil, &s)
}

// Scan starts a scan.
func (c *Client) Scan(ctx context.Context, r ambry.ScanRequest) (s ambry.ScanStarted, err error) {
	return s, c.call(ctx, http.MethodPost, "/api/agent-sources/scan", nil, r, &s)
}

// ScanStatus says what the scanner is doing.
func (c *Client) ScanStatus(ctx context.Context) (s ambry.ScanStatus, err error) {
	return s, c.call(ctx, http.MethodGet, "/api/agent-sources/scan/status", nil, nil, &s)
}

// StopScan stops the running scan and returns when it has ended.
func (c *Client) StopScan(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, "/api/agent-sources/scan/stop", nil, nil, nil)
}

// Search asks the memory.
func (c *Client) Search(ctx context.Context, q ambry.Query) (a ambry.Answer, err error) {
	return a, c.call(ctx, http.MethodPost, "/api/v1/memory/search", nil, q, &a)
}

// Get returns a memory with its whole text.
func (c *Client) Get(ctx context.Context, id string) (d ambry.Detail, err error) {
	return d, c.call(ctx, http.MethodGet, "/api/v1/memory/"+url.PathEscape(id), nil, nil, &d)
}

// Source returns where a memory came from.
func (c *Client) Source(ctx context.Context, id string) (p ambry.Provenance, err error) {
	return p, c.call(ctx, http.MethodGet, "/api/v1/memory/"+url.PathEscape(id)+"/source", nil, nil, &p)
}

// Add adds a note. The same key with the same note adds it once.
func (c *Client) Add(ctx context.Context, n ambry.Note, key string) (m ambry.Memory, err error) {
	header := http.Header{}
	if key != "" {
		header.Set("Idempotency-Key", key)
	}
	return m, c.call(ctx, http.MethodPost, "/api/v1/memory/add", header, n, &m)
}

// Overview returns the counts of the memory.
func (c *Client) Overview(ctx context.Context) (o ambry.Overview, err error) {
	return o, c.call(ctx, http.MethodGet, "/api/v1/panel/overview", nil, nil, &o)
}

// call sends a request and decodes the answer into out, unless it is nil. An
// error of the service comes back with its kind.
func (c *Client) call(ctx context.Context, method, path string, header http.Header, in, out any) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode the request: %w", err)
		}
		body = bytes.NewReader(data)
	}
	resp, err := c.send(ctx, method, path, header, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
		return err
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return fmt.Errorf("decode the answer of %s: %w", path, err)
	}
	return nil
}

// send returns the response of a request that succeeded.
func (c *Client) send(ctx context.Context, method, path string, header http.Header, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.BaseURL+path, body)
	if err != nil {
		return nil, err
	}
	if header != nil {
		req.Header = header
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set(ambry.LocalTokenHeader, c.Token)
	hc := c.HTTP
	if hc == nil {
		hc = http.DefaultClient
	}
	resp, err := hc.Do(req)
	var refused *net.OpError
	switch {
	case errors.As(err, &refused) && refused.Op == "dial":
		return nil, ErrNotRunning
	case err != nil:
		return nil, fmt.Errorf("ask the service: %w", err)
	case resp.StatusCode >= 400:
		defer resp.Body.Close()
		return nil, problem(resp)
	}
	return resp, nil
}

// problem reads the problem document of a failed request.
func problem(resp *http.Response) error {
	var doc struct {
		Error struct {
			Code    ambry.Kind    `json:"code"`
			Message string        `json:"message"`
			Details []ambry.Field `json:"details"`
		} `json:"error"`
		JobID string `json:"jobId"`
	}
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err := json.Unmarshal(data, &doc); err != nil || !doc.Error.Code.Valid() {
		return fmt.Errorf("the service answered %s", strings.ToLower(resp.Status))
	}
	e := &ambry.Error{Kind: doc.Error.Code, Message: doc.Error.Message, Details: doc.Error.Details}
	if doc.JobID != "" {
		e.Extra = map[string]any{"jobId": doc.JobID}
	}
	e.RetryAfter, _ = strconv.Atoi(resp.Header.Get("Retry-After"))
	return e
}
