package web_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/event"
	"ambry.dev/ambry/internal/web"
)

func newBus(t *testing.T) *event.Bus {
	bus := event.New("e1", 64, time.Now)
	t.Cleanup(bus.Close)
	return bus
}

func eventsRoute(bus *event.Bus, cfg web.EventsConfig) web.Route {
	return web.Stream("/api/events", "Follow what happens", web.Events(bus.Subscribe, cfg)).TokenInQuery()
}

// frames reads server-sent events.
type frames struct {
	t    *testing.T
	conn net.Conn
	br   *bufio.Reader
}

type frame struct {
	id, event, data, retry string
	payload                map[string]any
}

// follow opens the stream and returns it after its answer's headers.
func follow(t *testing.T, conn net.Conn, host, query string, headers ...string) *frames {
	t.Helper()
	fmt.Fprintf(conn, "GET /api/events?token=%s%s HTTP/1.1\r\nHost: %s\r\n%s\r\n", secret, query, host, strings.Join(append(headers, ""), "\r\n"))
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodGet})
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" || res.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("got %d %v", res.StatusCode, res.Header)
	}
	return &frames{t: t, conn: conn, br: bufio.NewReader(res.Body)}
}

func (s *server) follow(query string, headers ...string) *frames {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	return follow(s.t, conn, s.addr, query, headers...)
}

// next reads one frame, strictly: known fields, each once, on one line.
func (f *frames) next() frame {
	f.t.Helper()
	var got frame
	for {
		line, err := f.br.ReadString('\n')
		if err != nil {
			f.t.Fatalf("the stream ended: %v", err)
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			break
		}
		name, value, _ := strings.Cut(line, ": ")
		field := map[string]*string{"id": &got.id, "event": &got.event, "data": &got.data, "retry": &got.retry}[name]
		if field == nil || *field != "" {
			f.t.Fatalf("odd line %q", line)
		}
		*field = value
	}
	if got.data == "" {
		return got
	}
	var data struct {
		ID, Type  string
		Timestamp time.Time
		Payload   map[string]any
	}
	if err := json.Unmarshal([]byte(got.data), &data); err != nil {
		f.t.Fatal(err)
	}
	if data.ID != got.id || data.Type != got.event || data.Timestamp.IsZero() || data.Timestamp.Location() != time.UTC {
		f.t.Errorf("data %s contradicts id %s, event %s", got.data, got.id, got.event)
	}
	got.payload = data.Payload
	return got
}

// opening reads what every stream begins with.
func (f *frames) opening(position string) {
	f.t.Helper()
	if r := f.next(); r.retry != "2000" || r.data != "" {
		f.t.Errorf("got %+v, want retry first", r)
	}
	f.want("app.connected", position)
}

func (f *frames) want(event, id string) frame {
	f.t.Helper()
	got := f.next()
	if got.event != event || got.id != id {
		f.t.Errorf("got %s %s, want %s %s", got.event, got.id, event, id)
	}
	return got
}

func completed(job string) ambry.ScanCompletion { return ambry.ScanCompletion{JobID: job} }

func TestEventsGreetAndFollow(t *testing.T) {
	bus := newBus(t)
	s := start(t, eventsRoute(bus, web.EventsConfig{}))
	bus.Publish(completed("old"))
	f := s.follow("")
	if r := f.next(); r.retry != "2000" {
		t.Errorf("got %+v, want retry first", r)
	}
	if c := f.want("app.connected", "e1-1"); c.payload["epoch"] != "e1" || c.payload["connectedAt"] == nil {
		t.Errorf("got %v, want epoch and connectedAt", c.payload)
	}
	bus.Publish(completed("new"))
	if got := f.want("agent_source.scan_completed", "e1-2"); got.payload["jobId"] != "new" {
		t.Errorf("got job %v, want new", got.payload["jobId"])
	}
}

func TestEventsContinue(t *testing.T) {
	bus := newBus(t)
	s := start(t, eventsRoute(bus, web.EventsConfig{}))
	for i := 1; i <= 100; i++ {
		bus.Publish(completed(fmt.Sprint(i)))
	}
	for name, f := range map[string]*frames{
		"header":          s.follow("", "Last-Event-ID: e1-98"),
		"query":           s.follow("&lastEventId=e1-98"),
		"header and less": s.follow("&lastEventId=e1-3", "Last-Event-ID: e1-98"),
	} {
		t.Run(name, func(t *testing.T) {
			f.t = t
			f.opening("e1-98")
			f.want("agent_source.scan_completed", "e1-99")
			f.want("agent_source.scan_completed", "e1-100")
		})
	}
	for _, tt := range []struct{ last, reason string }{
		{"e1-3", "too_old"}, {"e0-99", "epoch_changed"}, {strings.Repeat("9", 8000), "epoch_changed"},
	} {
		f := s.follow("", "Last-Event-ID: "+tt.last)
		f.opening("e1-100")
		if got := f.want("app.resync", "e1-100"); got.payload["reason"] != tt.reason {
			t.Errorf("%.20s: got %v, want %s", tt.last, got.payload, tt.reason)
		}
	}
}

// The heart beats every 15 seconds, whatever else happens, and its id continues
// like any other.
func TestEventsHeartbeat(t *testing.T) {
	bus := event.New("e1", 64, time.Now)
	bubble(t, func(t *testing.T, ln *pipes) {
		begin := time.Now()
		f := follow(t, ln.dial(), "127.0.0.1:80", "")
		defer f.conn.Close()
		f.opening("e1-0")
		f.want("app.heartbeat", "e1-0")
		bus.Publish(completed("a"))
		f.want("agent_source.scan_completed", "e1-1")
		if beat := f.want("app.heartbeat", "e1-1"); beat.payload["sentAt"] == nil {
			t.Errorf("got %v, want sentAt", beat.payload)
		}
		if took := time.Since(begin); took != 30*time.Second {
			t.Errorf("two heartbeats took %v, want 30s", took)
		}
	}, eventsRoute(bus, web.EventsConfig{}))
}

