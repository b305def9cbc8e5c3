package web_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	secret    = "test-local-token"
	mcpSecret = "test-mcp-token"
	panel     = "http://127.0.0.1:4321"
)

// server is a web.Server on a real socket, with what it logged.
type server struct {
	t    *testing.T
	addr string
	port string
	log  *logBook
	doc  *web.Document
	stop func() error
}

type logBook struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func config() web.Config {
	return web.Config{
		Title: "Test", Version: "1", Document: "/api/openapi",
		Token:   web.Token{Header: ambry.LocalTokenHeader, Secret: secret},
		Origins: func() []string { return []string{panel} },
	}
}

func start(t *testing.T, routes ...web.Route) *server { return startWith(t, config(), routes...) }

func startWith(t *testing.T, cfg web.Config, routes ...web.Route) *server {
	t.Helper()
	s := &server{t: t, log: &logBook{}}
	cfg.Log = slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var handler http.Handler
	handler, s.doc = web.New(cfg, append(routes, health()))
	ln, err := web.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.addr = ln.Addr().String()
	_, s.port, _ = net.SplitHostPort(s.addr)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- (&web.Server{Handler: handler, Log: cfg.Log, Grace: time.Second}).Serve(ctx, ln) }()
	s.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return s
}

func health() web.Route {
	return web.Fixed("/api/health", "Is it there?", struct {
		OK      bool   `json:"ok"`
		Service string `json:"service"`
	}{true, "ambry-local-api"}).Open()
}

// reply is what came back.
type reply struct {
	status int // 0 if the connection was closed without an answer
	header http.Header
	body   string
	err    error
	closes bool // the server ends the connection with it
}

func (r reply) problem(t *testing.T) problem {
	t.Helper()
	if got := r.header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("status %d: Content-Type %q is no problem's; body %s", r.status, got, r.body)
	}
	var p problem
	if err := json.Unmarshal([]byte(r.body), &p); err != nil {
		t.Fatalf("the body is no problem: %v: %s", err, r.body)
	}
	if p.Status != r.status || p.Detail != p.Error.Message || p.Error.RequestID != r.header.Get("X-Request-Id") || p.Type != "about:blank" || p.Title == "" {
		t.Errorf("the problem contradicts itself: %+v, status %d, id %s", p, r.status, r.header.Get("X-Request-Id"))
	}
	return p
}

type problem struct {
	Type, Title, Detail, JobID string
	Status                     int
	Error                      struct {
		Code, Message, RequestID string
		Details                  []ambry.Field
	}
}

// lines is a request as it goes on the wire: the request line, the headers, an
// empty line and the body. HOST stands for the server's address.
func (s *server) raw(lines string) reply {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = io.WriteString(conn, strings.ReplaceAll(lines, "HOST", s.addr)) // it may be refused halfway
	}()
	r := readReply(bufio.NewReader(conn), strings.HasPrefix(lines, "HEAD "))
	conn.Close()
	<-written
	return r
}

