// Package client is the Go client of the local API. The command line, the MCP
// command and the end-to-end tests use it. It starts no service and reads no
// file but runtime.json.
package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"ambry.dev/ambry"
)

// findWait is how long a service may take to show that it is one. A busy
// machine is slow; a service that died refuses at once.
const findWait = 5 * time.Second

// dialWait is how long a connection may take. Where nobody listens that is known
// at once, so this is for a service that many call, on a busy machine.
const dialWait = 30 * time.Second

// ErrNotRunning says that no service answers.
var ErrNotRunning = ambry.MemoryUnavailable.Errorf("ambry is not running")

// Client talks to one running service. Its methods may be called at the same
// time. An error that the service answered has its kind; a service that is gone
// is [ErrNotRunning].
type Client struct {
	base  string
	token string
	agent string // who asks, "" if nobody said so
	http  *http.Client
	slow  *http.Client // waits for an answer without a limit of its own
}

// New returns a client of the service at base, such as http://127.0.0.1:4711.
// Another machine, and any other way to write this one, is refused: the token
// goes with every request.
func New(base, token string) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" || u.Hostname() != "127.0.0.1" || u.Port() == "" || u.User != nil {
		return nil, ambry.InvalidArgument.Errorf("the address of a service is http://127.0.0.1:PORT")
	}
	return &Client{base: "http://" + u.Host, token: token, http: newHTTP(time.Minute), slow: newHTTP(0)}, nil
}

// newHTTP returns a client that waits so long for an answer to begin; 0 means as
// long as the request lives. No proxy, whatever the environment says, and no
// redirect: a token is sent to the service or nowhere.
func newHTTP(wait time.Duration) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext:           (&net.Dialer{Timeout: dialWait}).DialContext,
			ResponseHeaderTimeout: wait,
			DisableCompression:    true,
			MaxIdleConnsPerHost:   8,
			IdleConnTimeout:       30 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Find returns a client of the service whose files are in home, with what its
// runtime.json says, or [ErrNotRunning]. A file that was left by a service that
// died is not believed: somebody has to answer there and take the token.
func Find(ctx context.Context, home string) (*Client, ambry.RuntimeFile, error) {
	rt, err := ReadRuntimeFile(home)
	if err != nil {
		return nil, rt, err
	}
	c, err := New(rt.BaseURL, rt.LocalToken)
	if err != nil {
		return nil, rt, ErrNotRunning
	}
	within, cancel := context.WithTimeout(ctx, findWait)
	defer cancel()
	if _, err := c.Bootstrap(within); err != nil {
		c.Close()
		if ctx.Err() != nil {
			return nil, rt, ctx.Err()
		}
		return nil, rt, ErrNotRunning
	}
	return c, rt, nil
}

// ReadRuntimeFile reads the runtime.json in home. A file that is not there, or
// makes no sense, is [ErrNotRunning]: the next start writes a new one. What it
// says is a claim only, see [Find].
func ReadRuntimeFile(home string) (ambry.RuntimeFile, error) {
	data, err := os.ReadFile(filepath.Join(home, ambry.RuntimeFileName))
	if errors.Is(err, os.ErrNotExist) {
		return ambry.RuntimeFile{}, ErrNotRunning
	}
	if err != nil {
		return ambry.RuntimeFile{}, fmt.Errorf("read runtime.json: %w", err)
	}
	rt, err := ambry.ParseRuntimeFile(data)
	if err != nil {
		return rt, ErrNotRunning
	}
	return rt, nil
}

// Close lets go of the connections that are not in use. The client may be used
// again.
func (c *Client) Close() {
	c.http.CloseIdleConnections()
	c.slow.CloseIdleConnections()
}

// BaseURL is the address of the service, without a slash at the end.
func (c *Client) BaseURL() string { return c.base }
