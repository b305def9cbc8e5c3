package mcp_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/mcp"
)

// M03, M04, M05
func TestSessionsAreOurs(t *testing.T) {
	s := serve(t, &memory{answer: answer()})
	a, b := s.begin("2025-06-18"), s.begin("2025-11-25")
	if len(a) < 22 || a == b || a[:4] == b[:4] {
		t.Errorf("ids are %q and %q", a, b)
	}
	for _, tt := range []struct {
		name, method, body, id string
		status                 int
	}{
		{"an id that the client chose is not adopted", "POST", hello("2025-06-18"), "mine", 404},
		{"nor is it after that", "POST", list, "mine", 404},
		{"streams of no session", "GET", "", "mine", 404},
		{"the end of no session", "DELETE", "", "mine", 404},
		{"a stream without an id", "GET", "", "", 400},
		{"an end without an id", "DELETE", "", "", 400},
		{"a request without an id", "POST", list, "", 400},
		{"a notification without an id", "POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "", 400},
		{"a batch without an id", "POST", "[" + hello("2025-03-26") + "]", "", 400},
		{"a request", "POST", search, a, 200},
		{"a batch", "POST", "[" + list + "," + search + "]", a, 200},
		{"a second beginning", "POST", hello("2025-06-18"), a, 200}, // with an error of the protocol
		{"an end", "DELETE", "", a, 204},
		{"a second end", "DELETE", "", a, 404},
		{"a request after the end", "POST", list, a, 404},
		{"a stream after the end", "GET", "", a, 404},
		{"another session goes on", "POST", list, b, 200},
	} {
		got := s.ask(tt.method, tt.body, "Mcp-Session-Id", tt.id)
		if got.status != tt.status || tt.status >= 400 && got.code() == "" {
			t.Errorf("%s: got %d %.200s, want %d", tt.name, got.status, got.body, tt.status)
		}
		if got.header.Get("Mcp-Session-Id") == "mine" {
			t.Errorf("%s: the id came back", tt.name)
		}
	}
	if got := s.ask("POST", list, "Mcp-Session-Id", b, "Mcp-Session-Id", b); got.status != 400 {
		t.Errorf("two ids: got %d", got.status)
	}
}

// M10
func TestAnUnknownToolIsAnErrorOfTheProtocol(t *testing.T) {
	s := serve(t, &memory{})
	id := s.begin("2025-06-18")
	call := `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"../../x","arguments":{"__proto__":{"x":1}}}}`
	if got := s.ask("POST", call, "Mcp-Session-Id", id); got.status != 200 || !strings.Contains(got.body, `"code":-32602`) {
		t.Errorf("got %d %s", got.status, got.body)
	}
}

// M11: those who begin and never come back make room for those who do.
func TestAbandonedSessionsMakeRoom(t *testing.T) {
	s := serve(t, &memory{})
	kept := s.begin("2025-06-18")
	first := s.ask("POST", hello("2025-06-18")).header.Get("Mcp-Session-Id")
	for range 2 * mcp.MaxSessions {
		if got := s.ask("POST", hello("2025-06-18")); got.status != 200 {
			t.Fatalf("got %d %s", got.status, got.body)
		}
	}
	if got := s.ask("POST", ping, "Mcp-Session-Id", first); got.status != 404 {
		t.Errorf("an abandoned session: got %d", got.status)
	}
	if got := s.ask("POST", ping, "Mcp-Session-Id", kept); got.status != 200 {
		t.Errorf("a session in use had to go: %d %s", got.status, got.body)
	}
	for range 2 * mcp.MaxSessions { // in use, but not now: the one that was used longest ago goes
		s.begin("2025-06-18")
	}
	if got := s.ask("POST", ping, "Mcp-Session-Id", kept); got.status != 404 {
		t.Errorf("the oldest session: got %d", got.status)
	}
}

func TestSessionsInUseStay(t *testing.T) {
	s := serve(t, &memory{})
	var streams []*http.Response
	for range mcp.MaxSessions {
		resp := s.open("GET", "", "Mcp-Session-Id", s.begin("2025-06-18"))
		if resp.StatusCode != 200 {
			t.Fatalf("got %d", resp.StatusCode)
		}
		streams = append(streams, resp)
	}
	if got := s.ask("POST", hello("2025-06-18")); got.status != 429 || got.header.Get("Retry-After") == "" {
		t.Errorf("got %d %s", got.status, got.body)
	}
	streams[5].Body.Close()
	deadline := time.Now().Add(time.Minute)
	for s.ask("POST", hello("2025-06-18")).status != 200 { // once the server knows that the stream is gone
		if time.Now().After(deadline) {
			t.Fatal("there is no room after a stream ended")
		}
		time.Sleep(time.Millisecond)
	}
	// The end of the service ends the streams at once.
	begin := time.Now()
	s.stop()
	if took := time.Since(begin); took >= grace {
		t.Errorf("stopping took %v", took)
	}
	for i, resp := range streams {
		if i != 5 {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
}

func TestAStreamGoesOnWhereItBroke(t *testing.T) {
	m := &memory{answer: answer(), called: make(chan struct{})}
	s := serve(t, m)
	id := s.begin("2025-11-25")
	resp := s.open("POST", search, "Mcp-Session-Id", id, "Mcp-Protocol-Version", "2025-11-25")
	_, prime := events(t, resp.Body, "id: ")
	<-m.called
	resp.Body.Close() // the connection breaks while the tool works

	// The server learns a moment later that nobody reads; until then the stream is taken.
	free := func(last string) *http.Response {
		deadline := time.Now().Add(time.Minute)
		for {
			got := s.open("GET", "", "Mcp-Session-Id", id, "Mcp-Protocol-Version", "2025-11-25", "Last-Event-ID", last)
			if got.StatusCode != http.StatusConflict || time.Now().After(deadline) {
				return got
			}
			got.Body.Close()
			time.Sleep(time.Millisecond)
		}
	}
	got := free(prime)
	data, _ := events(t, got.Body, "data: {")
	got.Body.Close()
	if got.StatusCode != 200 || !strings.Contains(data[len(data)-1], "tr_1") {
		t.Errorf("got %d %q", got.StatusCode, data)
	}
	for _, last := range []string{"nonsense", "unknown_3", prime + "9"} {
		got := free(last)
		got.Body.Close()
		if got.StatusCode != 400 {
			t.Errorf("%s: got %d", last, got.StatusCode)
		}
	}
}

func TestCancellationEndsTheWork(t *testing.T) {
	for name, cancel := range map[string]func(s *site, id string){
		"a notification": func(s *site, id string) {
			s.ask("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, "Mcp-Session-Id", id)
		},
		"the end of the session": func(s *site, id string) { s.ask("DELETE", "", "Mcp-Session-Id", id) },
		"the end of the bridge":  func(s *site, _ string) { s.bridge.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			m := &memory{called: make(chan struct{}), stopped: make(chan error, 1)}
			s := serve(t, m)
			id := s.begin("2025-06-18")
			answered := make(chan said)
			go func() { answered <- s.ask("POST", search, "Mcp-Session-Id", id) }()
			<-m.called
			cancel(s, id)
			if err := <-m.stopped; err == nil {
				t.Error("the work went on")
			}
			<-answered
		})
	}
}

// In the newest revision the request is all there is: who hangs up has cancelled.
func TestHangingUpCancels(t *testing.T) {
	m := &memory{called: make(chan struct{}), stopped: make(chan error, 1)}
	s := serve(t, m)
	ctx, hangUp := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "POST", s.base+bridgePath, strings.NewReader(modern("tools/call", `"name":"memory_search","arguments":{"query":"x"}`)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2026-07-28"},
		"Mcp-Method": {"tools/call"}, "Mcp-Name": {"memory_search"},
	}
	req.Header.Set(ambry.MCPTokenHeader, bridgeToken)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
		}
	}()
	<-m.called
	hangUp()
	if err := <-m.stopped; err == nil {
		t.Error("the work went on")
	}
	<-done
}

// modern is a request of the revision without sessions.
func modern(method, params string) string {
	if params != "" {
		params += ","
	}
	return `{"jsonrpc":"2.0","id":3,"method":"` + method + `","params":{` + params + `"_meta":{
		"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"newcomer","version":"0"},
		"io.modelcontextprotocol/clientCapabilities":{}}}}`
}

func TestWithoutSessions(t *testing.T) {
	m := &memory{answer: answer()}
	s := serve(t, m)
	headers := func(method, name string) []string {
		return []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name}
	}
	for _, tt := range []struct {
		name, body string
		headers    []string
		status     int
		want       string
	}{
		{"what there is", modern("server/discover", ""), headers("server/discover", ""), 200, `"2026-07-28"`},
		{"the tools", modern("tools/list", ""), headers("tools/list", ""), 200, `"memory_timeline"`},
		{"a tool", modern("tools/call", `"name":"memory_search","arguments":{"query":"x"}`), headers("tools/call", "memory_search"), 200, "tr_1"},
		{"an unknown tool", modern("tools/call", `"name":"x"`), headers("tools/call", "x"), 400, "-32602"},
		{"an unknown method", modern("tools/destroy", ""), headers("tools/destroy", ""), 404, "-32601"},
		{"a method that there is no more", modern("ping", ""), headers("ping", ""), 404, "-32601"},
		{"a header that says another tool", modern("tools/call", `"name":"memory_forget","arguments":{"id":"x"}`), headers("tools/call", "memory_search"), 400, "-32020"},
		{"no header", modern("tools/list", ""), nil, 400, "-32020"},
		{"another revision in the header", modern("tools/list", ""), []string{"Mcp-Protocol-Version", "2025-06-18"}, 400, "-32020"},
		{"no revision in the body", list, headers("tools/list", ""), 400, "-32602"},
	} {
		got := s.ask("POST", tt.body, tt.headers...)
		if got.status != tt.status || !strings.Contains(got.body, tt.want) {
			t.Errorf("%s: got %d %.300s, want %d with %s", tt.name, got.status, got.body, tt.status, tt.want)
		}
		if id := got.header.Get("Mcp-Session-Id"); id != "" {
			t.Errorf("%s: got a session %s", tt.name, id)
		}
	}
	for _, method := range []string{"GET", "DELETE"} {
		if got := s.ask(method, "", "Mcp-Protocol-Version", "2026-07-28"); got.status != 405 || got.code() != "method_not_allowed" || got.header.Get("Allow") != "POST" {
			t.Errorf("%s: got %d %v %s", method, got.status, got.header, got.body)
		}
	}
}

// A session that begins right when the service stops must not be left behind;
// goleak looks for it.
func TestCloseEndsAll(t *testing.T) {
	s := serve(t, &memory{})
	for range 8 {
		s.begin("2025-06-18")
	}
	s.bridge.Close()
	if got := s.ask("POST", hello("2025-06-18")); got.status != 503 {
		t.Errorf("got %d %s", got.status, got.body)
	}
}
