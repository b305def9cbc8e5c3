// Package remote is the service's side of the wall between the two processes: a
// memory that lives elsewhere, behind HTTP. It keeps nothing and caches nothing.
// The other side is package memory/host.
package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory"
	"ambry.dev/ambry/internal/redact"
)

var (
	_ memory.Runtime = (*Client)(nil)
	_ memory.Panel   = (*Client)(nil)
	_ memory.Journal = (*Client)(nil)
	_ memory.Turns   = (*Client)(nil)
	_ memory.Insight = (*Client)(nil)
	_ memory.Custody = (*Client)(nil)
)

// Target returns where the runtime is now and the bearer token that opens it.
// Its error becomes the answer of whatever was asked.
type Target func() (base *url.URL, token string, err error)

// The limits of a request.
const (
	dialWait   = 2 * time.Second  // to connect
	answerWait = 30 * time.Second // from the end of the request to the answer
	idleWait   = 30 * time.Second // that a connection is kept; the host keeps it for longer

	maxProblem = 1 << 20   // bytes of a failure
	maxAnswer  = 256 << 20 // bytes of anything else
)

// Client is a memory behind HTTP. An error keeps the kind that the runtime gave
// it; a runtime that cannot be reached is [ambry.MemoryUnavailable], a slow one
// [ambry.MemoryTimeout], one that does not speak our language
// [ambry.UpstreamFailed].
type Client struct {
	target    Target
	transport *http.Transport
	slow      *http.Transport // waits for an answer as long as the caller does
	agent     string          // who asks, "" if nobody said so
}

// Dial makes a connection; [net.Dialer.DialContext] is one.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// within is d that takes no longer than limit.
func (d Dial) within(limit time.Duration) Dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return d(ctx, network, address)
	}
}

// New returns a client of the runtime at target, to which dial connects. It
// keeps connections, so one client should serve all; see [Client.At].
func New(target Target, dial Dial) *Client {
	transport := func(wait time.Duration) *http.Transport {
		return &http.Transport{
			DialContext:           dial.within(dialWait),
			ResponseHeaderTimeout: wait,
			MaxIdleConnsPerHost:   8,
			IdleConnTimeout:       idleWait,
			WriteBufferSize:       64 << 10,
			DisableCompression:    true,
		}
	}
	return &Client{target: target, transport: transport(answerWait), slow: transport(0)}
}

// patient is c that waits for an answer as long as the caller does.
func (c *Client) patient() *Client {
	other := *c
	other.transport = c.slow
	return &other
}

// As returns a client for what an agent asks, which shares the connections of c.
func (c *Client) As(agent string) *Client {
	other := *c
	other.agent = agent
	return &other
}

// At returns a client of the runtime at another target, which shares the
// connections of c.
func (c *Client) At(target Target) *Client {
	other := *c
	other.target = target
	return &other
}

// Close closes the connections that are idle. The client can be used again.
func (c *Client) Close() {
	c.transport.CloseIdleConnections()
	c.slow.CloseIdleConnections()
}

// Import adds conversations. Up to 4 MiB of them and 1000 turns are added all or
// none; more are sent in one stream, which is stored as far as it is good.
func (c *Client) Import(ctx context.Context, cs []redact.Conversation) (ambry.Imported, error) {
	var done ambry.Imported
	if len(cs) == 0 {
		return done, nil
	}
	req, err := c.request(ctx, http.MethodPost, "/api/v1/memory/import", nil)
	if err != nil {
		return done, err
	}
	req.GetBody = func() (io.ReadCloser, error) { return &lines{rest: cs}, nil }
	req.Body, req.ContentLength = &lines{rest: cs}, -1
	req.Header.Set("Content-Type", "application/x-ndjson")
	safeToRepeat(req)
	if err := c.do(req, &done); err != nil {
		return ambry.Imported{}, err
	}
	for _, conversation := range cs {
		done.Redactions += conversation.Found() // what was found on this side is no longer there to be found
	}
	return done, nil
}

// Add adds one note.
func (c *Client) Add(ctx context.Context, n redact.Note, key string) (m ambry.Memory, err error) {
	note := n.Note()
	note.Content, note.Title = passable(note.Content), passable(note.Title)
	return m, c.write(ctx, http.MethodPost, "/api/v1/memory/add", key, note, &m)
}

// Search answers a query, best hit first.
func (c *Client) Search(ctx context.Context, q ambry.Query) (a ambry.Answer, err error) {
	q.Query = passable(q.Query)
	req, err := c.jsonRequest(ctx, http.MethodPost, "/api/v1/memory/search", q)
	if err != nil {
		return a, err
	}
	safeToRepeat(req)
	return a, c.do(req, &a)
}

