package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/mcp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a memory of a few things, which keeps what it was asked.
type memory struct {
	answer     ambry.Answer
	detail     ambry.Detail
	sessions   ambry.Sessions
	transcript []ambry.Transcript // its pages
	err        error

	mu     sync.Mutex
	query  ambry.Query
	asked  ambry.SessionsQuery
	note   ambry.Note
	keys   []string
	called chan struct{} // if set: a search tells of itself, and takes a while

	stopped chan error // if set: a search goes on until it is told to stop, and tells why
}

func (m *memory) Search(ctx context.Context, q ambry.Query) (ambry.Answer, error) {
	if m.called != nil {
		m.called <- struct{}{}
		if m.stopped != nil {
			<-ctx.Done()
			m.stopped <- ctx.Err()
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.query = q
	if ctx.Err() != nil {
		return ambry.Answer{}, ctx.Err()
	}
	return m.answer, m.err
}

func (m *memory) Get(_ context.Context, id string) (ambry.Detail, error) {
	if id != m.detail.ID {
		return ambry.Detail{}, ambry.NotFound.Errorf("no memory %q", id)
	}
	return m.detail, m.err
}

func (m *memory) Add(_ context.Context, n ambry.Note, key string) (ambry.Memory, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note, m.keys = n, append(m.keys, key)
	return ambry.Memory{ID: "tr_new", Title: "New"}, m.err
}

func (m *memory) Forget(_ context.Context, id, key string) (ambry.Forgotten, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if id != m.detail.ID {
		return ambry.Forgotten{}, ambry.NotFound.Errorf("no memory %q", id)
	}
	m.keys = append(m.keys, key)
	return ambry.Forgotten{OK: true, ID: id}, m.err
}

func (m *memory) Sessions(_ context.Context, q ambry.SessionsQuery) (ambry.Sessions, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = q
	return m.sessions, m.err
}

func (m *memory) Transcript(_ context.Context, id string, page int) (ambry.Transcript, error) {
	if m.err != nil {
		return ambry.Transcript{}, m.err
	}
	if len(m.transcript) == 0 || id != m.transcript[0].Session.ID {
		return ambry.Transcript{}, ambry.NotFound.Errorf("there is no session %q", id)
	}
	t := m.transcript[min(page, len(m.transcript))-1]
	t.Page = ambry.Page{Page: page, TotalPages: int64(len(m.transcript)), HasNext: page < len(m.transcript)}
	return t, nil
}

// session is a client that writes lines and reads lines, as an agent does.
type session struct {
	t     *testing.T
	in    io.WriteCloser
	lines *bufio.Scanner
	done  chan error
	id    int
}

func open(t *testing.T, m mcp.Memory) *session {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	s := &session{t: t, in: inW, lines: bufio.NewScanner(outR), done: make(chan error, 1)}
	s.lines.Buffer(nil, 8<<20)
	server := &mcp.Server{Memory: m, Version: "1.2.3", Log: slog.New(slog.DiscardHandler)}
	go func() {
		err := server.Serve(t.Context(), inR, outW)
		outW.Close()
		s.done <- err
	}()
	t.Cleanup(func() {
		inW.Close()
		_, _ = io.Copy(io.Discard, outR)
		if err := <-s.done; err != nil {
			t.Errorf("the session ended with %v", err)
		}
	})
	return s
}

func (s *session) write(line string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		s.t.Fatal(err)
	}
}

type reply struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (s *session) read() reply {
	s.t.Helper()
	if !s.lines.Scan() {
		s.t.Fatalf("no answer: %v", s.lines.Err())
	}
	var r reply
	if err := json.Unmarshal(s.lines.Bytes(), &r); err != nil {
		s.t.Fatalf("%v in %s", err, s.lines.Bytes())
	}
	return r
}

// ask sends a request and returns its answer.
func (s *session) ask(method string, params any) reply {
	s.t.Helper()
	s.id++
	data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.id, "method": method, "params": params})
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(string(data))
	r := s.read()
	if r.ID != s.id {
		s.t.Fatalf("got the answer of request %d, want that of %d", r.ID, s.id)
	}
	return r
}

type object = map[string]any

func (s *session) initialize(version string) object {
	s.t.Helper()
	r := s.ask("initialize", object{
		"protocolVersion": version, "capabilities": object{}, "clientInfo": object{"name": "a-test", "version": "0"},
	})
	var out object
	decode(s.t, r, &out)
	s.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return out
}

func decode(t *testing.T, r reply, out any) {
	t.Helper()
	if r.Error != nil {
		t.Fatalf("got error %d: %s", r.Error.Code, r.Error.Message)
	}
	if err := json.Unmarshal(r.Result, out); err != nil {
		t.Fatal(err)
	}
}

type result struct {
	IsError bool `json:"isError"`
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
}

func (s *session) call(tool string, arguments any) result {
	s.t.Helper()
	var out result
	decode(s.t, s.ask("tools/call", object{"name": tool, "arguments": arguments}), &out)
	if len(out.Content) != 1 || out.Content[0].Type != "text" {
		s.t.Fatalf("got content %+v, want one text", out.Content)
	}
	return out
}

