package first

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ambry.dev/ambry"
)

// world is a home with a service that answers as a test wants.
type world struct {
	*testing.T
	home string

	mu    sync.Mutex
	asked []string
}

func newWorld(t *testing.T, answer http.HandlerFunc) *world {
	w := &world{T: t, home: t.TempDir()}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.asked = append(w.asked, fmt.Sprint(r.Method, " ", r.URL, " ", r.Host == r.Context().Value(http.LocalAddrContextKey).(net.Addr).String(), " ", r.Header.Get(ambry.LocalTokenHeader)))
		w.mu.Unlock()
		answer(rw, r)
	}))
	t.Cleanup(server.Close)
	w.file(ambry.RuntimeFile{Schema: ambry.RuntimeFileSchema, PID: os.Getpid(), StartedAt: time.Unix(1, 5), BaseURL: server.URL, LocalToken: "the-token"})
	if err := os.Mkdir(filepath.Join(w.home, "hooks"), 0o700); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) wasAsked() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.asked)
}

func (w *world) file(rt ambry.RuntimeFile) {
	w.Helper()
	data, err := json.Marshal(rt)
	if err == nil {
		err = os.WriteFile(filepath.Join(w.home, "runtime.json"), data, 0o600)
	}
	if err != nil {
		w.Fatal(err)
	}
}

// hook answers a hook of an agent, and says why there is nothing to say.
func (w *world) hook(agent, event, input string) (out, explained string) {
	w.Helper()
	var std, errs bytes.Buffer
	p := Process{Getenv: func(string) string { return "" }, In: strings.NewReader(input), Out: &std, Err: &errs, Wait: time.Hour} // one that is slow must not be another test
	if !Answer(w.Context(), []string{"--explain", "--home", w.home, agent, event}, p) {
		w.Error("it is not answered")
	}
	return std.String(), errs.String()
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func answers(text string) http.HandlerFunc {
	data, _ := json.Marshal(map[string]any{"injectedContext": text, "hits": []any{}, "new": 1})
	return says(200, string(data))
}

const prompt = `{"session_id":"s1","prompt":"when does the harbour open?","cwd":"/work/a b/ü&c=d"}`

func TestAPromptIsAnsweredByTheService(t *testing.T) {
	long := "<recalled_history>" + strings.Repeat("at seven. ", 5000) + "</recalled_history>"
	w := newWorld(t, answers(long))
	out, explained := w.hook("claude-code", "UserPromptSubmit", prompt)
	var doc struct {
		Said struct {
			Context string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil || doc.Said.Context != long {
		t.Errorf("%v: %.200s %s", err, out, explained)
	}
	if got, want := w.wasAsked(), []string{"POST /api/v1/memory/search true the-token"}; !slices.Equal(got, want) {
		t.Errorf("asked was %q, want %q", got, want)
	}
}

func TestABeginIsToldOfTheProject(t *testing.T) {
	asked := make(chan url.Values, 1)
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Query()
		says(200, `{"sessions":[{"id":"s0","agent":"codex","title":"the <harbour>","endedAt":"`+time.Now().Format(time.RFC3339)+`"}]}`)(w, r)
	})
	out, explained := w.hook("cursor", "sessionStart", prompt)
	if !strings.Contains(out, "the &lt;harbour&gt;") {
		t.Errorf("it says %s %s", out, explained)
	}
	var got url.Values
	select {
	case got = <-asked:
	default:
	}
	if got.Get("project") != "/work/a b/ü&c=d" || got.Get("page") != "1" || len(got) != 2 {
		t.Errorf("asked was for %v", got)
	}
}

func TestWhatTheServiceSaysInsteadIsToldApart(t *testing.T) {
	cut := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte(`{"injectedContext":"<recalled_history`))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
		kind   ambry.Kind
	}{
		"starting": {says(503, `{"error":{"code":"memory_unavailable","message":"the memory starts"}}`), "the memory starts", ambry.MemoryUnavailable},
		"refused":  {says(401, `{"error":{"code":"unauthorized","message":"a token is needed"}}`), "a token is needed", ambry.Unauthorized},
		"a page":   {says(502, `<html>`), "the service answered 502", ambry.Internal},
		"new code": {says(418, `{"error":{"code":"teapot"}}`), "the service answered 418", ambry.Internal},
		"no JSON":  {says(200, `<html>`), "read the answer", ambry.Internal},
		"cut off":  {cut, "read the answer", ambry.Internal},
		"nothing":  {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "not running", ambry.MemoryUnavailable},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://evil.example/", http.StatusTemporaryRedirect)
		}, "the service answered 307", ambry.Internal},
		"too much": {says(200, strings.Repeat(" ", maxAnswer)), "more than is read", ambry.Internal},
	} {
		w := newWorld(t, c.answer)
		out, explained := w.hook("claude-code", "UserPromptSubmit", prompt)
		if out != "" || !strings.Contains(explained, c.want) {
			t.Errorf("%s: %q, %s", name, out, explained)
		}
		m, _, err := find(w.home)
		if err == nil {
			_, err = m.Search(t.Context(), ambry.Query{Query: "x"})
		}
		if err == nil || ambry.KindOf(err) != c.kind {
			t.Errorf("%s: got %v, want kind %s", name, err, c.kind)
		}
	}
}