func readReply(br *bufio.Reader, head bool) reply {
	req := &http.Request{Method: http.MethodGet}
	if head {
		req.Method = http.MethodHead
	}
	res, err := http.ReadResponse(br, req)
	if err != nil {
		return reply{err: err, header: http.Header{}}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return reply{status: res.StatusCode, header: res.Header, body: string(body), err: err, closes: res.Close}
}

// do sends a request with the token, the given headers and a body; JSON unless
// a header says otherwise.
func (s *server) do(method, target, body string, headers ...string) reply {
	s.t.Helper()
	return s.send(method, target, body, append([]string{ambry.LocalTokenHeader + ": " + secret}, headers...)...)
}

// send is do without the token.
func (s *server) send(method, target, body string, headers ...string) reply {
	s.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: HOST\r\n", method, target)
	all := strings.ToLower(strings.Join(headers, "\n"))
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	if body != "" && !strings.Contains(all, "content-type:") {
		b.WriteString("Content-Type: application/json\r\n")
	}
	if !strings.Contains(all, "content-length:") && !strings.Contains(all, "transfer-encoding:") && (body != "" || method != "GET" && method != "HEAD") {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	return s.raw(b.String() + "\r\n" + body)
}

func (r reply) want(t *testing.T, status int, code string) {
	t.Helper()
	if r.status != status {
		t.Errorf("got status %d (%v), want %d; body %s", r.status, r.err, status, r.body)
		return
	}
	if code == "" {
		return
	}
	if p := r.problem(t); p.Error.Code != code {
		t.Errorf("got code %s, want %s", p.Error.Code, code)
	}
}

// echo answers what it was given.
type echoInput struct {
	ID   string `path:"id" maxLength:"64"`
	Page int    `query:"page" minimum:"1" default:"1"`
	Body struct {
		Text  string   `json:"text" minLength:"1" maxLength:"20"`
		Count int      `json:"count,omitempty" minimum:"0" maximum:"10"`
		Kind  string   `json:"kind,omitempty" enum:"a,b"`
		Tags  []string `json:"tags,omitempty" maxItems:"3" nullable:"false"`
	}
}

type echoOutput struct {
	ID   string `json:"id"`
	Page int    `json:"page"`
	Text string `json:"text"`
}

func echo(_ context.Context, in *echoInput) (*web.JSON[echoOutput], error) {
	return web.Reply(echoOutput{ID: in.ID, Page: in.Page, Text: in.Body.Text}), nil
}

func echoRoute() web.Route { return web.Post("/api/echo/{id}", "Say it again", echo) }

type pageInput struct {
	Page  int      `query:"page" minimum:"1" default:"1"`
	Names []string `query:"name,explode" maxItems:"3"`
}

func listRoute() web.Route {
	return web.Get("/api/list", "List", func(_ context.Context, in *pageInput) (*web.JSON[pageInput], error) {
		return web.Reply(*in), nil
	})
}

// failing answers err.
func failing(path string, err error) web.Route {
	return web.Get(path, "Fail", func(context.Context, *web.None) (*web.JSON[string], error) { return nil, err })
}

func TestTypedRoute(t *testing.T) {
	s := start(t, echoRoute())
	r := s.do("POST", "/api/echo/seven?page=3", `{"text":"hello","kind":"b","tags":["x"]}`)
	r.want(t, 200, "")
	if want := `{"id":"seven","page":3,"text":"hello"}`; strings.TrimSpace(r.body) != want {
		t.Errorf("got %s, want %s", r.body, want)
	}
	if got := r.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("got Content-Type %s", got)
	}
	if r.header.Get("Link") != "" || strings.Contains(r.body, "$schema") {
		t.Errorf("the answer links to a schema: %v %s", r.header, r.body)
	}
}

func TestAcceptedIs202(t *testing.T) {
	route := web.Post("/api/jobs", "Start", func(context.Context, *web.None) (*web.JSON[string], error) {
		return web.Reply("started"), nil
	}).Accepted()
	start(t, route).do("POST", "/api/jobs", "").want(t, 202, "")
}

func TestNoBodyAnswers204(t *testing.T) {
	route := web.Delete("/api/thing", "Remove", func(context.Context, *web.None) (*struct{}, error) { return nil, nil })
	start(t, route).do("DELETE", "/api/thing", "").want(t, 204, "")
}

func TestOptionalBody(t *testing.T) {
	type input struct {
		Body *struct {
			Mode string `json:"mode,omitempty" enum:"full"`
		}
	}
	route := web.Post("/api/scan", "Scan", func(_ context.Context, in *input) (*web.JSON[bool], error) {
		return web.Reply(in.Body != nil), nil
	})
	s := start(t, route)
	for body, want := range map[string]string{"": "false", "{}": "true", `{"mode":"full"}`: "true"} {
		if r := s.do("POST", "/api/scan", body); strings.TrimSpace(r.body) != want {
			t.Errorf("%q: got %d %s, want %s", body, r.status, r.body, want)
		}
	}
	s.do("POST", "/api/scan", `{"mode":"x"}`).want(t, 400, "invalid_argument")
	s.do("POST", "/api/scan", `null`).want(t, 400, "invalid_argument")
}

func TestEveryFieldThatIsWrongIsListed(t *testing.T) {
	s := start(t, echoRoute())
	r := s.do("POST", "/api/echo/x?page=0", `{"count":11,"kind":"c","tags":["1","2","3","4"],"extra":1}`)
	r.want(t, 400, "invalid_argument")
	got := map[string]bool{}
	for _, d := range r.problem(t).Error.Details {
		got[d.Field] = true
		if d.Message == "" {
			t.Errorf("%s: no message", d.Field)
		}
	}
	for _, want := range []string{"query.page", "body.text", "body.count", "body.kind", "body.tags", "body.extra"} {
		if !got[want] {
			t.Errorf("%s is not listed in %v", want, got)
		}
	}
	if strings.Contains(r.body, `"value"`) {
		t.Errorf("the answer repeats a value: %s", r.body)
	}
}

func TestErrorsKeepTheirKind(t *testing.T) {
	cause := errors.New("select * from secrets in /home/someone")
	tests := []struct {
		name   string
		err    error
		status int
		code   string
		detail string
	}{
		{"not found", ambry.NotFound.Errorf("no agent x"), 404, "not_found", "no agent x"},
		{"wrapped", fmt.Errorf("scan codex: %w", ambry.Conflict.Errorf("a scan is running")), 409, "conflict", "a scan is running"},
		{"with a cause", ambry.StorageFull.Wrap(cause, "the disk is full; make room"), 507, "storage_full", "the disk is full; make room"},
		{"without a kind", cause, 500, "internal", ""},
		{"internal", ambry.Internal.Errorf("dial 127.0.0.1:99"), 500, "internal", ""},
		{"of an unknown kind", ambry.Kind("odd").Errorf("dial 127.0.0.1:99"), 500, "internal", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t, failing("/api/fail", tt.err))
			r := s.do("GET", "/api/fail", "")
			r.want(t, tt.status, tt.code)
			p := r.problem(t)
			if tt.detail != "" && p.Detail != tt.detail {
				t.Errorf("got detail %q, want %q", p.Detail, tt.detail)
			}
			for _, leak := range []string{"select", "/home", "127.0.0.1:99"} {
				if strings.Contains(r.body, leak) {
					t.Errorf("the answer shows the cause: %s", r.body)
				}
			}
			s.wantLog(tt.status >= 500 && errors.Is(tt.err, cause), "secrets")
		})
	}
}

