package web_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/web"
)

// pipes is a listener whose connections are in memory, so that the deadlines of
// the server run on the clock of a synctest bubble.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { p.once.Do(func() { close(p.closed) }); return nil }

func (p *pipes) Addr() net.Addr { return loopback }

var loopback = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}

func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- pipeConn{server}
	return client
}

type pipeConn struct{ net.Conn }

func (pipeConn) LocalAddr() net.Addr { return loopback }

// bubble serves routes in a synctest bubble while f runs.
func bubble(t *testing.T, f func(t *testing.T, ln *pipes), routes ...web.Route) {
	synctest.Test(t, func(t *testing.T) {
		handler, _ := web.New(config(), append(routes, health()))
		ln := newPipes()
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- (&web.Server{Handler: handler}).Serve(ctx, ln) }()
		f(t, ln)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

const pipeHost = "Host: 127.0.0.1:80\r\n"

// Whoever sends slowly is cut, however he does it.
func TestSlowClientsAreCut(t *testing.T) {
	json := "Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{"
	tests := []struct {
		name, first, drip string
		within            time.Duration
	}{
		{"silence", "", "", 6 * time.Second},
		{"headers that never end", "GET /api/health HTTP/1.1\r\n" + pipeHost + "X-", "a", 6 * time.Second},
		{"a request line that never ends", "GET /", "a", 6 * time.Second},
		{"a body that drips", "POST /api/echo/x HTTP/1.1\r\n" + pipeHost + token + "\r\n" + json, " ", 35 * time.Second},
		{"a body that stops", "POST /api/echo/x HTTP/1.1\r\n" + pipeHost + token + "\r\n" + json, "", 35 * time.Second},
		{"a body that drips, without token", "POST /api/echo/x HTTP/1.1\r\n" + pipeHost + json, " ", 2 * time.Second},
		{"a body that drips, to nowhere", "POST /none HTTP/1.1\r\n" + pipeHost + token + "\r\n" + json, " ", 2 * time.Second},
		{"a body that drips, by a wrong method", "PUT /api/echo/x HTTP/1.1\r\n" + pipeHost + token + "\r\n" + json, " ", 2 * time.Second},
		{"lines that stop", "POST /api/import HTTP/1.1\r\n" + pipeHost + token + "\r\nContent-Type: application/x-ndjson\r\nContent-Length: 100\r\n\r\n{}\n", "", 35 * time.Second},
		{"idleness after a request", "GET /api/health HTTP/1.1\r\n" + pipeHost + "\r\n", "", 65 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, ln *pipes) {
				begin := time.Now()
				conn := ln.dial()
				defer conn.Close()
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					_, _ = io.Copy(io.Discard, conn)
				}()
				fmt.Fprint(conn, tt.first)
				for tt.drip != "" && time.Since(begin) < 2*time.Minute {
					time.Sleep(700 * time.Millisecond)
					if _, err := io.WriteString(conn, tt.drip); err != nil {
						break
					}
				}
				<-ended
				if took := time.Since(begin); took > tt.within {
					t.Errorf("cut after %v, want at most %v", took, tt.within)
				}
			}, echoRoute(), importRoute())
		})
	}
}

func importRoute() web.Route {
	return web.Handle("/api/import", "Import", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			web.WriteError(w, r, err)
			return
		}
		fmt.Fprintf(w, `{"bytes":%d}`, n)
	}), "POST").Lines()
}

// An import may take hours, if only something comes.
func TestLinesMayTakeLong(t *testing.T) {
	bubble(t, func(t *testing.T, ln *pipes) {
		conn := ln.dial()
		defer conn.Close()
		const parts = 100
		go func() {
			fmt.Fprintf(conn, "POST /api/import HTTP/1.1\r\n%s%s\r\nContent-Type: application/x-ndjson\r\nContent-Length: %d\r\n\r\n", pipeHost, token, 3*parts)
			for range parts {
				time.Sleep(20 * time.Second)
				_, _ = io.WriteString(conn, "{}\n")
			}
		}()
		r := readReply(bufio.NewReader(conn), false)
		if want := fmt.Sprintf(`{"bytes":%d}`, 3*parts); r.status != 200 || r.body != want {
			t.Errorf("got %d %s (%v), want %s", r.status, r.body, r.err, want)
		}
	}, importRoute())
}

