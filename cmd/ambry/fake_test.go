package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ambry.dev/ambry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service is a service of a few answers, by method and path, which keeps what
// it was asked. An answer is an [ambry.Error], events, or what goes out as JSON.
type service struct {
	t       *testing.T
	home    string
	answers map[string]any
	mu      sync.Mutex // requests are answered one after the other
	asked   []string
}

var day = time.Date(2026, 5, 1, 10, 22, 0, 0, time.UTC)

// fakeService runs a service in a home of its own.
func fakeService(t *testing.T, answers map[string]any) *service {
	t.Helper()
	s := &service{t: t, home: t.TempDir(), answers: map[string]any{
		"GET /api/app/bootstrap": ambry.Bootstrap{
			Version:    version,
			Onboarding: ambry.Onboarding{ScanPermission: ambry.PermissionScan},
			Health:     ambry.Health{LocalAPI: ambry.HealthOK, Memory: ambry.HealthOK, Cloud: ambry.HealthOff},
		},
	}}
	for route, a := range answers {
		s.answers[route] = a
	}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	data, err := json.Marshal(ambry.RuntimeFile{
		Schema: 1, PID: 42, Version: version, StartedAt: time.Now(), BaseURL: srv.URL, LocalToken: "t",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.home, "runtime.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// ServeHTTP answers.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	route := r.Method + " " + r.URL.Path
	s.asked = append(s.asked, strings.TrimSpace(route+" "+string(body)))
	answer, ok := s.answers[route]
	if f, isFunc := answer.(func() any); isFunc {
		answer = f()
	}
	if !ok {
		answer = ambry.NotFound.Errorf("no route %s", route)
	}
	if e, bad := answer.(*ambry.Error); bad {
		w.WriteHeader(e.Kind.Status())
		answer = map[string]any{"error": map[string]any{"code": e.Kind, "message": e.Message, "details": e.Details}}
	}
	if events, ok := answer.([]ambry.Event); ok {
		for _, e := range events {
			data, _ := json.Marshal(e)
			fmt.Fprintf(w, "data: %s\n\n", data)
		}
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// sent returns the requests to a route, with their bodies.
func (s *service) sent(route string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, a := range s.asked {
		if strings.HasPrefix(a, route) {
			all = append(all, a)
		}
	}
	return all
}

// outcome is how a command ended.
type outcome struct {
	code     int
	out, err string
}

// ambryIn runs a command with the given home.
func ambryIn(t *testing.T, home string, args ...string) outcome {
	t.Helper()
	return ambryWith(t.Context(), t, "", append(args, "--home", home)...)
}

func ambryWith(ctx context.Context, t *testing.T, in string, args ...string) outcome {
	t.Helper()
	var out, err bytes.Buffer
	code := run(ctx, args, func(string) string { return "" }, stdio{strings.NewReader(in), &out, &err})
	return outcome{code, out.String(), err.String()}
}

// check fails the test unless the command ended with code and said all of want,
// on either stream.
func (o outcome) check(t *testing.T, code int, want ...string) {
	t.Helper()
	if o.code != code {
		t.Errorf("got exit code %d, want %d", o.code, code)
	}
	for _, w := range want {
		if !strings.Contains(o.out+o.err, w) {
			t.Errorf("%q is missing", w)
		}
	}
	if t.Failed() {
		t.Logf("stdout:\n%s\nstderr:\n%s", o.out, o.err)
	}
}