// wantLog checks the log after the server has stopped, when all of it is there.
func (s *server) wantLog(want bool, text string) {
	s.t.Helper()
	_ = s.stop()
	if got := strings.Contains(s.log.String(), text); got != want {
		s.t.Errorf("the log holds %q: %v, want %v\n%s", text, got, want, s.log)
	}
}

func TestProblemHasExtraMembersAndRetryAfter(t *testing.T) {
	s := start(t, failing("/api/fail", &ambry.Error{
		Kind: ambry.Conflict, Message: "a scan is running", RetryAfter: 7,
		Extra: map[string]any{"jobId": "j1", "status": "never", "error": "never"},
	}))
	r := s.do("GET", "/api/fail", "")
	r.want(t, 409, "conflict")
	if p := r.problem(t); p.JobID != "j1" || p.Status != 409 {
		t.Errorf("got %+v, want jobId j1 and the real status", p)
	}
	if got := r.header.Get("Retry-After"); got != "7" {
		t.Errorf("got Retry-After %q, want 7", got)
	}
}

func TestPanicIsAnInternalErrorLoggedOnce(t *testing.T) {
	s := start(t, web.Get("/api/panic", "Panic", func(context.Context, *web.None) (*web.JSON[string], error) {
		panic("secret of the handler")
	}))
	r := s.do("GET", "/api/panic", "")
	r.want(t, 500, "internal")
	if strings.Contains(r.body, "secret") || strings.Contains(r.body, ".go:") {
		t.Errorf("the answer shows the panic: %s", r.body)
	}
	_ = s.stop()
	if n := strings.Count(s.log.String(), "secret of the handler"); n != 1 {
		t.Errorf("the panic is in the log %d times, want once", n)
	}
}

func TestPanicInTheMiddleOfAnAnswerCutsIt(t *testing.T) {
	s := start(t, web.Handle("/api/half", "Half", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"half":`))
		_ = http.NewResponseController(w).Flush()
		panic("torn")
	}), "GET"))
	if r := s.do("GET", "/api/half", ""); r.err == nil {
		t.Errorf("half an answer passed as whole: %d %q", r.status, r.body)
	}
}

func TestWriteErrorInTheMiddleOfAnAnswerCutsIt(t *testing.T) {
	s := start(t, web.Handle("/api/half", "Half", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"half":`))
		_ = http.NewResponseController(w).Flush()
		web.WriteError(w, r, ambry.NotFound.Errorf("late"))
	}), "GET"))
	if r := s.do("GET", "/api/half", ""); r.err == nil {
		t.Errorf("half an answer passed as whole: %d %q", r.status, r.body)
	}
}

