package web

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"ambry.dev/ambry"
)

// ProxyConfig says where [NewProxy] forwards to. A zero number means the one
// given with each field.
type ProxyConfig struct {
	// Target returns the address of the upstream and the bearer token that opens
	// it. An error of it is the answer: its kind says whether the upstream is
	// down, or starting (then with RetryAfter).
	Target func() (base *url.URL, token string, err error)

	// DialContext connects to the upstream; it must be given.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)

	Dial    time.Duration // to connect; 2 s
	Headers time.Duration // until the upstream begins its answer; 30 s
}

// The headers that pass, each way. Everything else stays here: tokens, cookies,
// forwarding claims, grants of Origins, names of servers.
var (
	sentHeaders = []string{"Content-Type", "Accept", "If-None-Match", "Idempotency-Key", "Last-Event-Id"}
	keptHeaders = []string{"Content-Type", "Content-Length", "Etag", "Retry-After", "Allow", "Idempotent-Replayed", "Content-Disposition"}
)

// The limits of a query that is passed on.
const (
	maxQuery  = 8 << 10
	maxParams = 64
)

// NewProxy forwards requests to an upstream that speaks this package's errors,
// and streams both ways. It passes on no credential of the caller's, follows no
// redirect, upgrades no connection, and cancels with the caller. A request that
// is neither safe nor keyed is never sent twice. What the upstream calls a
// problem passes unchanged; an upstream that refuses, stammers or breaks off is
// upstream_failed, a slow one memory_timeout, and half an answer cuts the
// connection.
func NewProxy(cfg ProxyConfig) *Upstream {
	if cfg.Dial == 0 {
		cfg.Dial = 2 * time.Second
	}
	if cfg.Headers == 0 {
		cfg.Headers = 30 * time.Second
	}
	p := &Upstream{target: cfg.Target, transport: &http.Transport{
		DialContext:            cfg.dial,
		ResponseHeaderTimeout:  cfg.Headers,
		MaxResponseHeaderBytes: maxHeaders,
		MaxIdleConnsPerHost:    32,
		IdleConnTimeout:        idleWait / 2, // before the upstream closes them
		DisableCompression:     true,
	}}
	p.forward = &httputil.ReverseProxy{
		Rewrite:      rewrite,
		Transport:    filter{p.transport},
		BufferPool:   &bufferPool{},
		ErrorHandler: p.failed,
		ErrorLog:     slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug), // it logs addresses; ours logs the route
	}
	return p
}

func (cfg ProxyConfig) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, cfg.Dial)
	defer cancel()
	return cfg.DialContext(ctx, network, address)
}

// Upstream is the handler that forwards; [NewProxy] makes it.
type Upstream struct {
	target    func() (*url.URL, string, error)
	transport *http.Transport
	forward   *httputil.ReverseProxy
}

// Close closes the connections that wait for reuse.
func (p *Upstream) Close() { p.transport.CloseIdleConnections() }

// call is what rewrite needs to know of one request, beyond the request.
type call struct {
	base  *url.URL
	token string
	query string
	id    string
	body  *watchedBody
}

type callKey struct{}

func (p *Upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query, err := cleanQuery(r.URL.RawQuery)
	if err != nil {
		WriteError(w, r, err)
		return
	}
	base, token, err := p.target()
	if err != nil {
		WriteError(w, r, err)
		return
	}
	c := &call{base: base, token: token, query: query, id: RequestID(w)}
	if r.GetBody == nil && r.ContentLength != 0 { // it is still to be read
		c.body = &watchedBody{ReadCloser: r.Body}
		r.Body = c.body
	}
	p.forward.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callKey{}, c)))
}

// cleanQuery writes the query anew from what it means, so that the upstream
// cannot read another one than we did.
func cleanQuery(raw string) (string, error) {
	if raw == "" {
		return "", nil
	}
	if len(raw) > maxQuery {
		return "", ambry.InvalidArgument.Errorf("the query is longer than %d bytes", maxQuery)
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return "", ambry.InvalidArgument.Errorf("the query is not well-formed")
	}
	count := 0
	for _, each := range values {
		count += len(each)
	}
	if count > maxParams {
		return "", ambry.InvalidArgument.Errorf("the query has more than %d parameters", maxParams)
	}
	return values.Encode(), nil
}

