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
	"strconv"
	"strings"

	"ambry.dev/ambry"
)

// maxProblem bounds what is read of an answer that nobody decodes.
const maxProblem = 1 << 20

// call sends a request and decodes the answer into out, unless it is nil.
func (c *Client) call(ctx context.Context, method, path string, header http.Header, in, out any) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode the request: %w", err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return fmt.Errorf("ask the service: %w", err)
	}
	if header != nil {
		req.Header = header
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set(ambry.LocalTokenHeader, c.token)
	if c.agent != "" {
		req.Header.Set(ambry.AgentHeader, c.agent)
	}
	resp, err := c.send(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, maxProblem))
	} else if err = json.NewDecoder(resp.Body).Decode(out); err == nil {
		// Reading to the end lets the connection be used again.
		_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, maxProblem))
	}
	if err != nil {
		return broken(ctx, "read the answer of the service", err)
	}
	return nil
}

// send returns the response of a request that succeeded.
func (c *Client) send(req *http.Request) (*http.Response, error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, broken(req.Context(), "ask the service", err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close()
		return nil, problem(resp)
	}
	return resp, nil
}

// broken says why doing something with the service ended early: the caller
// stopped, the service is gone, or something else. The address stays out of it,
// because that of the event stream holds the token.
func broken(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", doing, ctx.Err())
	}
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	_, network := errors.AsType[*net.OpError](err)
	if network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrNotRunning
	}
	return fmt.Errorf("%s: %w", doing, err)
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
	data, _ := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
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