func TestEveryRevisionIsSpoken(t *testing.T) {
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			s := open(t, &memory{answer: answer()})
			hello := s.initialize(version)
			if got := hello["protocolVersion"]; got != version {
				t.Errorf("got revision %v", got)
			}
			if diff := cmp.Diff(object{"tools": object{}, "resources": object{}, "prompts": object{}, "logging": object{}}, hello["capabilities"]); diff != "" {
				t.Errorf("capabilities: %s", diff)
			}
			var listed struct{ Tools []object }
			decode(t, s.ask("tools/list", object{}), &listed)
			if len(listed.Tools) != 6 {
				t.Errorf("got %d tools", len(listed.Tools))
			}
			if got := s.call("memory_search", object{"query": "mutex"}); got.IsError || !strings.Contains(got.Content[0].Text, "tr_1") {
				t.Errorf("got %+v", got)
			}
		})
	}
	t.Run("2026-07-28 without a session", func(t *testing.T) {
		m := &memory{}
		s := open(t, m)
		meta := object{
			"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
			"io.modelcontextprotocol/clientInfo":         object{"name": "newcomer", "version": "0"},
			"io.modelcontextprotocol/clientCapabilities": object{},
		}
		var listed struct{ Tools []object }
		decode(t, s.ask("tools/list", object{"_meta": meta}), &listed)
		if len(listed.Tools) != 6 {
			t.Errorf("got %d tools", len(listed.Tools))
		}
		r := s.ask("tools/call", object{"name": "memory_add", "arguments": object{"content": "x"}, "_meta": meta})
		if r.Error != nil || m.note.Source != "newcomer" {
			t.Errorf("got %+v, source %q", r.Error, m.note.Source)
		}
	})
	t.Run("one that nobody knows is answered with one that is known", func(t *testing.T) {
		s := open(t, &memory{})
		if got := s.initialize("2031-01-01")["protocolVersion"]; got != "2025-11-25" {
			t.Errorf("got revision %v", got)
		}
	})
}

// Agents pay for the list of tools in every session.
func TestToolsAreSmall(t *testing.T) {
	s := open(t, &memory{})
	s.initialize("2025-06-18")
	r := s.ask("tools/list", object{})
	if got := len(r.Result); got > 6<<10 || got < 1000 {
		t.Errorf("tools/list has %d bytes, want 6 KB at most", got)
	}
	var listed struct {
		Tools []struct {
			Name, Description string
			InputSchema       struct {
				Required   []string
				Properties map[string]object
			}
		}
	}
	decode(t, r, &listed)
	got := map[string][]string{}
	for _, tool := range listed.Tools {
		got[tool.Name] = tool.InputSchema.Required
		if len(tool.Description) < 100 {
			t.Errorf("%s does not say when to use it", tool.Name)
		}
	}
	want := map[string][]string{
		"memory_search": {"query"}, "memory_get": {"id"}, "memory_add": {"content"}, "memory_forget": {"id"},
		"session_read": {"sessionId"}, "memory_timeline": nil,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRequestsBeforeTheEndAreAnswered(t *testing.T) {
	m := &memory{answer: answer(), called: make(chan struct{})}
	s := open(t, m)
	s.initialize("2025-06-18")
	s.write(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"memory_search","arguments":{"query":"mutex"}}}`)
	<-m.called
	s.in.Close()
	r := s.read()
	var out result
	decode(t, r, &out)
	if r.ID != 7 || out.IsError {
		t.Errorf("got %+v", out)
	}
}

func TestTheEndOfTheContextEndsTheSession(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	inR, inW := io.Pipe()
	defer inW.Close()
	done := make(chan error)
	go func() {
		server := &mcp.Server{Memory: &memory{}, Log: slog.New(slog.DiscardHandler)}
		done <- server.Serve(ctx, inR, nopCloser{io.Discard})
	}()
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("it goes on")
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func TestArgumentsAreChecked(t *testing.T) {
	s := open(t, &memory{detail: ambry.Detail{Memory: ambry.Memory{ID: "tr_1"}, Body: "short"}})
	s.initialize("2025-06-18")
	for _, tt := range []struct {
		name, tool string
		arguments  object
		want       string
	}{
		{"no query", "memory_search", object{}, "query"},
		{"an empty query", "memory_search", object{"query": "  "}, "at least one word"},
		{"a query that is no text", "memory_search", object{"query": 7}, "query"},
		{"an argument that nobody knows", "memory_search", object{"query": "x", "projekt": "y"}, "projekt"},
		{"a time that is none", "memory_search", object{"query": "x", "after": "yesterday"}, "2026-03-01"},
		{"an empty id", "memory_get", object{"id": ""}, "memory_search returns ids"},
		{"an unknown id", "memory_get", object{"id": "tr_9"}, `no memory "tr_9"`},
		{"an offset beyond the end", "memory_get", object{"id": "tr_1", "offset": 6}, "offset 6"},
		{"an offset before the begin", "memory_get", object{"id": "tr_1", "offset": -1}, "offset -1"},
		{"nothing to remember", "memory_add", object{"content": " "}, "content is empty"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.t = t
			got := s.call(tt.tool, tt.arguments)
			if !got.IsError || !strings.Contains(got.Content[0].Text, tt.want) {
				t.Errorf("got %v %q, want an error with %q", got.IsError, got.Content[0].Text, tt.want)
			}
		})
	}
}

func TestABrokenMemoryIsNotAnEmptyOne(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		err        error
	}{
		{"down", "cannot be asked now (memory_unavailable: ", ambry.MemoryUnavailable.Errorf("ambry is not running")},
		{"slow", "cannot be asked now (memory_timeout: ", ambry.MemoryTimeout.Errorf("it took too long")},
		{"an error that nobody knows stays inside", "something went wrong", fmt.Errorf("open %s", "secret-place")},
		{"an error of the caller is told", "too long", ambry.InvalidArgument.Errorf("the query is too long")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, &memory{err: tt.err})
			s.initialize("2025-06-18")
			got := s.call("memory_search", object{"query": "x"})
			said := got.Content[0].Text
			if !got.IsError || !strings.Contains(said, tt.want) || strings.Contains(said, "secret-place") {
				t.Errorf("got %v %q", got.IsError, said)
			}
			if got.Structured != nil {
				t.Errorf("an error came with %s", got.Structured)
			}
		})
	}
}
