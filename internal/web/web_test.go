package web_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/web"
)

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

func TestTypeOfAProblemIsOneTheCallerKnows(t *testing.T) {
	s := start(t)
	for _, tt := range []struct{ accept, want string }{
		{"", "application/json"},
		{"Accept: application/json", "application/json"},
		{"Accept: application/json, text/event-stream", "application/json"},
		{"Accept: */*", "application/problem+json"},
		{"Accept: application/*;q=0.5", "application/problem+json"},
		{"Accept: application/json, application/problem+json", "application/problem+json"},
	} {
		var headers []string
		if tt.accept != "" {
			headers = append(headers, tt.accept)
		}
		r := s.do("GET", "/api/unknown", "", headers...)
		r.want(t, 404, "not_found")
		if got := r.header.Get("Content-Type"); got != tt.want {
			t.Errorf("with %q the type is %s, want %s", tt.accept, got, tt.want)
		}
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
