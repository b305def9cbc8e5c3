package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/engine"
	"ambry.dev/ambry/internal/memory/host"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/redact"
	"ambry.dev/ambry/internal/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "test"

// hosted is a memory behind HTTP.
type hosted struct {
	t    *testing.T
	base string
}

func serve(t *testing.T, m host.Memory) *hosted {
	t.Helper()
	ln, err := web.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	handler, _ := web.New(web.Config{Token: web.Token{Header: "Authorization", Scheme: "Bearer", Secret: token}}, host.Routes(m))
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- (&web.Server{Handler: handler}).Serve(ctx, ln) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return &hosted{t, "http://" + ln.Addr().String()}
}

// real is the memory that Ambry has.
func real(t *testing.T) host.Memory {
	t.Helper()
	st, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "memory.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine.New(engine.Config{Store: st})
}

// recorder is a memory that keeps what was imported, until it fails.
type recorder struct {
	host.Memory
	mu      sync.Mutex
	batches [][]redact.Conversation
	fail    error
}

func (r *recorder) Import(_ context.Context, cs []redact.Conversation) (n ambry.Imported, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail != nil && len(r.batches) > 0 {
		return n, r.fail
	}
	r.batches = append(r.batches, cs)
	for _, c := range cs {
		n.Conversations++
		n.Turns += len(c.Conversation().Turns)
	}
	return n, nil
}

func (r *recorder) sizes() (sizes []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.batches {
		sizes = append(sizes, len(b))
	}
	return sizes
}

// problem is what an answer of failure says.
type problem struct {
	Status   int
	Error    struct{ Code, Message string }
	Imported *ambry.Imported
}

// ask sends a request and returns the status, headers and body of the answer.
// Headers are given as pairs.
func (h *hosted) ask(method, path, body string, headers ...string) (*http.Response, string) {
	h.t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.base+path, in)
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return res, string(data)
}

func (h *hosted) importLines(body string) (*http.Response, string) {
	h.t.Helper()
	return h.ask(http.MethodPost, "/api/v1/memory/import", body, "Content-Type", "application/x-ndjson")
}

func decode[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %.300s", err, text)
	}
	return v
}

// line is a conversation with one turn of some text, as JSON.
func line(session int, text string) string {
	c := ambry.Conversation{
		Session: ambry.Session{Agent: "codex", ID: fmt.Sprint("session-", session)},
		Turns:   []ambry.Turn{{ID: fmt.Sprint("turn-", session), Messages: []ambry.Message{{Role: ambry.User, Text: text}}}},
	}
	data, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func TestEveryRouteWantsTheToken(t *testing.T) {
	h := serve(t, real(t))
	for _, route := range []string{
		"GET /api/v1/health", "POST /api/v1/memory/search", "POST /api/v1/memory/add", "POST /api/v1/memory/import",
		"GET /api/v1/memory/x", "PATCH /api/v1/memory/x", "DELETE /api/v1/memory/x", "GET /api/v1/memory/x/source",
		"GET /api/v1/panel/overview", "GET /api/v1/panel/items", "GET /api/v1/panel/sessions", "GET /api/v1/panel/sessions/x",
		"GET /api/v1/memory/x/related", "POST /api/v1/memory/processing/status", "GET /api/v1/panel/analysis", "GET /api/v1/panel/tasks",
		"POST /api/v1/memory/x/feedback", "GET /api/v1/memory/logs",
		"POST /api/v1/sessions/open", "POST /api/v1/sessions/x/close", "POST /api/v1/turns/start", "POST /api/v1/turns/x/complete",
	} {
		method, path, _ := strings.Cut(route, " ")
		if res, _ := h.ask(method, path, "", "Authorization", "Bearer wrong"); res.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s without the token: %s", route, res.Status)
		}
		if res, _ := h.ask(method, path, ""); res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusMethodNotAllowed {
			t.Errorf("%s with the token: %s", route, res.Status)
		}
	}
}

