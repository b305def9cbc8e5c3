package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"ambry.dev/ambry"
)

// guard stands in front of every route. Its checks are the numbered lines of
// admit and of endpoint.ServeHTTP, in that order; each names what it stops. A
// request that fails one learns nothing of the later ones, and no byte of its
// body is read before line 6.
type guard struct {
	log       *slog.Logger
	origins   func() []string
	mux       *http.ServeMux
	endpoints map[string]*endpoint
	prefixes  []*endpoint // that agents may use
	agent     func(secret string) (string, bool)
	common    lock
	locks     map[string]lock // of the endpoints that have a token of their own
	grants    string          // headers that pages may send
}

// mcpHeaders are those that MCP has beside ours, for pages that speak it.
var mcpHeaders = []string{"mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name"}

func newGuard(cfg Config, t *table) *guard {
	g := &guard{
		log: cfg.Log, origins: cfg.Origins, mux: t.mux, endpoints: t.endpoints,
		common: newLock(cfg.Token), locks: map[string]lock{}, agent: cfg.Agent,
	}
	headers := []string{"content-type", "accept", "if-none-match", "idempotency-key", "last-event-id", "x-request-id", strings.ToLower(cfg.Token.Header), ambry.AgentHeader}
	headers = append(headers, mcpHeaders...)
	for path, e := range t.endpoints {
		if e.agents != nil && strings.HasSuffix(path, "/") {
			g.prefixes = append(g.prefixes, e)
		}
		if e.token != cfg.Token {
			g.locks[path] = newLock(e.token)
			headers = append(headers, strings.ToLower(e.token.Header))
		}
	}
	slices.Sort(headers)
	g.grants = strings.Join(slices.Compact(headers), ", ")
	return g
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := newAnswer(w, r)
	defer a.finish(g.log, r)
	switch err := g.admit(a, r); {
	case err != nil:
		refuse(a, r, err)
	case r.Method == http.MethodOptions && a.origin != "":
		g.grant(a)
	default:
		g.mux.ServeHTTP(a, r)
	}
}

// admit decides whether the request gets to a route at all.
func (g *guard) admit(a *answer, r *http.Request) error {
	// 1 Host: a page whose name was rebound to 127.0.0.1 still sends that name.
	if !namesUs(r) {
		a.Header().Set("Connection", "close")
		return ambry.Forbidden.Errorf("this Host is not served; use 127.0.0.1 and the port")
	}
	// 2 Origin: a page from anywhere else, a sandboxed frame (null), or an image
	// or navigation that sends no Origin but cannot hide that it crosses sites.
	origin, err := g.origin(r)
	if err != nil {
		a.Header().Set("Connection", "close")
		return err
	}
	a.origin = origin
	if r.Method == http.MethodOptions && origin != "" {
		return nil // browsers ask for permission without a token
	}
	// 3 Token: another program, another user of this machine. Unknown routes look
	// like known ones, and the body of a stranger is not read.
	if e := g.endpoints[r.URL.Path]; !g.opens(e, r) && !g.opensToAgent(a, e, r) {
		a.Header().Set("Connection", "close")
		return ambry.Unauthorized.Errorf("a valid token is needed")
	}
	// 4 Path: two spellings of one path, of which the guard would see one and a
	// handler, or the runtime behind the proxy, another.
	if !canonical(r.RequestURI) {
		return ambry.InvalidArgument.Errorf("the path is not in its canonical form")
	}
	return nil
}

// ServeHTTP is the part of the guard that needs to know the route, and then the
// route's handler. Its permissions (9) and limits (10) are the handler's.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := answerOf(w)
	a.pattern = e.pattern
	// 5 Method: overrides, TRACE that echoes headers, CONNECT that tunnels.
	op := e.operation(r.Method)
	if op == nil {
		a.Header().Set("Allow", e.allow)
		refuse(a, r, ambry.MethodNotAllowed.Errorf("%s takes %s", e.pattern, e.allow))
		return
	}
	a.quiet = op.route.quiet
	if !op.route.constant {
		// 6 Media, 7 JSON: forms and plain text, which pages may send without
		// asking; packed bombs; bodies that two parsers would read differently.
		if err := op.takeBody(a, r); err != nil {
			refuse(a, r, err)
			return
		}
		var release func()
		r, release = op.extendTime(a, r)
		defer release()
	}
	op.handler.ServeHTTP(a, r) // 8 schema, in huma
}

