// Package web is HTTP for both processes: a table of typed routes becomes a
// handler, a guard in front of it, and the OpenAPI document, and every failure
// becomes the same problem document. It also has what routes are made of: the
// event stream and the reverse proxy.
//
// It knows no resource: what the routes do is package server's (of the service)
// and package memory/host's (of the runtime). It serves no files and no HTML.
package web

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"ambry.dev/ambry"
)

// Config is what the routes of one process have in common.
type Config struct {
	// Title, Version and Description open the OpenAPI document.
	Title, Version, Description string

	// Document is the path of the OpenAPI document without its extension, such as
	// /api/openapi; empty serves none.
	Document string

	// Token opens every route that does not say otherwise.
	Token Token

	// Agent returns whose token a secret is, for the routes that agents may use
	// with a token of their own; nil knows none.
	Agent func(secret string) (agent string, ok bool)

	// Origins returns the Origins that pages may call from, exactly as browsers
	// send them. It is asked at each such request; nil refuses every page.
	Origins func() []string

	// Log gets one line per request, and the causes of internal errors. It never
	// gets a URL, a body or a token. Nil means silence.
	Log *slog.Logger
}

// Token is a secret and the header that carries it.
type Token struct {
	Header string // such as x-app-local-token
	Scheme string // word before the secret, such as Bearer; may be empty
	Secret string // empty opens nothing
}

// New makes the handler and the document of routes. It panics when the table
// itself is wrong: two routes alike, a path that is no pattern, an open route
// with a parameter.
//
// The handler wants to be served by [Server], or at least by net/http itself:
// the guard compares Host with the address that the connection came to.
func New(cfg Config, routes []Route) (http.Handler, *Document) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	t := newTable(cfg)
	doc := &Document{api: t.api.OpenAPI()}
	if cfg.Document != "" {
		routes = append(routes[:len(routes):len(routes)], doc.routes(cfg.Document)...)
	}
	for _, route := range routes {
		t.add(&route)
	}
	doc.finish()
	return newGuard(cfg, t), doc
}

// table holds the endpoints by path, and the mux that finds them.
type table struct {
	cfg       Config
	mux       *http.ServeMux
	endpoints map[string]*endpoint
	api       humaAPI
}

// endpoint is all that one path can do.
type endpoint struct {
	pattern string
	token   Token
	open    bool                           // no token
	inQuery bool                           // the token is in the query
	agents  func(method, path string) bool // what agents may ask here; nil is nothing
	byName  map[string]*operation
	any     *operation // for every method that is not named
	allow   string     // value of the Allow header
}

// operation is one method of an endpoint.
type operation struct {
	route   *Route
	handler http.Handler
}

func (e *endpoint) operation(method string) *operation {
	if op, ok := e.byName[method]; ok {
		return op
	}
	if method == http.MethodConnect || method == http.MethodTrace {
		return nil
	}
	return e.any
}

func (t *table) add(r *Route) {
	t.secure(r)
	if r.register != nil {
		r.register(t.api, r.operation(t.cfg)) // which comes back to handle
		return
	}
	t.document(r)
	for _, method := range r.methods {
		t.handle(r, method, r.handler)
	}
	if r.methods == nil {
		t.handle(r, "", r.handler)
	}
}

// handle puts a handler of r into the table; an empty method stands for all.
func (t *table) handle(r *Route, method string, h http.Handler) {
	e, ok := t.endpoints[r.path]
	if !ok {
		e = t.endpoint(r)
	}
	op := &operation{route: r, handler: h}
	switch {
	case method == "" && e.any == nil:
		e.any = op
		e.allow = "GET, HEAD, POST, PUT, PATCH, DELETE"
	case method != "" && e.byName[method] == nil:
		e.byName[method] = op
		e.allow = strings.TrimPrefix(e.allow+", "+method, ", ")
	default:
		panic(fmt.Sprintf("web: two routes for %s %s", method, r.path))
	}
	if e.open != r.open || e.inQuery != r.inQuery || e.token != r.tokenOr(t.cfg.Token) {
		panic(fmt.Sprintf("web: the methods of %s disagree about the token", r.path))
	}
}

func (t *table) endpoint(r *Route) *endpoint {
	e := &endpoint{
		pattern: r.path, byName: map[string]*operation{},
		open: r.open, inQuery: r.inQuery, agents: r.agents, token: r.tokenOr(t.cfg.Token),
	}
	if (e.open || e.inQuery || e.token != t.cfg.Token) && strings.ContainsAny(r.path, "{}") {
		panic(fmt.Sprintf("web: %s has a parameter, so its token is the common one", r.path))
	}
	t.endpoints[r.path] = e
	t.mux.Handle(r.path, e)
	if bare, ok := strings.CutSuffix(r.path, "/"); ok && bare != "" {
		t.mux.HandleFunc(bare, notFound) // the mux would redirect
	}
	return e
}

func notFound(w http.ResponseWriter, r *http.Request) {
	refuse(w, r, ambry.NotFound.Errorf("no such route; GET the OpenAPI document for those there are"))
}