func TestLifeOfANote(t *testing.T) {
	h := serve(t, real(t))
	note := `{"content":"Prefers small commits","tags":["style"]}`

	_, added := h.ask(http.MethodPost, "/api/v1/memory/add", note, "Idempotency-Key", "k1")
	m := decode[ambry.Memory](t, added)
	if _, again := h.ask(http.MethodPost, "/api/v1/memory/add", note, "Idempotency-Key", "k1"); decode[ambry.Memory](t, again).ID != m.ID {
		t.Error("the same key added it twice")
	}
	res, _ := h.ask(http.MethodPost, "/api/v1/memory/add", `{"content":"Another"}`, "Idempotency-Key", "k1")
	if res.StatusCode != http.StatusConflict {
		t.Errorf("the same key for another note: %s", res.Status)
	}

	_, found := h.ask(http.MethodPost, "/api/v1/memory/search", `{"query":"commits"}`)
	if a := decode[ambry.Answer](t, found); len(a.Hits) != 1 || a.Hits[0].ID != m.ID {
		t.Errorf("found %+v", a.Hits)
	}
	_, patched := h.ask(http.MethodPatch, "/api/v1/memory/"+m.ID, `{"title":"Style"}`)
	if p := decode[ambry.Memory](t, patched); p.Title != "Style" || p.Version <= m.Version {
		t.Errorf("patched to %+v", p)
	}
	_, forgotten := h.ask(http.MethodDelete, "/api/v1/memory/"+m.ID, "")
	if f := decode[ambry.Forgotten](t, forgotten); !f.OK || f.ID != m.ID {
		t.Errorf("forgot %+v", f)
	}
	if res, _ := h.ask(http.MethodGet, "/api/v1/memory/"+m.ID, ""); res.StatusCode != http.StatusNotFound {
		t.Errorf("after that: %s", res.Status)
	}
}

func TestKnownMemoryIsNotSentAgain(t *testing.T) {
	h := serve(t, real(t))
	_, added := h.ask(http.MethodPost, "/api/v1/memory/add", `{"content":"Prefers small commits"}`)
	path := "/api/v1/memory/" + decode[ambry.Memory](t, added).ID

	first, body := h.ask(http.MethodGet, path, "")
	tag := first.Header.Get("ETag")
	if tag == "" || decode[ambry.Detail](t, body).Body != "Prefers small commits" {
		t.Fatalf("got tag %q and %s", tag, body)
	}
	for _, known := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
		if res, body := h.ask(http.MethodGet, path, "", "If-None-Match", known); res.StatusCode != http.StatusNotModified || body != "" {
			t.Errorf("If-None-Match %s: %s, %q", known, res.Status, body)
		}
	}
	h.ask(http.MethodPatch, path, `{"title":"Style"}`)
	if res, _ := h.ask(http.MethodGet, path, "", "If-None-Match", tag); res.StatusCode != http.StatusOK || res.Header.Get("ETag") == tag {
		t.Errorf("after a change: %s with tag %s", res.Status, res.Header.Get("ETag"))
	}
}