// A handler that works for minutes keeps its context, with a body and without,
// and its answer arrives.
func TestSlowHandlersAreNotCut(t *testing.T) {
	work := func(ctx context.Context) (*web.JSON[string], error) {
		select {
		case <-time.After(5 * time.Minute):
			return web.Reply("done"), nil
		case <-ctx.Done():
			return web.Reply("cut"), nil
		}
	}
	routes := []web.Route{
		web.Get("/api/slow", "Slow", func(ctx context.Context, _ *web.None) (*web.JSON[string], error) { return work(ctx) }),
		web.Post("/api/slow", "Slow", func(ctx context.Context, _ *smallInput) (*web.JSON[string], error) { return work(ctx) }),
		web.Delete("/api/slow", "Slow", func(ctx context.Context, _ *web.None) (*struct{}, error) { _, err := work(ctx); return nil, err }),
	}
	for _, tt := range []struct {
		request string
		status  int
		body    string
	}{
		{"GET /api/slow HTTP/1.1\r\n" + pipeHost + token + "\r\n\r\n", 200, `"done"`},
		{"POST /api/slow HTTP/1.1\r\n" + pipeHost + token + "\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{\"text\":\"x\"}", 200, `"done"`},
		{"DELETE /api/slow HTTP/1.1\r\n" + pipeHost + token + "\r\n\r\n", 204, ""},
	} {
		bubble(t, func(t *testing.T, ln *pipes) {
			conn := ln.dial()
			defer conn.Close()
			fmt.Fprint(conn, tt.request)
			r := readReply(bufio.NewReader(conn), false)
			if r.status != tt.status || strings.TrimSpace(r.body) != tt.body {
				t.Errorf("%.6s: got %d %s (%v), want %d %s", tt.request, r.status, r.body, r.err, tt.status, tt.body)
			}
		}, routes...)
	}
}

// An answer may come in parts for as long as it likes.
func TestLongAnswers(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 20 {
			time.Sleep(25 * time.Second)
			fmt.Fprint(w, "part ")
			_ = http.NewResponseController(w).Flush()
		}
	})
	for _, route := range []web.Route{web.Handle("/api/parts", "Parts", h, "GET"), web.Stream("/api/parts", "Parts", h)} {
		bubble(t, func(t *testing.T, ln *pipes) {
			conn := ln.dial()
			defer conn.Close()
			fmt.Fprint(conn, "GET /api/parts HTTP/1.1\r\n"+pipeHost+token+"\r\n\r\n")
			r := readReply(bufio.NewReader(conn), false)
			if r.err != nil || r.body != strings.Repeat("part ", 20) {
				t.Errorf("got %q (%v), want 20 parts", r.body, r.err)
			}
		}, route)
	}
}

// A reader who takes nothing of a long answer is cut after half a minute.
func TestStuckReaderOfALongAnswerIsCut(t *testing.T) {
	var gaveUp time.Duration
	route := web.Handle("/api/parts", "Parts", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		begin := time.Now()
		for {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				gaveUp = time.Since(begin)
				return
			}
		}
	}), "GET")
	bubble(t, func(t *testing.T, ln *pipes) {
		conn := ln.dial()
		defer conn.Close()
		fmt.Fprint(conn, "GET /api/parts HTTP/1.1\r\n"+pipeHost+token+"\r\n\r\n")
		time.Sleep(time.Minute)
		synctest.Wait()
		if gaveUp == 0 || gaveUp > 31*time.Second {
			t.Errorf("gave up after %v, want half a minute", gaveUp)
		}
	}, route)
}

func TestShutdownLetsRequestsEndAndEndsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began sync.WaitGroup
		began.Add(2)
		var streamEnded time.Duration
		handler, _ := web.New(config(), []web.Route{
			web.Get("/api/slow", "Slow", func(ctx context.Context, _ *web.None) (*web.JSON[string], error) {
				began.Done()
				select {
				case <-time.After(2 * time.Second):
					return web.Reply("done"), nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}),
			web.Stream("/api/events", "Follow", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				began.Done()
				begin := time.Now()
				<-r.Context().Done()
				streamEnded = time.Since(begin)
			})),
		})
		ln := newPipes()
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- (&web.Server{Handler: handler}).Serve(ctx, ln) }()
		slow, stream := ln.dial(), ln.dial()
		defer slow.Close()
		defer stream.Close()
		fmt.Fprint(slow, "GET /api/slow HTTP/1.1\r\n"+pipeHost+token+"\r\n\r\n")
		fmt.Fprint(stream, "GET /api/events HTTP/1.1\r\n"+pipeHost+token+"\r\n\r\n")
		go func() { _, _ = io.Copy(io.Discard, stream) }()
		began.Wait()
		stop()
		if r := readReply(bufio.NewReader(slow), false); r.status != 200 {
			t.Errorf("the request in flight: got %d (%v), want 200", r.status, r.err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if streamEnded != 0 {
			t.Errorf("the stream ended after %v, want at once", streamEnded)
		}
	})
}

// A request that does not end is cut after the grace, and its handler awaited.
func TestShutdownCutsAfterTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handlerEnded := false
		began := make(chan struct{})
		handler, _ := web.New(config(), []web.Route{
			web.Get("/api/stuck", "Stuck", func(ctx context.Context, _ *web.None) (*web.JSON[string], error) {
				close(began)
				<-ctx.Done()
				time.Sleep(time.Second)
				handlerEnded = true
				return nil, ctx.Err()
			}),
		})
		ln := newPipes()
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- (&web.Server{Handler: handler, Grace: 3 * time.Second}).Serve(ctx, ln) }()
		conn := ln.dial()
		defer conn.Close()
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		fmt.Fprint(conn, "GET /api/stuck HTTP/1.1\r\n"+pipeHost+token+"\r\n\r\n")
		<-began
		begin := time.Now()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took < 3*time.Second || took > 5*time.Second || !handlerEnded {
			t.Errorf("stopped after %v, handler ended %v; want some 4 s and true", took, handlerEnded)
		}
	})
}

func TestServeReportsABrokenListener(t *testing.T) {
	ln, err := web.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = ln.Close()
	if err := (&web.Server{Handler: http.NotFoundHandler()}).Serve(t.Context(), ln); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v, want net.ErrClosed", err)
	}
}

func TestListenIsLoopbackOnly(t *testing.T) {
	ln, err := web.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if addr := ln.Addr().(*net.TCPAddr); !addr.IP.Equal(net.IPv4(127, 0, 0, 1)) || addr.Port == 0 {
		t.Errorf("listens on %v", addr)
	}
}

// A flood of half-open connections leaves the API usable; one beyond every
// limit waits for the first of them to be cut.
func TestHalfOpenConnections(t *testing.T) {
	t.Parallel()
	s := start(t, echoRoute())
	open := func(n int) (close func()) {
		var conns []net.Conn
		for range n {
			conn, err := net.Dial("tcp", s.addr)
			if err != nil {
				t.Fatal(err)
			}
			conns = append(conns, conn)
			fmt.Fprintf(conn, "POST /api/echo/x HTTP/1.1\r\nHost: %s\r\nX-", s.addr)
		}
		return func() {
			for _, conn := range conns {
				_ = conn.Close()
			}
		}
	}
	closeSome := open(200)
	s.send("GET", "/api/health", "").want(t, 200, "")
	closeMore := open(web.MaxConnections)
	s.send("GET", "/api/health", "").want(t, 200, "")
	closeSome()
	closeMore()
}

