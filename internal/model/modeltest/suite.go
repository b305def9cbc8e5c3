// Package modeltest is what every provider of models must show: that it asks and
// reads as the provider documents, by a recording, and that it stands what goes
// wrong on the way. It holds no expectations of one provider.
package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"ambry.dev/ambry/internal/model"
)

// Key is the key that recordings have. It is put together, so that nothing takes
// this file for a leak.
const Key = "test-" + "key-0123456789"

// What is asked in every recording, and what is answered.
var asked = model.Request{
	System: "Answer in one sentence.",
	Messages: []model.Message{
		{Role: model.User, Text: "What is Tidewatch?"},
		{Role: model.Assistant, Text: "A harbour gate."},
		{Role: model.User, Text: "When does it close?"},
	},
	MaxTokens: 64,
}

const answered = "It closes at noon – «every day»."

var (
	used     = model.Usage{Input: 42, Output: 9}
	embedded = []string{"the gate closes at noon", "a migration is running"}
)

// Run runs the suite on a provider. The recording at path, a txtar archive, has
// for chat, stream and embed what is sent (NAME.request: the first line, headers,
// an empty line, JSON) and what is answered (NAME.response, as HTTP), and in
// refused.response the answer to a wrong key.
func Run(t *testing.T, p model.Provider, path string) {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{provider: p, files: map[string]string{}}
	for _, f := range archive.Files {
		s.files[f.Name] = string(f.Data)
	}
	if p.NewChat == nil && p.NewEmbedder == nil || p.Name == "" || p.BaseURL == "" {
		t.Errorf("%+v offers nothing, or has no name or address", p)
	}
	if _, err := model.ParseAddress(p.BaseURL); err != nil {
		t.Errorf("its address %s %v", p.BaseURL, err)
	}
	t.Run("chat", s.chat)
	t.Run("stream", s.stream)
	t.Run("embed", s.embed)
	t.Run("refused", s.refused)
	t.Run("faults", s.faults)
	t.Run("breaks", s.breaks)
	t.Run("caller", s.caller)
}

type suite struct {
	provider model.Provider
	files    map[string]string
}

// limits are for tests: nothing waits for long.
var limits = model.Limits{Attempts: 3, MaxBytes: 1 << 20, Idle: 10 * time.Second, Pause: time.Millisecond, MaxPause: 20 * time.Millisecond}

func access(server *httptest.Server, change ...func(*model.Access)) model.Access {
	client := server.Client()
	if t, ok := client.Transport.(*http.Transport); ok {
		t.MaxResponseHeaderBytes = 64 << 10
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	a := model.Access{BaseURL: server.URL, Model: "the-model", Key: Key, Limits: limits, HTTP: client}
	for _, c := range change {
		c(&a)
	}
	return a
}

func (s *suite) chat(t *testing.T) {
	var count model.Usage
	a := access(s.replay(t, "chat"), func(a *model.Access) { a.Used = func(u model.Usage) { count = u } })
	got, err := s.provider.NewChat(a).Chat(t.Context(), asked, nil)
	if err != nil || got.Text != answered || got.Cut || got.Model == "" {
		t.Errorf("got %+v, %v", got, err)
	}
	if u := got.Usage; u.Input != used.Input || u.Output != used.Output || u != count {
		t.Errorf("used are %+v, counted %+v, want %+v", u, count, used)
	}
}

func (s *suite) stream(t *testing.T) {
	var pieces []string
	got, err := s.provider.NewChat(access(s.replay(t, "stream"))).Chat(t.Context(), asked, func(piece string) error {
		pieces = append(pieces, piece)
		return nil
	})
	if err != nil || got.Text != answered || strings.Join(pieces, "") != answered || len(pieces) < 2 {
		t.Errorf("got %+v, %v in %q", got, err, pieces)
	}
	if got.Usage.Input != used.Input || got.Usage.Output != used.Output || got.Model == "" {
		t.Errorf("got %+v", got)
	}
}

func (s *suite) embed(t *testing.T) {
	if s.provider.NewEmbedder == nil {
		if s.files["embed.request"] != "" {
			t.Error("there is a recording of what is not offered")
		}
		return
	}
	var count model.Usage
	a := access(s.replay(t, "embed"), func(a *model.Access) { a.Used = func(u model.Usage) { count = u } })
	e := s.provider.NewEmbedder(a)
	got, err := e.Embed(t.Context(), embedded, model.ForStoring)
	if err != nil || len(got) != 2 || e.Dims() != 3 || !strings.Contains(e.Space(), "the-model") {
		t.Fatalf("got %v, %v of %s", got, err, e.Space())
	}
	want := [][]float32{{0.6, 0, -0.8}, {0, 1, 0}}
	for i, v := range got {
		for j, x := range v {
			if math.Abs(float64(x-want[i][j])) > 1e-6 {
				t.Errorf("vector %d is %v, want %v", i, v, want[i])
				break
			}
		}
	}
	if count.Input == 0 {
		t.Error("what it has used is not counted")
	}
}

// ask asks without or with pieces and returns the failure.
func (s *suite) ask(ctx context.Context, a model.Access, pieces bool) (model.Reply, *model.Failure, error) {
	var each func(string) error
	if pieces {
		each = func(string) error { return nil }
	}
	reply, err := s.provider.NewChat(a).Chat(ctx, asked, each)
	f, _ := errors.AsType[*model.Failure](err)
	return reply, f, err
}

func (s *suite) refused(t *testing.T) {
	for _, pieces := range []bool{false, true} {
		calls, base := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { s.answer(t, w, "refused") })
		_, f, err := s.ask(t.Context(), access(base), pieces)
		if f == nil || f.Reason != model.KeyRefused || f.Says == "" || strings.Contains(err.Error(), Key) || !strings.Contains(err.Error(), "***") {
			t.Errorf("got %v", err)
		}
		if n := calls(); n != 1 {
			t.Errorf("asked %d times", n)
		}
	}
}

