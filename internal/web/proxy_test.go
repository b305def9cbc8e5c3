package web_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/web"
)

// proxied is a server that forwards /api/v1/memory/ to a runtime of the test.
func proxied(t *testing.T, runtime http.HandlerFunc, change ...func(*web.ProxyConfig)) *server {
	upstream := httptest.NewServer(runtime)
	t.Cleanup(upstream.Close)
	base, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	return forwarding(t, base, change...)
}

func forwarding(t *testing.T, base *url.URL, change ...func(*web.ProxyConfig)) *server {
	cfg := web.ProxyConfig{
		Target:      func() (*url.URL, string, error) { return base, "runtime-token", nil },
		DialContext: new(net.Dialer).DialContext,
	}
	for _, f := range change {
		f(&cfg)
	}
	proxy := web.NewProxy(cfg)
	t.Cleanup(proxy.Close)
	return start(t, web.Proxy("/api/v1/memory/", "The memory runtime", proxy), web.Proxy("/api/v1/panel/", "The memory runtime", proxy))
}

func answerJSON(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, body)
}

func TestProxyForwards(t *testing.T) {
	var got *http.Request
	var body string
	s := proxied(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		got, body = r, string(data)
		w.Header().Set("ETag", `"7"`)
		w.Header().Set("Idempotent-Replayed", "true")
		answerJSON(w, `{"ok":true}`)
	})
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "REPORT"} {
		r := s.do(method, "/api/v1/memory/a%20b/%E4%BD%A0?q=x%26y&a=2&q=z", `{"query":"x"}`,
			"Accept: application/json", `If-None-Match: "6"`, "Idempotency-Key: k1", "Last-Event-ID: e1-5", "x-request-id: r1")
		r.want(t, 200, "")
		if got.Method != method || got.RequestURI != "/api/v1/memory/a%20b/%E4%BD%A0?a=2&q=x%26y&q=z" || body != `{"query":"x"}` {
			t.Errorf("the runtime got %s %s %s", got.Method, got.RequestURI, body)
		}
		want := http.Header{
			"Accept": {"application/json", "application/problem+json"}, "If-None-Match": {`"6"`}, "Idempotency-Key": {"k1"}, "Last-Event-Id": {"e1-5"}, "X-Request-Id": {"r1"},
			"Content-Type": {"application/json"}, "Content-Length": {"13"}, "Authorization": {"Bearer runtime-token"},
		}
		if fmt.Sprint(got.Header) != fmt.Sprint(want) {
			t.Errorf("%s: the runtime got headers\n%v, want\n%v", method, got.Header, want)
		}
		if r.body != `{"ok":true}` || r.header.Get("ETag") != `"7"` || r.header.Get("Idempotent-Replayed") != "true" || r.header.Get("X-Request-Id") != "r1" {
			t.Errorf("got %s %v", r.body, r.header)
		}
	}
	if head := s.do("HEAD", "/api/v1/panel/items", ""); head.status != 200 || got.Method != "HEAD" {
		t.Errorf("HEAD: got %d, the runtime %s", head.status, got.Method)
	}
}