// passable replaces what the host does not let into its JSON: NUL, which ends a
// text for some programs and not for others.
func passable(text string) string { return strings.ReplaceAll(text, "\x00", "\uFFFD") }

// Get returns a memory with its whole text.
func (c *Client) Get(ctx context.Context, id string) (d ambry.Detail, err error) {
	path, err := memoryPath(id)
	if err != nil {
		return d, err
	}
	return d, c.read(ctx, path, nil, &d)
}

// Patch changes a memory.
func (c *Client) Patch(ctx context.Context, id string, p ambry.Patch, key string) (m ambry.Memory, err error) {
	path, err := memoryPath(id)
	if err != nil {
		return m, err
	}
	return m, c.write(ctx, http.MethodPatch, path, key, p, &m)
}

// Forget deletes a memory for good.
func (c *Client) Forget(ctx context.Context, id, key string) (f ambry.Forgotten, err error) {
	path, err := memoryPath(id)
	if err != nil {
		return f, err
	}
	return f, c.write(ctx, http.MethodDelete, path, key, nil, &f)
}

// idShape is what the host takes for an id. Nothing has another one.
var idShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,128}$`) })

// isID reports whether id can stand in a path as it is.
func isID(id string) bool { return idShape().MatchString(id) && id != "." && id != ".." }

func memoryPath(id string) (string, error) {
	if !isID(id) {
		return "", ambry.NotFound.Errorf("there is no memory of that id")
	}
	return "/api/v1/memory/" + id, nil
}

// Status says how the runtime is.
func (c *Client) Status(ctx context.Context) (h ambry.MemoryHealth, err error) {
	return h, c.read(ctx, "/api/v1/health", nil, &h)
}

func (c *Client) read(ctx context.Context, path string, query url.Values, out any) error {
	req, err := c.request(ctx, http.MethodGet, path, query)
	if err != nil {
		return err
	}
	return c.do(req, out)
}

func (c *Client) write(ctx context.Context, method, path, key string, in, out any) error {
	req, err := c.jsonRequest(ctx, method, path, in)
	if err != nil {
		return err
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	return c.do(req, out)
}

// jsonRequest is a request with in as its body, unless it is nil.
func (c *Client) jsonRequest(ctx context.Context, method, path string, in any) (*http.Request, error) {
	req, err := c.request(ctx, method, path, nil)
	if err != nil || in == nil {
		return req, err
	}
	data, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("encode what to ask the memory: %w", err)
	}
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	req.Header.Set("Content-Type", "application/json")
	return req, nil
}

// request is a request without a body. The path is escaped.
func (c *Client) request(ctx context.Context, method, path string, query url.Values) (*http.Request, error) {
	base, token, err := c.target()
	if err != nil {
		return nil, err
	}
	address := base.Scheme + "://" + base.Host + strings.TrimSuffix(base.EscapedPath(), "/") + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return nil, ambry.InvalidArgument.Wrap(err, "this cannot be asked of the memory")
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "application/json, application/problem+json")
	if c.agent != "" {
		req.Header.Set(ambry.AgentHeader, c.agent)
	}
	return req, nil
}

// safeToRepeat says that sending a request twice changes no more than once. The
// empty header is not sent; net/http understands it as we do.
func safeToRepeat(req *http.Request) { req.Header["Idempotency-Key"] = nil }

// send sends a request, and once more if it failed and that does no harm: a
// connection that was kept may have been closed by the other side meanwhile.
func (c *Client) send(req *http.Request) (*http.Response, error) {
	res, err := c.transport.RoundTrip(req)
	_, harmless := req.Header["Idempotency-Key"]
	if err == nil || !harmless || req.Context().Err() != nil || !broken(err) {
		return res, err
	}
	c.transport.CloseIdleConnections()
	again := req.Clone(req.Context())
	if again.GetBody != nil {
		if again.Body, err = again.GetBody(); err != nil {
			return nil, err
		}
	}
	return c.transport.RoundTrip(again)
}

// do sends a request and decodes the answer into out. It follows no redirect.
func (c *Client) do(req *http.Request, out any) error {
	res, err := c.send(req)
	if err != nil {
		return unreachable(req.Context(), err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return problem(req.Context(), res)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return unreachable(req.Context(), err)
	}
	if err := json.Unmarshal(data, out); err != nil {
		return foreign(err)
	}
	return nil
}
