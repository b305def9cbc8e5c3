package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// The limits of a request's body, in bytes, where a route does not say otherwise.
const (
	DefaultMaxBody = 1 << 20
	ProxyMaxBody   = 4 << 20
)

// Route is one line of a table of routes: what is asked, who may ask, and the
// function that answers. Its methods return a changed copy.
type Route struct {
	methods     []string // nil for every method
	path        string
	summary     string
	description string
	tags        []string
	tool        string
	status      int
	maxBody     int64
	intake      intake
	open        bool
	inQuery     bool
	quiet       bool // in the log
	constant    bool // the handler looks at nothing but the method
	stream      bool
	token       *Token
	agents      func(method, path string) bool
	produces    string // media type of the answer, if it is not JSON

	register func(humaAPI, huma.Operation) // typed routes
	handler  http.Handler                  // the others
	shape    reflect.Type                  // of the answer, if the handler has one
}

// intake says what a route does with a body.
type intake int

const (
	intakeNothing intake = iota // there must be none, or {}
	intakeJSON                  // read whole, checked, then handed on
	intakeLines                 // newline-delimited JSON, handed on as it comes
	intakeAny                   // either, as the content type says
)

// None is the input of a route that takes nothing.
type None struct{}

// JSON is the output of a route whose answer is just a body.
type JSON[T any] struct{ Body T }

// Reply wraps body for the return of a handler.
func Reply[T any](body T) *JSON[T] { return &JSON[T]{Body: body} }

// Get routes GET path to h. The fields of I that are tagged path, query or
// header are read, checked against their tags (enum, minimum, maxLength, …) and
// filled in before h runs; a field named Body is the JSON body, optional if it
// is a pointer. The Body field of O is the answer; its other fields are headers.
// Errors that h returns are answered as [WriteError] does.
func Get[I, O any](path, summary string, h func(context.Context, *I) (*O, error)) Route {
	return typed(http.MethodGet, path, summary, h)
}

// Post routes POST path to h, as [Get] does.
func Post[I, O any](path, summary string, h func(context.Context, *I) (*O, error)) Route {
	return typed(http.MethodPost, path, summary, h)
}

// Put routes PUT path to h, as [Get] does.
func Put[I, O any](path, summary string, h func(context.Context, *I) (*O, error)) Route {
	return typed(http.MethodPut, path, summary, h)
}

// Patch routes PATCH path to h, as [Get] does.
func Patch[I, O any](path, summary string, h func(context.Context, *I) (*O, error)) Route {
	return typed(http.MethodPatch, path, summary, h)
}

// Delete routes DELETE path to h, as [Get] does.
func Delete[I, O any](path, summary string, h func(context.Context, *I) (*O, error)) Route {
	return typed(http.MethodDelete, path, summary, h)
}

func typed[I, O any](method, path, summary string, h func(context.Context, *I) (*O, error)) Route {
	r := Route{methods: []string{method}, path: path, summary: summary, maxBody: DefaultMaxBody}
	if _, ok := reflect.TypeFor[I]().FieldByName("Body"); ok {
		r.intake = intakeJSON
	}
	r.register = func(api humaAPI, op huma.Operation) { huma.Register(api, op, h) }
	return r
}

// Fixed answers GET and HEAD of path with body, which is encoded once. It is
// logged for debugging only.
func Fixed(path, summary string, body any) Route {
	data, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("web: %s: %v", path, err))
	}
	return Route{
		methods: []string{http.MethodGet, http.MethodHead}, path: path, summary: summary,
		quiet: true, constant: true, handler: fixed(data, "application/json"), shape: reflect.TypeOf(body),
	}
}

func fixed(data []byte, contentType string) http.Handler {
	data = append(bytes.Clone(data), '\n')
	length, kind := []string{strconv.Itoa(len(data))}, []string{contentType}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["Content-Type"], h["Content-Length"] = kind, length
		if r.Method == http.MethodHead {
			return
		}
		_, _ = w.Write(data) // a caller who is gone needs no answer
	})
}

// Handle routes path to h for the methods given. A body must be JSON and is
// read and checked before h sees it; see [Route.Lines] for another way. h
// answers failures with [WriteError].
func Handle(path, summary string, h http.Handler, methods ...string) Route {
	return Route{methods: methods, path: path, summary: summary, handler: h, maxBody: DefaultMaxBody, intake: intakeJSON}
}

// Stream routes GET path to h, which may write for as long as it likes: no
// deadline holds but those that h sets itself, and the request's context ends
// also when the [Server] begins to shut down.
func Stream(path, summary string, h http.Handler) Route {
	return Route{methods: []string{http.MethodGet}, path: path, summary: summary, handler: h, stream: true, produces: "text/event-stream"}
}

// Proxy hands every method of every path below prefix, which ends in a slash,
// to h. JSON bodies are read and checked here, so that a broken one goes no
// further; newline-delimited JSON is handed on as it comes.
func Proxy(prefix, summary string, h http.Handler) Route {
	return Route{path: prefix, summary: summary, handler: h, maxBody: ProxyMaxBody, intake: intakeAny}
}

// Accepted makes 202 the status of success.
func (r Route) Accepted() Route { r.status = http.StatusAccepted; return r }

// MaxBody limits the body to n bytes.
func (r Route) MaxBody(n int64) Route { r.maxBody = n; return r }

// Lines says that the body is newline-delimited JSON (application/x-ndjson) of
// any length, which the handler reads and checks as it comes. It may take as
// long as it likes, if something comes every half minute.
func (r Route) Lines() Route { r.intake = intakeLines; return r }

// Quiet says that programs ask this all the time: success is logged for
// debugging only.
func (r Route) Quiet() Route { r.quiet = true; return r }

// Tool names the route for use as an MCP tool.
func (r Route) Tool(name string) Route { r.tool = name; return r }

// Tag groups the route in the document.
func (r Route) Tag(names ...string) Route {
	r.tags = append(r.tags[:len(r.tags):len(r.tags)], names...)
	return r
}

// Describe says more than the summary.
func (r Route) Describe(text string) Route { r.description = text; return r }

// Open lets callers in without a token.
func (r Route) Open() Route { r.open = true; return r }

// TokenInQuery takes the token from the query parameter token and from nowhere
// else, for browsers' event streams, which cannot set a header.
func (r Route) TokenInQuery() Route { r.inQuery = true; return r }

// WithToken makes t, instead of the common token, open the route.
func (r Route) WithToken(t Token) Route { r.token = &t; return r }

// ForAgents lets agents in with tokens of their own, see [Config.Agent], for what
// may says they may ask. Of several routes with one path the first counts.
func (r Route) ForAgents(may func(method, path string) bool) Route { r.agents = may; return r }

func (r *Route) tokenOr(common Token) Token {
	if r.token != nil {
		return *r.token
	}
	return common
}