// What a caller may not say to the runtime, and the runtime not to a page.
func TestProxyStripsCredentialsAndHops(t *testing.T) {
	var got *http.Request
	s := proxied(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		h := w.Header()
		for name, value := range map[string]string{
			"Access-Control-Allow-Origin": "*", "Set-Cookie": "a=b", "X-Hop": "1", "Connection": "X-Hop", "Server": "x/1.2", "X-Powered-By": "x",
			"Location": "http://evil.example", "Cache-Control": "public", "X-Request-Id": "forged", "Trailer": "X-Late", "Content-Type": "application/json",
			"Content-Security-Policy": "default-src *", "Link": "</x>; rel=preload", "Refresh": "0;url=http://evil.example",
		} {
			h.Set(name, value)
		}
		w.WriteHeader(http.StatusEarlyHints)
		_, _ = io.WriteString(w, "{}")
		h.Set("X-Late", "1")
		h.Set(http.TrailerPrefix+"X-Later", "1")
	})
	chosen := "client-chosen"
	r := s.do("GET", "/api/v1/panel/overview?token="+secret, "", ambry.MCPTokenHeader+": "+chosen, "Authorization: Bearer "+chosen, "X-API-Key: "+chosen,
		"Cookie: a="+chosen, "X-App-User-Id: "+chosen, "X-Forwarded-For: "+chosen, "X-Forwarded-Host: "+chosen, "Forwarded: for="+chosen, "TE: trailers",
		"Proxy-Authorization: "+chosen, "Origin: "+panel, "User-Agent: "+chosen, "Referer: http://"+chosen, "Upgrade: websocket", "Connection: upgrade", "x-request-id: r2", "Accept-Encoding: gzip")
	r.want(t, 200, "")
	want := http.Header{"X-Request-Id": {"r2"}, "Accept": {"application/problem+json"}, "Authorization": {"Bearer runtime-token"}}
	if fmt.Sprint(got.Header) != fmt.Sprint(want) {
		t.Errorf("the runtime got headers\n%v, want\n%v", got.Header, want)
	}
	for _, name := range []string{"Set-Cookie", "X-Hop", "Server", "X-Powered-By", "Location", "Link", "Trailer", "X-Late", "X-Later", "Refresh"} {
		if v := r.header.Get(name); v != "" {
			t.Errorf("%s: %s reaches the caller", name, v)
		}
	}
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin": panel, "Cache-Control": "no-store", "Content-Security-Policy": "default-src 'none'", "X-Request-Id": "r2",
	} {
		if v := r.header.Values(name); len(v) != 1 || v[0] != want {
			t.Errorf("%s: got %v, want %s", name, v, want)
		}
	}
}

func TestProxyPassesProblemsThrough(t *testing.T) {
	const body = `{"type":"about:blank","title":"Not Found","status":404,"detail":"no such memory","error":{"code":"not_found","message":"no such memory","requestId":"r3"}}`
	s := proxied(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.Header().Set("Retry-After", "3")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, body)
	})
	r := s.do("GET", "/api/v1/memory/x", "", "x-request-id: r3")
	r.want(t, 404, "not_found")
	if r.body != body || r.header.Get("Retry-After") != "3" {
		t.Errorf("got %s, Retry-After %q; want the very problem", r.body, r.header.Get("Retry-After"))
	}
}

func TestProxyTellsWhatIsWrongWithTheRuntime(t *testing.T) {
	cause := errors.New("dial tcp 127.0.0.1:99: refused")
	tests := []struct {
		name    string
		runtime http.HandlerFunc
		target  error
		status  int
		code    string
	}{
		{"starting", nil, &ambry.Error{Kind: ambry.MemoryUnavailable, Message: "the memory is starting", RetryAfter: 1}, 503, "memory_unavailable"},
		{"failed", nil, ambry.MemoryUnavailable.Wrap(cause, "the memory keeps failing"), 503, "memory_unavailable"},
		{"hangs up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil, 502, "upstream_failed"},
		{"speaks no HTTP", hijack("SSH-2.0-x\r\n\r\n"), nil, 502, "upstream_failed"},
		{"answers HTML", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>stranger") }, nil, 502, "upstream_failed"},
		{"answers nothing of a kind", func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			_, _ = io.WriteString(w, "x")
		}, nil, 502, "upstream_failed"},
		{"fails in plain text", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "/home/x", 500) }, nil, 502, "upstream_failed"},
		{"refuses our token", func(w http.ResponseWriter, r *http.Request) {
			web.WriteError(w, r, ambry.Unauthorized.Errorf("no"))
		}, nil, 502, "upstream_failed"},
		{"redirects", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://evil.example", http.StatusFound)
		}, nil, 502, "upstream_failed"},
		{"switches protocols", hijack("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"), nil, 502, "upstream_failed"},
		{"sends endless headers", hijack("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20)), nil, 502, "upstream_failed"},
		{"is slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, nil, 504, "memory_timeout"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			runtime := tt.runtime
			if runtime == nil {
				runtime = func(http.ResponseWriter, *http.Request) { t.Error("the runtime was called") }
			}
			s := proxied(t, runtime, func(cfg *web.ProxyConfig) {
				if tt.name == "is slow" {
					cfg.Headers = 200 * time.Millisecond
				}
				if tt.target != nil {
					cfg.Target = func() (*url.URL, string, error) { return nil, "", tt.target }
				}
			})
			r := s.do("GET", "/api/v1/panel/overview", "")
			r.want(t, tt.status, tt.code)
			for _, leak := range []string{"127.0.0.1", "dial", "/home", "evil", "html"} {
				if strings.Contains(r.body, leak) {
					t.Errorf("the answer shows %q: %s", leak, r.body)
				}
			}
			if tt.name == "starting" && r.header.Get("Retry-After") != "1" {
				t.Error("no Retry-After")
			}
		})
	}
}

