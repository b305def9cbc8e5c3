package web_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
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
	// Which of the two it is, TestTypeOfAProblemIsOneTheCallerKnows looks at.
	if got := r.header.Get("Content-Type"); got != "application/problem+json" && got != "application/json" {
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
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
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