func TestEveryAnswerHasTheHeaders(t *testing.T) {
	s := start(t, echoRoute(), failing("/api/fail", errors.New("x")), web.Handle("/api/raw", "Raw",
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Cache-Control", "public")
			w.Header().Del("X-Request-Id")
		}), "GET"))
	for name, r := range map[string]reply{
		"health": s.send("GET", "/api/health", ""),
		"200":    s.do("POST", "/api/echo/x", `{"text":"x"}`),
		"raw":    s.do("GET", "/api/raw", ""),
		"400":    s.do("POST", "/api/echo/x", `{`),
		"401":    s.send("GET", "/api/list", ""),
		"403":    s.do("GET", "/api/health", "", "Origin: https://evil.example"),
		"404":    s.do("GET", "/none", ""),
		"405":    s.do("PUT", "/api/echo/x", ""),
		"500":    s.do("GET", "/api/fail", ""),
		"204":    s.send("OPTIONS", "/api/echo/x", "", "Origin: "+panel),
	} {
		for header, want := range map[string]string{
			"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "no-referrer", "Content-Security-Policy": "default-src 'none'",
		} {
			if got := r.header.Values(header); len(got) != 1 || got[0] != want {
				t.Errorf("%s: %s is %q, want %q", name, header, got, want)
			}
		}
		if id := r.header.Get("X-Request-Id"); len(id) != 36 || id[14] != '7' {
			t.Errorf("%s: X-Request-Id %q is no UUIDv7", name, id)
		}
	}
}

func TestRequestID(t *testing.T) {
	s := start(t)
	for _, tt := range []struct {
		name    string
		headers []string
		want    string // "" for a new one
	}{
		{"the caller's", []string{"x-request-id: Build_1.2-3"}, "Build_1.2-3"},
		{"64 characters", []string{"x-request-id: " + strings.Repeat("a", 64)}, strings.Repeat("a", 64)},
		{"65 characters", []string{"x-request-id: " + strings.Repeat("a", 65)}, ""},
		{"a forged log line", []string{"x-request-id: a status=200"}, ""},
		{"two", []string{"x-request-id: a", "x-request-id: b"}, ""},
		{"empty", []string{"x-request-id:"}, ""},
	} {
		r := s.send("GET", "/api/health", "", tt.headers...)
		if got := r.header.Get("X-Request-Id"); tt.want != "" && got != tt.want || tt.want == "" && len(got) != 36 {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestAccessLogNamesRoutesNotURLs(t *testing.T) {
	s := start(t, echoRoute(), web.Stream("/api/events", "Follow", http.NotFoundHandler()).TokenInQuery())
	s.do("POST", "/api/echo/private-id?page=2", `{"text":"private-text"}`, "x-request-id: r1")
	s.do("POST", "/api/echo/private-id", `{"text":"private-text-that-is-too-long"}`)
	s.send("GET", "/api/events?token="+secret, "")
	s.send("GET", "/api/events?token=private-guess", "")
	s.send("GET", "/api/private-path", "", ambry.LocalTokenHeader+": private-guess")
	s.do("PRIVATE", "/api/echo/x", "")
	s.send("GET", "/api/health", "")
	s.wantLog(true, `route=/api/echo/{id} method=POST status=200`)
	s.wantLog(true, "request=r1")
	s.wantLog(true, `level=DEBUG msg=request route=/api/health`)
	s.wantLog(false, "private")
	s.wantLog(false, "PRIVATE")
	s.wantLog(false, secret)
}

func TestHealth(t *testing.T) {
	s := start(t)
	r := s.send("GET", "/api/health", "")
	r.want(t, 200, "")
	if want := `{"ok":true,"service":"ambry-local-api"}`; strings.TrimSpace(r.body) != want {
		t.Errorf("got %s, want %s", r.body, want)
	}
	head := s.send("HEAD", "/api/health", "")
	head.want(t, 200, "")
	if head.body != "" || head.header.Get("Content-Length") != r.header.Get("Content-Length") {
		t.Errorf("HEAD: got %q and length %s, want nothing and length %s", head.body, head.header.Get("Content-Length"), r.header.Get("Content-Length"))
	}
}

func TestWrongTablesPanic(t *testing.T) {
	tests := map[string][]web.Route{
		"two alike":           {listRoute(), listRoute()},
		"open with parameter": {web.Get("/api/{x}", "X", func(context.Context, *web.None) (*web.None, error) { return nil, nil }).Open()},
		"half open": {listRoute().Open(), web.Post("/api/list", "X", func(context.Context, *web.None) (*web.None, error) {
			return nil, nil
		})},
		"no path": {web.Get("", "X", func(context.Context, *web.None) (*web.None, error) { return nil, nil })},
	}
	for name, routes := range tests {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("the table was accepted")
				}
			}()
			web.New(config(), routes)
		})
	}
}