// lingerWait is how long a refused body is still taken, so that a caller who
// sends all before he reads gets to the answer.
const lingerWait = time.Second

// refuse answers err to a request whose body, if it has one, stays unread. The
// connection ends with it: net/http would wait for the rest of the body.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(lingerWait))
	}
	WriteError(w, r, err)
}

// namesUs reports whether Host is the very address that the connection came to.
func namesUs(r *http.Request) bool {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return false
	}
	port, ok := strings.CutPrefix(r.Host, "127.0.0.1:")
	if !ok {
		port, ok = strings.CutPrefix(r.Host, "localhost:")
	}
	return ok && port == strconv.Itoa(addr.Port)
}

// origin returns the Origin of the page that asks, "" if no page does.
func (g *guard) origin(r *http.Request) (string, error) {
	values := r.Header["Origin"]
	if len(values) == 0 {
		switch r.Header.Get("Sec-Fetch-Site") {
		case "", "none", "same-origin":
			return "", nil
		}
		return "", ambry.Forbidden.Errorf("requests from other sites are refused")
	}
	if len(values) == 1 && values[0] != "null" && values[0] != "" && g.origins != nil && slices.Contains(g.origins(), values[0]) {
		return values[0], nil
	}
	return "", ambry.Forbidden.Errorf("this Origin may not call; api.allowedOrigins lists those that may")
}

// grant answers a preflight: what pages of this Origin may send, and nothing
// about credentials (there are no cookies) or private networks.
func (g *guard) grant(a *answer) {
	h := a.Header()
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE")
	h.Set("Access-Control-Allow-Headers", g.grants)
	h.Set("Access-Control-Max-Age", "600")
	a.pattern = "preflight"
	a.WriteHeader(http.StatusNoContent)
}

// opens reports whether the request carries the token of its endpoint, which is
// nil for an unknown path.
func (g *guard) opens(e *endpoint, r *http.Request) bool {
	if e == nil {
		return g.common.fits(r.Header)
	}
	if e.open {
		return true
	}
	l, ok := g.locks[e.pattern]
	if !ok {
		l = g.common
	}
	if e.inQuery {
		return l.fitsQuery(r.URL.RawQuery)
	}
	return l.fits(r.Header)
}

// opensToAgent reports whether the request carries the token of an agent, and
// asks for something that agents may. Nobody else's word for the agent counts.
func (g *guard) opensToAgent(a *answer, e *endpoint, r *http.Request) bool {
	if g.agent == nil || !canonical(r.RequestURI) {
		return false
	}
	if e == nil {
		i := slices.IndexFunc(g.prefixes, func(e *endpoint) bool { return strings.HasPrefix(r.URL.Path, e.pattern) })
		if i < 0 {
			return false
		}
		e = g.prefixes[i]
	}
	l, ok := g.locks[e.pattern]
	if !ok {
		l = g.common
	}
	values := r.Header[l.header]
	if e.agents == nil || len(values) != 1 || !e.agents(r.Method, r.URL.Path) {
		return false
	}
	agent, ok := g.agent(values[0])
	if ok {
		a.agent = agent
		r.Header.Set(ambry.AgentHeader, agent)
	}
	return ok
}

// lock compares tokens by their digests, which are equally long and say nothing
// by how far they agree.
type lock struct {
	header string
	scheme string
	digest [sha256.Size]byte
	shut   bool
}

func newLock(t Token) lock {
	l := lock{header: http.CanonicalHeaderKey(t.Header), digest: sha256.Sum256([]byte(t.Secret)), shut: t.Secret == ""}
	if t.Scheme != "" {
		l.scheme = t.Scheme + " "
	}
	return l
}

func (l lock) fits(h http.Header) bool {
	values := h[l.header]
	if len(values) != 1 {
		return false
	}
	secret, ok := strings.CutPrefix(values[0], l.scheme)
	return l.equal(secret) && ok
}

func (l lock) fitsQuery(raw string) bool {
	query, err := url.ParseQuery(raw)
	if err != nil || len(query["token"]) != 1 {
		return false
	}
	return l.equal(query["token"][0])
}

func (l lock) equal(secret string) bool {
	digest := sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(digest[:], l.digest[:]) == 1 && !l.shut
}