func TestBadRequests(t *testing.T) {
	h := serve(t, real(t))
	tests := []struct {
		name, method, path, body string
		status                   int
	}{
		{"empty query", "POST", "/api/v1/memory/search", `{"query":""}`, 400},
		{"blank query", "POST", "/api/v1/memory/search", `{"query":" "}`, 400},
		{"unknown field", "POST", "/api/v1/memory/search", `{"query":"x","shout":true}`, 400},
		{"no body", "POST", "/api/v1/memory/search", "", 400},
		{"blank note", "POST", "/api/v1/memory/add", `{"content":" "}`, 400},
		{"large note", "POST", "/api/v1/memory/add", `{"content":"` + strings.Repeat("x", 5<<20) + `"}`, 413},
		{"id of odd characters", "GET", "/api/v1/memory/a~b", "", 400},
		{"id too long", "GET", "/api/v1/memory/" + strings.Repeat("a", 129), "", 400},
		{"unknown id", "GET", "/api/v1/memory/mem_0", "", 404},
		{"unknown id, patched", "PATCH", "/api/v1/memory/mem_0", `{"title":"x"}`, 404},
		{"unknown id, forgotten", "DELETE", "/api/v1/memory/mem_0", "", 404},
		{"unknown session", "GET", "/api/v1/panel/sessions/none", "", 404},
		{"page 0", "GET", "/api/v1/panel/items?page=0", "", 400},
		{"unknown layer", "GET", "/api/v1/panel/items?layer=L9", "", 400},
		{"method", "PUT", "/api/v1/panel/items", "", 405},
		{"import as JSON", "POST", "/api/v1/memory/import", line(1, "x"), 415},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res, body := h.ask(tt.method, tt.path, tt.body)
			if res.StatusCode != tt.status || decode[problem](t, body).Status != tt.status {
				t.Errorf("got %s: %s", res.Status, body)
			}
		})
	}
}

func TestPanel(t *testing.T) {
	h := serve(t, real(t))
	if res, body := h.importLines(line(1, "why is the parser slow?") + "\n" + line(2, "fix the flaky test")); res.StatusCode != 200 {
		t.Fatal(body)
	}
	_, body := h.ask(http.MethodGet, "/api/v1/panel/overview", "")
	if o := decode[ambry.Overview](t, body); o.Counts.Sessions != 2 || o.Counts.Turns != 2 {
		t.Errorf("overview %+v", o.Counts)
	}
	for path, want := range map[string]int64{
		"/api/v1/panel/items":                            2,
		"/api/v1/panel/items?q=parser":                   1,
		"/api/v1/panel/items?sourceAgent=codex":          2,
		"/api/v1/panel/items?sourceAgent=cursor":         0,
		"/api/v1/panel/items?excludedSourceAgents=codex": 0,
		"/api/v1/panel/items?excludedSourceAgents=a&excludedSourceAgents=b&layer=L1&status=activated": 2,
		"/api/v1/panel/sessions":                    2,
		"/api/v1/panel/sessions?sourceAgent=cursor": 0,
		"/api/v1/panel/sessions/session-1?page=1":   1,
	} {
		_, body := h.ask(http.MethodGet, path, "")
		if p := decode[ambry.Page](t, body); p.Total != want {
			t.Errorf("%s has %d, want %d: %s", path, p.Total, want, body)
		}
	}
	_, items := h.ask(http.MethodGet, "/api/v1/panel/items?q=parser", "")
	id := decode[ambry.Items](t, items).Items[0].ID
	_, body = h.ask(http.MethodGet, "/api/v1/memory/"+id+"/source", "")
	if p := decode[ambry.Provenance](t, body); p.Session.ID != "session-1" || p.Turn == nil {
		t.Errorf("it came from %+v", p)
	}
}

func TestHealth(t *testing.T) {
	h := serve(t, real(t))
	_, body := h.ask(http.MethodGet, "/api/v1/health", "")
	if m := decode[ambry.MemoryHealth](t, body); !m.OK || !m.Writable {
		t.Errorf("got %+v", m)
	}
}

func TestEveryRouteIsDocumented(t *testing.T) {
	_, doc := web.New(web.Config{Title: "test"}, host.Routes(real(t)))
	var spec struct {
		Paths map[string]map[string]struct{ Summary string }
	}
	if err := json.Unmarshal(doc.JSON(), &spec); err != nil {
		t.Fatal(err)
	}
	var summaries []string
	for _, methods := range spec.Paths {
		for _, op := range methods {
			summaries = append(summaries, op.Summary)
		}
	}
	if len(summaries) != len(host.Routes(nil)) || slices.Contains(summaries, "") {
		t.Errorf("%d operations are documented: %q", len(summaries), summaries)
	}
}