func rewrite(pr *httputil.ProxyRequest) {
	c := pr.In.Context().Value(callKey{}).(*call)
	out := pr.Out
	out.URL = &url.URL{
		Scheme: c.base.Scheme, Host: c.base.Host, RawQuery: c.query,
		Path: strings.TrimSuffix(c.base.Path, "/") + pr.In.URL.Path,
	}
	out.Host = c.base.Host
	out.Header = http.Header{}
	out.Trailer = nil
	for _, name := range sentHeaders {
		if values := pr.In.Header[name]; len(values) > 0 {
			out.Header[name] = values[:1:1]
		}
	}
	if agent := ambry.AgentName(pr.In.Header.Get(ambry.AgentHeader)); agent != "" {
		out.Header.Set(ambry.AgentHeader, agent)
	}
	out.Header.Set("X-Request-Id", c.id)
	out.Header.Add("Accept", problemType) // by which a failure of the upstream is told from anything else
	if c.token != "" {
		out.Header.Set("Authorization", "Bearer "+c.token)
	}
}

// failed answers what kept the upstream's answer from coming.
func (p *Upstream) failed(w http.ResponseWriter, r *http.Request, err error) {
	c := r.Context().Value(callKey{}).(*call)
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case r.Context().Err() != nil:
		err = context.Canceled
	case c.body != nil && c.body.failure() != nil:
		err = ambry.InvalidArgument.Errorf("the body ended early or is not framed as HTTP says")
	case isNet && timeout.Timeout():
		err = ambry.MemoryTimeout.Wrap(err, "the memory did not answer in time; try again")
	default:
		err = ambry.UpstreamFailed.Wrap(err, "the memory does not answer as it should; see \"ambry doctor\"")
	}
	WriteError(w, r, err)
}

// filter lets through of an answer what a caller may see.
type filter struct{ http.RoundTripper }

// RoundTrip returns an answer with the listed headers alone. It is a new one:
// trailers that come later go to the old, which nobody reads.
func (f filter) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := f.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if why := unfit(res); why != "" {
		_ = res.Body.Close()
		return nil, errors.New(why)
	}
	kept := http.Header{}
	for _, name := range keptHeaders {
		if values := res.Header[name]; len(values) > 0 {
			kept[name] = values[:1:1]
		}
	}
	return &http.Response{
		StatusCode: res.StatusCode, Proto: res.Proto, ProtoMajor: res.ProtoMajor, ProtoMinor: res.ProtoMinor,
		Header: kept, Body: res.Body, ContentLength: res.ContentLength, Request: res.Request,
	}, nil
}

// unfit says why an answer cannot be one of the memory runtime's: then a
// stranger has its port, or something between us and it answered.
func unfit(res *http.Response) string {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case res.StatusCode == http.StatusUnauthorized:
		return "the upstream refuses our token"
	case res.StatusCode < 200, res.StatusCode >= 300 && res.StatusCode < 400 && res.StatusCode != http.StatusNotModified:
		return "the upstream answers " + http.StatusText(res.StatusCode)
	case res.StatusCode >= 400 && kind != problemType:
		return "the upstream fails without a problem document: " + http.StatusText(res.StatusCode)
	case res.StatusCode == http.StatusNoContent, res.StatusCode == http.StatusNotModified, res.ContentLength == 0:
		return ""
	}
	switch kind {
	case jsonType, problemType, linesType, "text/event-stream", "text/markdown", "application/octet-stream", "application/zip":
		return ""
	}
	return "the upstream answers with an unknown type of content"
}

// watchedBody remembers that reading the caller's body failed, which would
// otherwise look like a failure of the upstream.
type watchedBody struct {
	io.ReadCloser
	mu  sync.Mutex
	err error
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		b.mu.Lock()
		b.err = err
		b.mu.Unlock()
	}
	return n, err
}

func (b *watchedBody) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

type bufferPool struct{ pool sync.Pool }

func (b *bufferPool) Get() []byte {
	if buf, ok := b.pool.Get().(*[]byte); ok {
		return *buf
	}
	return make([]byte, 32<<10)
}

func (b *bufferPool) Put(buf []byte) { b.pool.Put(&buf) }