// hijack answers with raw bytes and hangs up.
func hijack(wire string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(conn, wire)
		_ = conn.Close()
	}
}

func TestProxyToNobodyIs502(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base := &url.URL{Scheme: "http", Host: ln.Addr().String()}
	_ = ln.Close()
	s := forwarding(t, base)
	r := s.do("POST", "/api/v1/memory/search", `{"query":"x"}`)
	r.want(t, 502, "upstream_failed")
	if strings.Contains(r.body, "127.0.0.1") {
		t.Errorf("the answer shows the address: %s", r.body)
	}
	s.wantLog(true, base.Host)
}

// An answer that breaks off does not pass as whole, announced length or not.
func TestProxyCutsABrokenAnswer(t *testing.T) {
	for name, length := range map[string]string{"announced": "1000", "chunked": ""} {
		t.Run(name, func(t *testing.T) {
			s := proxied(t, func(w http.ResponseWriter, _ *http.Request) {
				if length != "" {
					w.Header().Set("Content-Length", length)
				}
				answerJSON(w, `{"hits":[]}`)
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			})
			if r := s.do("POST", "/api/v1/memory/search", `{"query":"x"}`); r.err == nil {
				t.Errorf("passed as whole: %d %q", r.status, r.body)
			}
		})
	}
}

func TestProxyStreamsBothWays(t *testing.T) {
	s := proxied(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		control := http.NewResponseController(w)
		_ = control.EnableFullDuplex()
		lines := bufio.NewScanner(r.Body)
		for lines.Scan() {
			fmt.Fprintf(w, "%s!\n", lines.Text())
			_ = control.Flush()
		}
	})
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(conn, "POST /api/v1/memory/import HTTP/1.1\r\nHost: %s\r\n%s\r\nContent-Type: application/x-ndjson\r\n%s\r\n\r\n", s.addr, token, chunked)
	send := func(text string) { fmt.Fprintf(conn, "%x\r\n%s\r\n", len(text), text) }
	send("one\n")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	br := bufio.NewReader(res.Body)
	for _, next := range []string{"two\n", "three\n", ""} {
		if line, err := br.ReadString('\n'); err != nil || !strings.HasSuffix(line, "!\n") {
			t.Fatalf("got %q, %v", line, err)
		}
		send(next)
		if next == "" {
			fmt.Fprint(conn, "\r\n")
		}
	}
	if _, err := br.ReadByte(); err != io.EOF {
		t.Errorf("got %v, want the end", err)
	}
}

func TestProxyCancelsWithTheCaller(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	s := proxied(t, func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
		close(ended)
	})
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET /api/v1/panel/overview HTTP/1.1\r\nHost: %s\r\n%s\r\n\r\n", s.addr, token)
	<-began
	_ = conn.Close()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the runtime still works for a caller who hung up")
	}
	s.wantLog(false, "level=ERROR")
}

// A request that may not be repeated reaches the runtime once, even if the
// connection that it was sent on breaks.
func TestProxyNeverRepeatsAnUnsafeRequest(t *testing.T) {
	var calls atomic.Int32
	s := proxied(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			answerJSON(w, "{}")
			return
		}
		calls.Add(1)
		_, _ = io.ReadAll(r.Body)
		panic(http.ErrAbortHandler)
	})
	for _, request := range []struct{ method, body string }{{"POST", `{"content":"x"}`}, {"DELETE", ""}, {"PATCH", "{}"}, {"POST", ""}} {
		calls.Store(0)
		s.do("GET", "/api/v1/panel/overview", "").want(t, 200, "") // leaves a connection to be reused
		s.do(request.method, "/api/v1/memory/x", request.body).want(t, 502, "upstream_failed")
		if n := calls.Load(); n != 1 {
			t.Errorf("%s with %q was sent %d times", request.method, request.body, n)
		}
	}
}