// fault is something that goes wrong before an answer begins.
type fault struct {
	name   string
	answer func(w http.ResponseWriter)
	want   model.Reason
	calls  int
}

func status(code int, headers ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
	}
}

func text(contentType, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}
}

var faults = []fault{
	{"a fault of the provider", status(503), model.Broken, 3},
	{"overload", status(529), model.Broken, 3},
	{"slow down", status(429, "Retry-After", "0.001"), model.RateLimited, 3},
	{"slow down for long", status(429, "Retry-After", "3600"), model.RateLimited, 1},
	{"no credit", status(402), model.Spent, 1},
	{"no such model", status(404), model.NotFound, 1},
	{"a bad request", status(400), model.Refused, 1},
	{"a redirect", status(307, "Location", "/elsewhere"), model.Redirected, 1},
	{"a web page", text("text/html", "<!doctype html><title>hello</title>"), "", 0},
	{"an empty object", text("application/json", "{}"), "", 0},
	{"an error that is called good", text("application/json", `{"error":{"message":"not today"}}`), "", 0},
	{"nothing", status(200), "", 0},
	{"an endless answer", func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		for _, err := w.Write(nil); err == nil; {
			_, err = w.Write(bytes.Repeat([]byte(" "), 1<<16))
		}
	}, model.TooBig, 1},
	{"endless headers", status(200, "X-Long", strings.Repeat("x", 100<<10)), model.Unreachable, 3},
}

func (s *suite) faults(t *testing.T) {
	for _, pieces := range []bool{false, true} {
		for _, tt := range faults {
			calls, base := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { tt.answer(w) })
			_, f, err := s.ask(t.Context(), access(base), pieces)
			if f == nil || tt.want != "" && f.Reason != tt.want {
				t.Errorf("%s, in pieces %v: got %v, want %s", tt.name, pieces, err, tt.want)
			}
			if n := calls(); tt.calls != 0 && n != tt.calls || n > limits.Attempts {
				t.Errorf("%s, in pieces %v: asked %d times, want %d", tt.name, pieces, n, tt.calls)
			}
		}
		// What passes is stood.
		name := map[bool]string{false: "chat", true: "stream"}[pieces]
		_, base := serve(t, func(w http.ResponseWriter, _ *http.Request, n int) {
			if n < 3 {
				status([]int{429, 500}[n-1])(w)
				return
			}
			s.answer(t, w, name)
		})
		if got, _, err := s.ask(t.Context(), access(base), pieces); err != nil || got.Text != answered {
			t.Errorf("after two faults: %+v, %v", got, err)
		}
		// So is a wire that was cut before anything came.
		_, base = serve(t, func(w http.ResponseWriter, _ *http.Request, n int) {
			if n < 3 {
				cut(t, w, "")
				return
			}
			s.answer(t, w, name)
		})
		if got, _, err := s.ask(t.Context(), access(base), pieces); err != nil || got.Text != answered {
			t.Errorf("after two cuts: %+v, %v", got, err)
		}
	}
}

