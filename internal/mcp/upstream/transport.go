package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/supervise"
)

// open prepares a way to an upstream. A program is running when it returns.
// Requests over HTTP end with life.
func (p *Pool) open(ctx, life context.Context, u ambry.Upstream, o *order, end *fate) (mcp.Transport, *supervise.Pipe, error) {
	if p.cfg.Locate != nil {
		located, err := p.cfg.Locate(ctx, u)
		if err != nil {
			return nil, nil, err
		}
		u = located
	}
	if u.Command == "" {
		header, err := p.resolve(ctx, u.Headers)
		if err != nil {
			return nil, nil, err
		}
		return p.overHTTP(life, u.URL, header, o, end), nil, nil
	}
	set, err := p.resolve(ctx, u.Env)
	if err != nil {
		return nil, nil, err
	}
	env := slices.Clone(p.cfg.Environ)
	for _, name := range slices.Sorted(maps.Keys(set)) {
		env = append(env, name+"="+set[name])
	}
	pipe, err := supervise.Open(u.Command, u.Args, env, p.cfg.Dir)
	if err != nil {
		return nil, nil, &fault{"cannot be started; is its command installed?", err}
	}
	lines := newLines(pipe.Out, o)
	lines.over = &end.over
	return &mcp.IOTransport{Reader: ordered{lines, pipe.Out}, Writer: pipe.In, MaxLineLength: maxMessage}, pipe, nil
}

// resolve returns values with what their references stand for.
func (p *Pool) resolve(ctx context.Context, values map[string]string) (map[string]string, error) {
	resolved := make(map[string]string, len(values))
	for name, value := range values {
		before, reference := ambry.Reference(value)
		if reference != "" {
			secret, err := p.cfg.Secret(ctx, reference)
			if err != nil {
				return nil, &fault{fmt.Sprintf("needs %s, which is not there", reference), err}
			}
			before += secret
		}
		resolved[name] = before
	}
	return resolved, nil
}

func (p *Pool) overHTTP(life context.Context, url string, header map[string]string, o *order, end *fate) mcp.Transport {
	return &mcp.StreamableClientTransport{
		Endpoint:     url,
		MaxEventSize: maxMessage,
		MaxRetries:   2,
		HTTPClient: &http.Client{
			// No proxy, and no redirect: the headers go to the address that was set, or
			// nowhere.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &bounded{life: life, header: header, order: o, fate: end, next: &http.Transport{
				DialContext: p.cfg.DialContext, TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 30 * time.Second,
				MaxResponseHeaderBytes: 64 << 10, MaxConnsPerHost: 64, ForceAttemptHTTP2: true,
			}},
		},
	}
}

// bounded sends requests with the headers that were set, and reads no more of an
// answer than one message may have.
type bounded struct {
	life   context.Context
	header map[string]string
	order  *order

	fate *fate
	next *http.Transport
}

// RoundTrip sends a request.
func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(b.life, cancel)
	release := func() {
		stop()
		cancel()
	}
	r = r.Clone(ctx)
	for name, value := range b.header {
		r.Header.Set(name, value)
	}
	resp, err := b.next.RoundTrip(r)
	if err != nil {
		e, ok := errors.AsType[*net.OpError](err)
		switch {
		case ok && e.Op == "dial" && r.Method == http.MethodPost: // a stream that is taken up again asks for nothing
			b.fate.refused.Store(true)
		case isBreak(err):
			b.fate.over.Store(true)
		}
		release()
		return nil, err
	}
	body := &boundedBody{ReadCloser: resp.Body, left: maxMessage, release: release, over: &b.fate.over}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		body.left = -1 // events are bounded one by one
		resp.Body = ordered{newLines(body, b.order), body}
		return resp, nil
	}
	resp.Body = body
	return resp, nil
}

// isBreak reports whether err says that the other side ended a connection.
func isBreak(err error) bool {
	for _, e := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// ordered is read by lines.
type ordered struct {
	io.Reader
	io.Closer
}

// CloseIdleConnections lets go of the connections that are not in use.
func (b *bounded) CloseIdleConnections() { b.next.CloseIdleConnections() }

type boundedBody struct {
	io.ReadCloser
	left    int // bytes that may still come; -1 if there is no bound
	release func()
	over    *atomic.Bool // set when it is broken off
}

var errTooLarge = errors.New("the answer is too large")

// Read reads up to the bound.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errTooLarge
	}
	if b.left > 0 {
		p = p[:min(len(p), b.left)]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left > 0 {
		b.left -= n
	}
	if !errors.Is(err, io.EOF) && isBreak(err) {
		b.over.Store(true)
	}
	return n, err
}

// Close ends the request.
func (b *boundedBody) Close() error {
	b.release()
	return b.ReadCloser.Close()
}
