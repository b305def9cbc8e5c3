package mcp

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/web"
)

// The limits of a [Bridge].
const (
	MaxSessions = 64               // at a time
	MaxStreams  = 64               // that wait for what the server has to say
	SessionIdle = 30 * time.Minute // after which a session that nobody uses has ended
)

// The headers of the protocol.
const (
	sessionHeader  = "Mcp-Session-Id"
	revisionHeader = "Mcp-Protocol-Version"
)

// sessionless is the first revision that has no sessions, no stream to listen
// to, and no handshake: each request says all about itself.
const sessionless = "2026-07-28"

// Bridge serves a [Server] over streamable HTTP, to clients of every revision:
// with sessions to those of 2025, without to those of 2026-07-28. It takes GET,
// POST and DELETE, whose bodies are checked already, as a route of package web
// does; token, Host and Origin are the route's matter, too. Close it.
type Bridge struct {
	withSessions http.Handler
	without      http.Handler
	places       places
	streams      atomic.Int64
	life         context.Context // ends with the bridge, and with it what its tools are doing
	end          context.CancelFunc
}

// NewBridge returns a bridge to s, without sessions yet.
func NewBridge(s *Server) *Bridge {
	b := &Bridge{places: places{max: MaxSessions, idle: SessionIdle, now: time.Now}}
	b.life, b.end = context.WithCancel(context.Background())
	// What the SDK has to say names sessions, which are secrets.
	silent := slog.New(slog.DiscardHandler)
	server := s.offer(silent)
	server.AddReceivingMiddleware(b.attend)
	b.places.alive = server.Sessions
	same := func(*http.Request) *mcp.Server { return server }
	b.withSessions = mcp.NewStreamableHTTPHandler(same, &mcp.StreamableHTTPOptions{Logger: silent, EventStore: newEvents()})
	b.without = mcp.NewStreamableHTTPHandler(same, &mcp.StreamableHTTPOptions{
		Logger: silent, Stateless: true, PropagateRequestCancellation: true,
	})
	return b
}

// Close ends what the tools are doing and all sessions, and returns when they
// have ended.
func (b *Bridge) Close() {
	b.end()
	b.places.close()
}

// ServeHTTP answers one request.
func (b *Bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := &answer{ResponseWriter: w}
	if err := b.serve(a, r); err != nil {
		web.WriteError(w, r, err)
		return
	}
	a.finish(r)
}

func (b *Bridge) serve(w http.ResponseWriter, r *http.Request) error {
	ids, revisions := r.Header[sessionHeader], r.Header[revisionHeader]
	if len(ids) > 1 || len(revisions) > 1 {
		return ambry.InvalidArgument.Errorf("%s and %s may be there once", sessionHeader, revisionHeader)
	}
	id, revision := r.Header.Get(sessionHeader), r.Header.Get(revisionHeader)
	m, err := read(r)
	if err != nil {
		return err
	}
	if len(revisions) > 0 && !slices.Contains(mcp.SupportedProtocolVersions(), revision) {
		return unknownRevision(w, m, revision)
	}
	switch {
	case revision >= sessionless, m.modern:
		b.without.ServeHTTP(w, r)
		return nil
	case r.Method == http.MethodPost && id == "":
		return b.begin(w, r, m)
	case id == "":
		return ambry.InvalidArgument.Errorf("%s is missing", sessionHeader)
	}
	return b.goOn(w, r, id)
}

// begin lets a client begin a session.
func (b *Bridge) begin(w http.ResponseWriter, r *http.Request, m message) error {
	if m.method != "initialize" {
		return ambry.InvalidArgument.Errorf("%s is missing; initialize begins a session", sessionHeader)
	}
	p, err := b.places.take(b.life)
	if err != nil {
		return err
	}
	defer b.places.begun(p)
	b.withSessions.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), placeKey{}, p)))
	return nil
}

// goOn hands a request on to its session.
func (b *Bridge) goOn(w http.ResponseWriter, r *http.Request, id string) error {
	if r.Method == http.MethodDelete {
		if err := b.places.end(id); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	p, err := b.places.enter(id)
	if err != nil {
		return err
	}
	defer b.places.leave(p)
	if r.Method == http.MethodGet {
		defer b.streams.Add(-1)
		if b.streams.Add(1) > MaxStreams {
			return &ambry.Error{Kind: ambry.RateLimited, Message: "too many streams are open; close one", RetryAfter: 5}
		}
	}
	b.withSessions.ServeHTTP(w, r)
	return nil
}

// attend is between a request and what answers it: the end of the session, or
// of the bridge, ends the work for it, and a session that begins gets its place
// first. One that gets none does not begin, and the SDK ends it.
func (b *Bridge) attend(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		life := b.life
		p, _ := ctx.Value(placeKey{}).(*place)
		if p != nil {
			life = p.life
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(life, cancel)()
		if session, ok := req.GetSession().(*mcp.ServerSession); ok && p != nil && method == "initialize" {
			if err := b.places.fill(p, session); err != nil {
				return nil, err
			}
		}
		return next(ctx, method, req)
	}
}

// unknownRevision refuses a revision that nobody here knows. A request is told
// the others in the way that newer clients understand, so that they can choose.
func unknownRevision(w http.ResponseWriter, m message, revision string) error {
	const text = "this " + revisionHeader + " is not known here"
	var raw any
	if json.Unmarshal(m.id, &raw) != nil {
		return ambry.InvalidArgument.Errorf(text)
	}
	id, err := jsonrpc.MakeID(raw)
	if err != nil {
		return ambry.InvalidArgument.Errorf(text)
	}
	data, err := json.Marshal(mcp.UnsupportedProtocolVersionData{Supported: mcp.SupportedProtocolVersions(), Requested: short(revision, 32)})
	if err != nil {
		return err
	}
	body, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
		Code: mcp.CodeUnsupportedProtocolVersion, Message: text, Data: data,
	}})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(body) // a caller who is gone needs no answer
	return nil
}