// A request with a key may be repeated: when a connection that waited for reuse
// turns out to be dead, the caller does not see it.
func TestProxyRepeatsAKeyedRequest(t *testing.T) {
	var calls atomic.Int32
	s := proxied(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodPost && calls.Add(1) == 1 {
			panic(http.ErrAbortHandler)
		}
		answerJSON(w, string(data))
	})
	s.do("GET", "/api/v1/panel/overview", "") // leaves a connection to be reused
	if r := s.do("POST", "/api/v1/memory/add", `{"content":"x"}`, "Idempotency-Key: k1"); r.status != 200 || r.body != `{"content":"x"}` || calls.Load() != 2 {
		t.Errorf("got %d %s after %d calls, want the echo after 2", r.status, r.body, calls.Load())
	}
}

func TestProxyLimitsTheQuery(t *testing.T) {
	s := proxied(t, func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, "{}") })
	s.do("GET", "/api/v1/panel/items?"+strings.Repeat("a=1&", 63)+"b=1", "").want(t, 200, "")
	for _, query := range []string{strings.Repeat("a=1&", 64) + "b=1", "q=" + strings.Repeat("x", 9000), "a;b", "a=%zz"} {
		s.do("GET", "/api/v1/panel/items?"+query, "").want(t, 400, "invalid_argument")
	}
}

// A body that breaks off on its way in is the caller's failure.
func TestProxyBlamesTheCallerForABrokenBody(t *testing.T) {
	s := proxied(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		answerJSON(w, "{}")
	})
	lines := "Content-Type: application/x-ndjson"
	s.do("POST", "/api/v1/memory/import", "zz\r\n{}\r\n0\r\n\r\n", lines, chunked).want(t, 400, "invalid_argument")
	s.do("POST", "/api/v1/memory/import", "3\r\n{}\n\r\nzz\r\n", lines, chunked).want(t, 400, "invalid_argument")
}

// A runtime that answers before it has the whole body, and closes, is heard.
func TestProxyPassesAnEarlyAnswer(t *testing.T) {
	s := proxied(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusInsufficientStorage)
		_, _ = io.WriteString(w, `{"status":507}`)
	})
	r := s.do("POST", "/api/v1/memory/import", strings.Repeat("{}\n", 100_000), "Content-Type: application/x-ndjson")
	if r.status != 507 {
		t.Errorf("got %d %s, want 507", r.status, r.body)
	}
}

func TestProxyUnderLoad(t *testing.T) {
	s := proxied(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		answerJSON(w, string(data))
	})
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			body := fmt.Sprintf(`{"n":%d}`, i)
			if r := s.do("POST", "/api/v1/memory/search", body); r.status != 200 || r.body != body {
				t.Errorf("got %d %s, want %s", r.status, r.body, body)
			}
		})
	}
	wg.Wait()
}

// The proxy finds the runtime anew for each request: it may have restarted.
func TestProxyFollowsTheTarget(t *testing.T) {
	var current atomic.Pointer[url.URL]
	s := proxied(t, nil, func(cfg *web.ProxyConfig) {
		cfg.Target = func() (*url.URL, string, error) { return current.Load(), "", nil }
	})
	for _, name := range []string{"first", "second"} {
		upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answerJSON(w, name+" "+r.URL.Path)
		}))
		defer upstream.Close()
		base, err := url.Parse(upstream.URL + "/base/")
		if err != nil {
			t.Fatal(err)
		}
		current.Store(base)
		if r := s.do("GET", "/api/v1/panel/items", ""); r.body != name+" /base/api/v1/panel/items" {
			t.Errorf("got %s, want the %s", r.body, name)
		}
	}
}
