package mcp_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ambry.dev/ambry/internal/mcp"
	"ambry.dev/ambry/internal/web"
)

func newBridge(m mcp.Memory) *mcp.Bridge {
	return mcp.NewBridge(&mcp.Server{Memory: m, Version: "1.2.3", Log: slog.New(slog.DiscardHandler)})
}

// send asks a bridge without a socket, so that a test can move the clock.
func send(b *mcp.Bridge, method, body string, headers ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, bridgePath, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	b.ServeHTTP(w, req)
	return w
}

func TestSessionsEndWhenNobodyUsesThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBridge(&memory{})
		defer b.Close()
		used := send(b, "POST", hello("2025-06-18")).Header().Get("Mcp-Session-Id")
		idle := send(b, "POST", hello("2025-06-18")).Header().Get("Mcp-Session-Id")
		time.Sleep(20 * time.Minute)
		if got := send(b, "POST", ping, "Mcp-Session-Id", used); got.Code != 200 {
			t.Fatalf("after 20 minutes: got %d %s", got.Code, got.Body)
		}
		time.Sleep(20 * time.Minute)
		if got := send(b, "POST", ping, "Mcp-Session-Id", used); got.Code != 200 {
			t.Errorf("a session in use: got %d %s", got.Code, got.Body)
		}
		if got := send(b, "POST", ping, "Mcp-Session-Id", idle); got.Code != 404 {
			t.Errorf("a session that nobody used for 40 minutes: got %d %s", got.Code, got.Body)
		}
	})
}

// stuck is a client that takes nothing until it is told to go on.
type stuck struct {
	*httptest.ResponseRecorder
	goOn chan struct{}
}

func (s stuck) Write(p []byte) (int, error) {
	<-s.goOn
	return s.ResponseRecorder.Write(p)
}

// beginning returns a session that is about to begin until goOn is closed, and
// what hangs up.
func beginning(t *testing.T, b *mcp.Bridge) (w stuck, hangUp context.CancelFunc) {
	ctx, hangUp := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, "POST", bridgePath, strings.NewReader(hello("2025-11-25")))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	w = stuck{httptest.NewRecorder(), make(chan struct{})}
	go b.ServeHTTP(w, r)
	synctest.Wait()
	return w, hangUp
}

// A session that was about to begin when the service stops is left by nobody;
// the bubble looks for it.
func TestCloseWaitsForWhatBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBridge(&memory{})
		w, hangUp := beginning(t, b)
		defer hangUp()
		closed := make(chan struct{})
		go func() {
			b.Close()
			close(closed)
		}()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("it is closed while a session begins")
		default:
		}
		close(w.goOn)
		<-closed
		if body := w.Body.String(); !strings.Contains(body, "the service is stopping") {
			t.Errorf("who began is told %s", body)
		}
	})
}

// Who hangs up while a session begins leaves none, or one that ends with the
// others.
func TestHangingUpWhileASessionBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBridge(&memory{})
		defer b.Close()
		for range mcp.MaxSessions {
			w, hangUp := beginning(t, b)
			close(w.goOn)
			hangUp()
		}
		synctest.Wait()
		if got := send(b, "POST", hello("2025-06-18")); got.Code != 200 {
			t.Errorf("after them: got %d %s", got.Code, got.Body)
		}
	})
}

// Neither those who begin and never come back nor those who ask without a
// session leave anything behind.
func TestNothingPilesUp(t *testing.T) {
	b := newBridge(&memory{answer: answer()})
	defer b.Close()
	fill := func(times int) int {
		for range times {
			if got := send(b, "POST", hello("2025-06-18")); got.Code != 200 {
				t.Fatalf("got %d %s", got.Code, got.Body)
			}
			if got := send(b, "POST", modern("server/discover", ""), "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "server/discover"); got.Code != 200 {
				t.Fatalf("got %d %s", got.Code, got.Body)
			}
		}
		return runtime.NumGoroutine()
	}
	before := fill(mcp.MaxSessions)
	if after := fill(1000); after > before+mcp.MaxSessions {
		t.Errorf("%d goroutines became %d", before, after)
	}
}

// What can be asked for again is bounded for each session.
func TestStreamsAreKeptForAWhile(t *testing.T) {
	b := newBridge(&memory{answer: answer()})
	defer b.Close()
	id := send(b, "POST", hello("2025-11-25")).Header().Get("Mcp-Session-Id")
	var primes []string
	for i := range 100 {
		call := strings.Replace(search, `"id":7`, fmt.Sprintf(`"id":%d`, 100+i), 1)
		got := send(b, "POST", call, "Mcp-Session-Id", id, "Mcp-Protocol-Version", "2025-11-25")
		_, prime := events(t, bytes.NewReader(got.Body.Bytes()), "id: ")
		primes = append(primes, prime)
	}
	again := func(last string) *httptest.ResponseRecorder {
		return send(b, "GET", "", "Mcp-Session-Id", id, "Mcp-Protocol-Version", "2025-11-25", "Last-Event-ID", last)
	}
	if got := again(primes[99]); got.Code != 200 || !strings.Contains(got.Body.String(), "tr_1") {
		t.Errorf("the last stream: got %d %s", got.Code, got.Body)
	}
	if got := again(primes[0]); got.Code != 400 {
		t.Errorf("the first of 100 streams: got %d %s", got.Code, got.Body)
	}
	ctx, hangUp := context.WithCancel(t.Context())
	hangUp()
	listen := httptest.NewRequestWithContext(ctx, "GET", bridgePath, nil)
	listen.Header.Set("Accept", "text/event-stream")
	listen.Header.Set("Mcp-Session-Id", id)
	w := httptest.NewRecorder()
	if b.ServeHTTP(w, listen); w.Code != 200 {
		t.Errorf("the stream to listen to went with them: got %d %s", w.Code, w.Body)
	}
}

func FuzzBridge(f *testing.F) {
	for _, seed := range []string{
		ping, list, search, hello("2025-06-18"), "[" + ping + "," + search + "]", modern("tools/list", ""), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`, `{"jsonrpc":"2.0","id":"x","method":"prompts/get","params":{"name":"resume"}}`,
	} {
		f.Add([]byte(seed), true, "")
		f.Add([]byte(seed), false, "2026-07-28")
	}
	b := newBridge(full())
	f.Cleanup(b.Close)
	f.Fuzz(func(t *testing.T, body []byte, inSession bool, revision string) {
		if web.CheckJSON(body) != nil || strings.ContainsAny(revision, "\r\n") {
			return // the gate lets nothing of this through
		}
		headers := []string{"Mcp-Protocol-Version", revision}
		if revision == "" {
			headers = nil
		}
		if inSession {
			id := send(b, "POST", hello("2025-03-26")).Header().Get("Mcp-Session-Id")
			defer send(b, http.MethodDelete, "", "Mcp-Session-Id", id)
			headers = append(headers, "Mcp-Session-Id", id)
		}
		if got := send(b, "POST", string(body), headers...); got.Code >= 500 {
			t.Errorf("got %d %s", got.Code, got.Body)
		}
	})
}