// A reader who takes nothing is cut after five seconds, and holds up nobody.
func TestStuckReaderIsCut(t *testing.T) {
	bus := event.New("e1", 64, time.Now)
	bubble(t, func(t *testing.T, ln *pipes) {
		stuck := follow(t, ln.dial(), "127.0.0.1:80", "")
		defer stuck.conn.Close()
		stuck.opening("e1-0")
		live := follow(t, ln.dial(), "127.0.0.1:80", "")
		defer live.conn.Close()
		live.opening("e1-0")
		begin := time.Now()
		for i := 1; i <= 20; i++ {
			bus.Publish(completed(fmt.Sprint(i)))
			live.want("agent_source.scan_completed", fmt.Sprint("e1-", i))
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("the live reader waited %v", took)
		}
		time.Sleep(6 * time.Second)
		if n, err := io.Copy(io.Discard, stuck.conn); err != nil && !errors.Is(err, io.ErrClosedPipe) || n > 4096 {
			t.Errorf("the stuck reader still gets %d bytes, %v", n, err)
		}
	}, eventsRoute(bus, web.EventsConfig{}))
}

// A reader that stays and reads sees everything, in order, beside others that
// never read.
func TestLiveReadersMissNothingBesideStuckOnes(t *testing.T) {
	const count = 5000
	bus := event.New("e1", count, time.Now)
	t.Cleanup(bus.Close)
	// However slow it is, no heartbeat comes in between and nobody is cut.
	s := start(t, eventsRoute(bus, web.EventsConfig{Heartbeat: time.Hour, WriteTimeout: time.Hour}))
	for range 8 {
		stuck := s.follow("")
		_ = stuck.conn.(*net.TCPConn).SetReadBuffer(1024)
	}
	var wg sync.WaitGroup
	for range 4 {
		f := s.follow("")
		f.opening("e1-0")
		_ = f.conn.SetDeadline(time.Time{}) // all of them take as long as they take
		wg.Go(func() {
			for i := 1; i <= count; i++ {
				f.want("agent_source.scan_completed", fmt.Sprint("e1-", i))
			}
		})
	}
	for range count {
		bus.Publish(completed("a"))
	}
	wg.Wait()
}

func TestEventsAreLimited(t *testing.T) {
	bus := newBus(t)
	s := start(t, eventsRoute(bus, web.EventsConfig{MaxStreams: func() int { return 3 }}))
	var open []*frames
	for range 3 {
		f := s.follow("")
		f.opening("e1-0")
		open = append(open, f)
	}
	for range 5 {
		r := s.send("GET", "/api/events?token="+secret, "")
		r.want(t, 429, "rate_limited")
		if r.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	_ = open[0].conn.Close()
	deadline := time.Now().Add(time.Minute)
	for s.send("HEAD", "/api/health", "").status == 200 && time.Now().Before(deadline) {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET /api/events?token=%s HTTP/1.1\r\nHost: %s\r\n\r\n", secret, s.addr)
		line, _ := bufio.NewReader(conn).ReadString('\n')
		_ = conn.Close()
		if strings.Contains(line, "200") {
			return
		}
	}
	t.Error("no stream can be opened after one was closed")
}

// Readers that come and go, half of them by a reset, leave nothing behind: the
// leak check of this package sees to the goroutines, the limit to the places.
func TestEventsHangUpsLeaveNothingBehind(t *testing.T) {
	bus := newBus(t)
	s := start(t, eventsRoute(bus, web.EventsConfig{MaxStreams: func() int { return 8 }}))
	for i := range 200 {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET /api/events?token=%s HTTP/1.1\r\nHost: %s\r\n\r\n", secret, s.addr)
		_, _ = bufio.NewReader(conn).ReadString('\n')
		if i%2 == 0 {
			_ = conn.(*net.TCPConn).SetLinger(0)
		}
		_ = conn.Close()
	}
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		if r := s.raw("GET /api/events?token=wrong HTTP/1.1\r\nHost: HOST\r\n\r\n"); r.status != 401 {
			t.Fatalf("got %d, want 401", r.status)
		}
		if strings.Count(s.log.String(), "route=/api/events method=GET status=") >= 200 {
			s.follow("").opening("e1-0")
			return
		}
	}
	t.Error("streams of readers who hung up are still open")
}

func TestEventsEndWithTheBus(t *testing.T) {
	bus := newBus(t)
	s := start(t, eventsRoute(bus, web.EventsConfig{}))
	f := s.follow("")
	f.opening("e1-0")
	bus.Publish(completed("last"))
	bus.Close()
	f.want("agent_source.scan_completed", "e1-1")
	if _, err := f.br.ReadByte(); err != io.EOF {
		t.Errorf("got %v, want the end", err)
	}
}

func TestEventsEndWithTheServer(t *testing.T) {
	bus := event.New("e1", 64, time.Now)
	bubble(t, func(t *testing.T, ln *pipes) {
		f := follow(t, ln.dial(), "127.0.0.1:80", "")
		f.opening("e1-0")
		begin, ended := time.Now(), make(chan struct{})
		go func() {
			defer close(ended)
			if _, err := f.br.ReadByte(); err != io.EOF || time.Since(begin) > 0 {
				t.Errorf("after %v got %v, want the end", time.Since(begin), err)
			}
			f.conn.Close()
		}()
		t.Cleanup(func() { <-ended })
	}, eventsRoute(bus, web.EventsConfig{}))
}
