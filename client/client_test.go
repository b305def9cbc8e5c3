package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"ambry.dev/ambry"
	"ambry.dev/ambry/client"
)

const token = "local-token-of-a-test"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve answers with h on a real socket, and returns a client of it.
func serve(t *testing.T, h http.HandlerFunc) *client.Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c, err := client.New(srv.URL, token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func answer(body any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(body) }
}

func TestNewRefuses(t *testing.T) {
	for name, base := range map[string]string{
		"another machine":         "http://192.0.2.1:80",
		"a name":                  "http://localhost:80",
		"a name that begins well": "http://127.0.0.1.example.com:80",
		"a person":                "http://127.0.0.1:80@example.com:80",
		"a password":              "http://a:b@127.0.0.1:80",
		"TLS":                     "https://127.0.0.1:80",
		"no port":                 "http://127.0.0.1",
		"another scheme":          "file:///127.0.0.1:80",
		"nothing":                 "",
		"noise":                   "http://127.0.0.1:80\n",
	} {
		if _, err := client.New(base, token); err == nil {
			t.Errorf("%s: %q was accepted", name, base)
		}
	}
}

func TestRequests(t *testing.T) {
	scan := ambry.ScanRequest{SourceID: "codex", Mode: ambry.Full}
	note := ambry.Note{Content: "remember this"}
	permission := ambry.PermissionScan
	tests := []struct {
		name   string
		call   func(context.Context, *client.Client) error
		want   string
		header string
	}{
		{
			"bootstrap", func(ctx context.Context, c *client.Client) error { _, err := c.Bootstrap(ctx); return err },
			"GET /api/app/bootstrap ", "",
		},
		{"onboarding", func(ctx context.Context, c *client.Client) error {
			_, err := c.PatchOnboarding(ctx, ambry.OnboardingPatch{ScanPermission: &permission})
			return err
		}, `PATCH /api/app/onboarding {"scanPermission":"scan_only"}`, ""},
		{"settings", func(ctx context.Context, c *client.Client) error {
			theme := "dark"
			_, err := c.PatchSettings(ctx, ambry.AppSettingsPatch{Theme: &theme})
			return err
		}, `PATCH /api/app/settings {"theme":"dark"}`, ""},
		{"privacy", func(ctx context.Context, c *client.Client) error {
			_, err := c.PatchPrivacy(ctx, ambry.PrivacyPatch{LocalOnlyMode: new(bool)})
			return err
		}, `PATCH /api/app/privacy {"localOnlyMode":false}`, ""},
		{"scan preferences", func(ctx context.Context, c *client.Client) error {
			_, err := c.PatchScanPreferences(ctx, ambry.ScanPreferencesPatch{WatchFileChanges: new(bool)})
			return err
		}, `PATCH /api/app/scan-preferences {"watchFileChanges":false}`, ""},
		{
			"scan", func(ctx context.Context, c *client.Client) error { _, err := c.Scan(ctx, scan); return err },
			`POST /api/agent-sources/scan {"sourceId":"codex","mode":"full"}`, "",
		},
		{
			"scan status", func(ctx context.Context, c *client.Client) error { _, err := c.ScanStatus(ctx); return err },
			"GET /api/agent-sources/scan/status ", "",
		},
		{
			"stop", func(ctx context.Context, c *client.Client) error { return c.StopScan(ctx) },
			"POST /api/agent-sources/scan/stop ", "",
		},
		{"search", func(ctx context.Context, c *client.Client) error {
			_, err := c.Search(ctx, ambry.Query{Query: "mutex", Limit: 3})
			return err
		}, `POST /api/v1/memory/search {"query":"mutex","limit":3}`, ""},
		{
			"get", func(ctx context.Context, c *client.Client) error { _, err := c.Get(ctx, "tr_1"); return err },
			"GET /api/v1/memory/tr_1 ", "",
		},
		{
			"an id is one part of the path", func(ctx context.Context, c *client.Client) error { _, err := c.Get(ctx, "../a?b/c"); return err },
			"GET /api/v1/memory/..%2Fa%3Fb%2Fc ", "",
		},
		{
			"source", func(ctx context.Context, c *client.Client) error { _, err := c.Source(ctx, "tr_1"); return err },
			"GET /api/v1/memory/tr_1/source ", "",
		},
		{
			"add", func(ctx context.Context, c *client.Client) error { _, err := c.Add(ctx, note, "key-1"); return err },
			`POST /api/v1/memory/add {"content":"remember this"}`, "key-1",
		},
		{
			"forget", func(ctx context.Context, c *client.Client) error {
				_, err := c.Forget(ctx, "tr_1", "key-2")
				return err
			},
			"DELETE /api/v1/memory/tr_1 ", "key-2",
		},
		{"sessions", func(ctx context.Context, c *client.Client) error {
			_, err := c.Sessions(ctx, ambry.SessionsQuery{Agent: "codex", Project: "/a b", Page: 2})
			return err
		}, "GET /api/v1/panel/sessions?page=2&project=%2Fa+b&sourceAgent=codex ", ""},
		{"the first sessions", func(ctx context.Context, c *client.Client) error {
			_, err := c.Sessions(ctx, ambry.SessionsQuery{})
			return err
		}, "GET /api/v1/panel/sessions ", ""},
		{
			"transcript", func(ctx context.Context, c *client.Client) error { _, err := c.Transcript(ctx, "s?1", 3); return err },
			"GET /api/v1/panel/sessions/s%3F1?page=3 ", "",
		},
		{
			"overview", func(ctx context.Context, c *client.Client) error { _, err := c.Overview(ctx); return err },
			"GET /api/v1/panel/overview ", "",
		},
		{
			"memory health", func(ctx context.Context, c *client.Client) error { _, err := c.MemoryHealth(ctx); return err },
			"GET /api/v1/health ", "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if got := r.Method + " " + r.URL.RequestURI() + " " + string(body); got != tt.want {
					t.Errorf("got request %s, want %s", got, tt.want)
				}
				if got := r.Header.Values(ambry.LocalTokenHeader); len(got) != 1 || got[0] != token {
					t.Errorf("got tokens %q", got)
				}
				if got := r.Header.Get("Idempotency-Key"); got != tt.header {
					t.Errorf("got key %q, want %q", got, tt.header)
				}
				if ct := r.Header.Get("Content-Type"); (ct == "application/json") != (len(body) > 0) {
					t.Errorf("got content type %q for %q", ct, body)
				}
				_, _ = io.WriteString(w, "{}")
			})
			if err := tt.call(t.Context(), c); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAnErrorKeepsItsKind(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"type":"about:blank","status":409,"error":{"code":"conflict","message":"a scan of codex is running",
			"details":[{"field":"body.mode","message":"no"}]},"jobId":"job-1"}`)
	})
	_, err := c.Scan(t.Context(), ambry.ScanRequest{})
	e, ok := errors.AsType[*ambry.Error](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	want := &ambry.Error{
		Kind: ambry.Conflict, Message: "a scan of codex is running", RetryAfter: 7,
		Details: []ambry.Field{{Field: "body.mode", Message: "no"}}, Extra: map[string]any{"jobId": "job-1"},
	}
	if diff := cmp.Diff(want, e, cmpopts.IgnoreUnexported(ambry.Error{})); diff != "" {
		t.Error(diff)
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	tests := []struct {
		name, body string
		status     int
	}{
		{"a page of somebody else", "<html>", 404},
		{"a code that nobody knows", `{"error":{"code":"fun","message":"x"}}`, 418},
		{"an answer that is not JSON", "hello", 200},
		{"no answer", "", 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			if _, err := c.Bootstrap(t.Context()); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the request went elsewhere, with token %q", r.Header.Get(ambry.LocalTokenHeader))
	}))
	defer elsewhere.Close()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	})
	if _, err := c.Bootstrap(t.Context()); err == nil {
		t.Error("a redirect is not an answer")
	}
	for _, err := range c.Events(t.Context(), "") {
		if err == nil {
			t.Error("a redirect is not an event")
		}
	}
}

func TestNoProxyIsUsed(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://192.0.2.1:1")
	t.Setenv("http_proxy", "http://192.0.2.1:1")
	t.Setenv("NO_PROXY", "")
	c := serve(t, answer(ambry.Bootstrap{Version: "1"}))
	b, err := c.Bootstrap(t.Context())
	if err != nil || b.Version != "1" {
		t.Errorf("got %q, %v", b.Version, err)
	}
}

func TestAServiceThatIsGone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New("http://"+l.Addr().String(), token)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	l.Close()
	if _, err := c.Bootstrap(t.Context()); !errors.Is(err, client.ErrNotRunning) {
		t.Errorf("nobody listens: got %v", err)
	}
	dying := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"version":`)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	if _, err := dying.Bootstrap(t.Context()); !errors.Is(err, client.ErrNotRunning) {
		t.Errorf("it died within an answer: got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	slow := serve(t, func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
	if _, err := slow.Bootstrap(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the caller stopped: got %v", err)
	}
}

func TestFind(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(ambry.LocalTokenHeader) != token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		answer(ambry.Bootstrap{})(w, r)
	}))
	defer srv.Close()
	running := ambry.RuntimeFile{Schema: 1, PID: 42, BaseURL: srv.URL, LocalToken: token}
	change := func(f func(*ambry.RuntimeFile)) string {
		rt := running
		f(&rt)
		data, err := json.Marshal(rt)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	find := func(t *testing.T, content string) (ambry.RuntimeFile, error) {
		home := t.TempDir()
		if err := os.WriteFile(filepath.Join(home, "runtime.json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		c, rt, err := client.Find(t.Context(), home)
		if err == nil {
			c.Close()
		}
		return rt, err
	}

	t.Run("running", func(t *testing.T) {
		rt, err := find(t, change(func(*ambry.RuntimeFile) {}))
		if err != nil || rt.PID != 42 {
			t.Errorf("got pid %d, %v", rt.PID, err)
		}
	})
	t.Run("no file", func(t *testing.T) {
		if _, _, err := client.Find(t.Context(), t.TempDir()); !errors.Is(err, client.ErrNotRunning) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a file that cannot be read is told", func(t *testing.T) {
		home := t.TempDir()
		if err := os.Mkdir(filepath.Join(home, "runtime.json"), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, _, err := client.Find(t.Context(), home); err == nil || errors.Is(err, client.ErrNotRunning) {
			t.Errorf("got %v", err)
		}
	})
	for name, content := range map[string]string{
		"the token of an earlier start": change(func(rt *ambry.RuntimeFile) { rt.LocalToken = "old" }),
		"nobody there":                  change(func(rt *ambry.RuntimeFile) { rt.BaseURL = "http://127.0.0.1:1" }),
		"another machine":               change(func(rt *ambry.RuntimeFile) { rt.BaseURL = "http://192.0.2.1:80" }),
		"another schema":                change(func(rt *ambry.RuntimeFile) { rt.Schema = 2 }),
		"an empty file":                 "",
		"half a file":                   `{"schema":1,"baseUrl":"http`,
		"noise":                         "\x00\xff",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := find(t, content); !errors.Is(err, client.ErrNotRunning) {
				t.Errorf("got %v, want ErrNotRunning", err)
			}
		})
	}
}

func TestWaitMemory(t *testing.T) {
	states := []ambry.HealthState{ambry.HealthStarting, ambry.HealthUnavailable, ambry.HealthOK}
	asked := 0
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		answer(ambry.Bootstrap{Health: ambry.Health{Memory: states[min(asked, len(states)-1)]}})(w, r)
		asked++
	})
	if err := c.WaitMemory(t.Context()); err != nil || asked != 3 {
		t.Errorf("got %v after %d questions, want none after 3", err, asked)
	}

	failed := serve(t, answer(ambry.Bootstrap{Health: ambry.Health{Memory: ambry.HealthFailed, MemoryReason: "disk on fire"}}))
	err := failed.WaitMemory(t.Context())
	if ambry.KindOf(err) != ambry.MemoryUnavailable || !strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("got %v", err)
	}

	starting := serve(t, answer(ambry.Bootstrap{Health: ambry.Health{Memory: ambry.HealthStarting}}))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := starting.WaitMemory(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