// breaks are answers that end before they are whole, wherever that is: no part
// passes for the whole.
func (s *suite) breaks(t *testing.T) {
	whole := s.files["stream.response"]
	head := strings.Index(whole, "\n\n") + 2
	for at := head; at < len(whole)-20; at += (len(whole)-head)/15 + 1 {
		_, base := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { cut(t, w, whole[:at]) })
		given := 0
		got, err := s.provider.NewChat(access(base)).Chat(t.Context(), asked, func(string) error { given++; return nil })
		if err == nil && got.Text != answered {
			t.Errorf("cut at byte %d of %d it passes for %q", at, len(whole), got.Text)
		}
		if f, ok := errors.AsType[*model.Failure](err); err != nil && (!ok || f.Reason != model.CutOff && f.Reason != model.NotAModel) {
			t.Errorf("cut at byte %d: %v", at, err)
		}
	}
	// A part that is silent for too long.
	_, base := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, whole[head:head+(len(whole)-head)/2])
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	impatient := access(base, func(a *model.Access) { a.Limits.Idle = 50 * time.Millisecond })
	if _, f, err := s.ask(t.Context(), impatient, true); f == nil || f.Reason != model.TimedOut {
		t.Errorf("a silent stream: %v", err)
	}
}

var errEnough = errors.New("enough")

// caller is what the one who asks may do meanwhile.
func (s *suite) caller(t *testing.T) {
	calls, base := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { s.answer(t, w, "stream") })
	_, err := s.provider.NewChat(access(base)).Chat(t.Context(), asked, func(string) error { return errEnough })
	if !errors.Is(err, errEnough) || calls() != 1 {
		t.Errorf("whoever has enough gets %v, after %d calls", err, calls())
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, base = serve(t, func(_ http.ResponseWriter, r *http.Request, _ int) {
		cancel()
		<-r.Context().Done()
	})
	if _, _, err := s.ask(ctx, access(base), false); !errors.Is(err, context.Canceled) {
		t.Errorf("whoever goes away gets %v", err)
	}
	late, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	_, base = serve(t, func(_ http.ResponseWriter, r *http.Request, _ int) { <-r.Context().Done() })
	if _, f, err := s.ask(late, access(base), false); f == nil || f.Reason != model.TimedOut {
		t.Errorf("whoever is in a hurry gets %v", err)
	}
}

// serve answers each call with its number, from 1, until the test ends.
func serve(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, n int)) (calls func() int, server *httptest.Server) {
	t.Helper()
	var mu sync.Mutex
	n := 0
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		n++
		call := n
		mu.Unlock()
		answer(w, r, call)
	}))
	t.Cleanup(server.Close)
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}, server
}

// cut sends raw bytes and closes the connection.
func cut(t *testing.T, w http.ResponseWriter, raw string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, raw)
}

// answer sends a recorded answer.
func (s *suite) answer(t *testing.T, w http.ResponseWriter, name string) {
	head, body, ok := strings.Cut(s.files[name+".response"], "\n\n")
	var code int
	if _, err := fmt.Sscanf(head, "HTTP/1.1 %d", &code); err != nil || !ok {
		t.Errorf("%s.response: %v", name, err)
	}
	for line := range strings.Lines(head) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			w.Header().Set(name, value)
		}
	}
	w.WriteHeader(code)
	_, _ = io.WriteString(w, body)
}

// replay serves a recording: what is sent must be what was recorded.
func (s *suite) replay(t *testing.T, name string) *httptest.Server {
	t.Helper()
	head, want, ok := strings.Cut(s.files[name+".request"], "\n\n")
	if !ok {
		t.Fatalf("%s.request is not recorded", name)
	}
	lines := strings.Split(strings.TrimSpace(head), "\n")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Method + " " + r.URL.RequestURI(); got != lines[0] {
			t.Errorf("asked is %s, recorded %s", got, lines[0])
		}
		for _, line := range lines[1:] {
			name, value, _ := strings.Cut(line, ": ")
			if got := r.Header.Get(name); got != value {
				t.Errorf("%s is %q, recorded %q", name, got, value)
			}
		}
		for name := range r.Header {
			known := []string{"Content-Type", "Content-Length", "Accept-Encoding", "User-Agent", "Connection"}
			if !slices.Contains(known, name) && !strings.Contains(head, "\n"+name+": ") {
				t.Errorf("%s is sent, but not recorded", name)
			}
		}
		var got, recorded any
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal([]byte(want), &recorded); err != nil {
			t.Errorf("%s.request: %v", name, err)
		}
		if json.Unmarshal(body, &got) != nil || !reflect.DeepEqual(got, recorded) {
			t.Errorf("sent is\n%s\nrecorded\n%s", body, want)
		}
		s.answer(t, w, name)
	}))
	t.Cleanup(server.Close)
	return server
}