func TestOneWhoIsSilentIsNotWaitedFor(t *testing.T) {
	held := make(chan struct{})
	w := newWorld(t, func(http.ResponseWriter, *http.Request) { <-held })
	defer close(held)
	m, instance, err := find(w.home)
	if want := fmt.Sprint(os.Getpid(), " 1000000005"); err != nil || instance != want {
		t.Fatalf("found %q, %v; want %q", instance, err, want)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := m.Search(ctx, ambry.Query{Query: "x"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it ends with %v", err)
	}
}

func TestOnlyAServiceOfThisMachineIsAsked(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := "http://" + ln.Addr().String()
	ln.Close()
	w := newWorld(t, answers("<recalled_history>x</recalled_history>"))
	data, err := os.ReadFile(filepath.Join(w.home, "runtime.json"))
	if err != nil {
		t.Fatal(err)
	}
	was, err := ambry.ParseRuntimeFile(data)
	if err != nil {
		t.Fatal(err)
	}
	const addressed, stopped = "the address of a service", "not running"
	for name, c := range map[string]struct {
		change func(*ambry.RuntimeFile)
		want   string
	}{
		"another machine": {func(rt *ambry.RuntimeFile) { rt.BaseURL = "http://192.0.2.1:80" }, addressed},
		"a name":          {func(rt *ambry.RuntimeFile) { rt.BaseURL = "http://localhost:80" }, addressed},
		"more of a name": {func(rt *ambry.RuntimeFile) {
			rt.BaseURL = strings.Replace(rt.BaseURL, "127.0.0.1", "127.0.0.1.evil.example", 1)
		}, addressed},
		"a user":       {func(rt *ambry.RuntimeFile) { rt.BaseURL = "http://127.0.0.1:80@evil.example:80" }, addressed},
		"no port":      {func(rt *ambry.RuntimeFile) { rt.BaseURL = "http://127.0.0.1:0" }, addressed},
		"a large port": {func(rt *ambry.RuntimeFile) { rt.BaseURL = "http://127.0.0.1:65536" }, addressed},
		"TLS":          {func(rt *ambry.RuntimeFile) { rt.BaseURL = strings.Replace(rt.BaseURL, "http:", "https:", 1) }, addressed},
		"a header":     {func(rt *ambry.RuntimeFile) { rt.LocalToken = "x\r\nHost: evil.example" }, addressed},
		"gone":         {func(rt *ambry.RuntimeFile) { rt.BaseURL = gone }, stopped},
		"died":         {func(rt *ambry.RuntimeFile) { rt.PID = 1 << 30 }, stopped},
		"no process":   {func(rt *ambry.RuntimeFile) { rt.PID = 0 }, stopped},
		"of later":     {func(rt *ambry.RuntimeFile) { rt.Schema++ }, stopped},
	} {
		rt := was
		c.change(&rt)
		w.file(rt)
		if out, explained := w.hook("claude-code", "UserPromptSubmit", prompt); out != "" || !strings.Contains(explained, c.want) || len(w.wasAsked()) > 0 {
			t.Errorf("%s: %q, %s, asked was %q", name, out, explained, w.wasAsked())
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{\"injectedContext\":\"x\"}"))
	f.Add([]byte("HTTP/1.1 503 x\r\n\r\n{\"error\":{\"code\":\"memory_unavailable\"}}"))
	f.Add([]byte("HTTP/1.1 200\r\n"))
	f.Add([]byte("SSH-2.0-x\r\n\r\n{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var a ambry.Answer
		if err := decode(data, &a); err == nil && !bytes.HasPrefix(data, []byte("HTTP/1.")) {
			t.Fatalf("%q is no answer", data)
		}
	})
}