// Beside fewer of them nobody waits at all.
func TestNobodyWaitsForHalfOpenConnections(t *testing.T) {
	bubble(t, func(t *testing.T, ln *pipes) {
		for range 200 {
			conn := ln.dial()
			defer conn.Close()
			fmt.Fprintf(conn, "GET /api/health HTTP/1.1\r\n%sX-", pipeHost)
		}
		begin, conn := time.Now(), ln.dial()
		defer conn.Close()
		fmt.Fprintf(conn, "GET /api/health HTTP/1.1\r\n%s\r\n", pipeHost)
		if r := readReply(bufio.NewReader(conn), false); r.status != 200 || time.Since(begin) > 0 {
			t.Errorf("after %v got %d, %v", time.Since(begin), r.status, r.err)
		}
	})
}

func TestManyRequestsAtOnceAreAnswered(t *testing.T) {
	s := start(t, listRoute())
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() { s.do("GET", "/api/list", "").want(t, 200, "") })
	}
	wg.Wait()
}

// Requests that hang up halfway reach no handler and leave nothing behind.
func TestHangUpsLeaveNothingBehind(t *testing.T) {
	reached := false
	s := start(t, web.Post("/api/add", "Add", func(context.Context, *smallInput) (*web.JSON[bool], error) {
		reached = true
		return web.Reply(true), nil
	}))
	for i := range 50 {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST /api/add HTTP/1.1\r\nHost: %s\r\n%s\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{\"text\":\"half", s.addr, token)
		if i%2 == 0 {
			_ = conn.(*net.TCPConn).SetLinger(0)
		}
		_ = conn.Close()
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if reached {
		t.Error("half a body reached the handler")
	}
}

// A caller who leaves is no failure of ours, however the work that was begun for
// it ends.
func TestACallerWhoHungUpIsLoggedAsThat(t *testing.T) {
	began, left := make(chan struct{}), make(chan struct{})
	leave := func(ctx context.Context, err error) error {
		began <- struct{}{}
		<-ctx.Done()
		left <- struct{}{}
		return err
	}
	s := start(
		t,
		web.Get("/api/cancelled", "", func(ctx context.Context, _ *web.None) (*web.JSON[bool], error) {
			return nil, leave(ctx, fmt.Errorf("search: %w", context.Canceled))
		}),
		web.Get("/api/interrupted", "", func(ctx context.Context, _ *web.None) (*web.JSON[bool], error) {
			return nil, leave(ctx, errors.New("interrupted"))
		}),
		web.Handle("/api/plain", "", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			web.WriteError(w, r, leave(r.Context(), ambry.UpstreamFailed.Errorf("gone")))
		}), "GET"),
		web.Get("/api/fails", "", func(context.Context, *web.None) (*web.JSON[bool], error) { return nil, errors.New("a fault") }),
	)
	for _, path := range []string{"/api/cancelled", "/api/interrupted", "/api/plain"} {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n\r\n", path, s.addr, token)
		<-began
		_ = conn.Close()
		<-left
	}
	s.do("GET", "/api/fails", "").want(t, 500, "internal")
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	for _, path := range []string{"/api/cancelled", "/api/interrupted", "/api/plain"} {
		s.wantLog(true, "level=DEBUG msg=request route="+path+" method=GET status=499")
	}
	s.wantLog(true, "level=ERROR msg=request route=/api/fails method=GET status=500")
	if n := strings.Count(s.log.String(), "level=ERROR"); n != 1 {
		t.Errorf("%d errors are logged, want 1:\n%s", n, s.log)
	}
}

func TestOversizedHeadersAreRefused(t *testing.T) {
	s := start(t, listRoute())
	big := strings.Repeat("a", 1<<20)
	for name, r := range map[string]reply{
		"path":         s.do("GET", "/api/"+big, ""),
		"query":        s.do("GET", "/api/list?q="+big, ""),
		"header":       s.do("GET", "/api/list", "", "X-Big: "+big),
		"many headers": s.do("GET", "/api/list", "", strings.TrimSuffix(strings.Repeat("X-N: 1\r\n", 20000), "\r\n")),
	} {
		if r.status != 431 && r.status != 400 && r.status != 0 {
			t.Errorf("%s: got %d, want a refusal", name, r.status)
		}
	}
}
