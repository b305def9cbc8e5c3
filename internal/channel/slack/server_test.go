package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"ambry.dev/ambry/internal/channel"
	"ambry.dev/ambry/internal/channel/channeltest"
)

// The tokens are put together, so that nothing takes this file for a leak.
const (
	testApp = "xapp-" + "1-A0TEST-0123456789-abcdef"
	testBot = "xoxb-" + "0123456789-0123456789-abcdef"
)

const botUser, botID = "U0AMBRY", "B0AMBRY"

var (
	people = map[string]string{channeltest.Ann: "U0ANN", channeltest.Ben: "U0BEN"}
	places = map[string]string{
		channeltest.Ann: "D0ANN", channeltest.Ben: "D0BEN",
		channeltest.Harbour: "C0HARBOUR", channeltest.Basin: "C0BASIN",
	}
)

// server speaks as Slack documents its Web API and Socket Mode: an address for
// one connection each, envelopes that come again until they are confirmed.
type server struct {
	*httptest.Server
	t    *testing.T
	sent chan channeltest.Sent
	done chan string // envelopes that were confirmed

	mu       sync.Mutex
	app, bot string
	n        int
	tickets  map[string]bool
	conns    []*websocket.Conn
	waiting  []envelope
	last     envelope
	posts    []map[string]string
	faults   map[string][]fault
	hello    []string // frames in place of the greeting
}

// envelope is an event on its way.
type envelope struct {
	id      string
	payload map[string]any
	retry   int
}

// fault is an answer that is not as usual.
type fault struct {
	status int
	after  string // Retry-After
	body   string
}

func newServer(t *testing.T) *server {
	s := &server{
		t: t, app: testApp, bot: testBot, sent: make(chan channeltest.Sent, 100), done: make(chan string, 1000),
		tickets: map[string]bool{}, faults: map[string][]fault{},
	}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Server.Close)
	t.Cleanup(s.cut)
	return s
}

// link makes a link to the server.
func (s *server) link(a channel.Access) (channel.Link, error) {
	return newLink(a, wire{base: s.URL + "/api/"})
}

func (s *server) values() map[string]string {
	return map[string]string{fieldApp: testApp, fieldBot: testBot}
}

func (s *server) world() channeltest.World {
	return channeltest.World{
		Values: s.values(), Wrong: map[string]string{fieldApp: testApp, fieldBot: testBot + "0"},
		New: s.link, Say: s.say, Hear: s.hear, Cut: s.cut, Again: s.again,
		Bots: true, Remembers: true, Libraries: []string{"github.com/slack-go/slack", "github.com/coder/websocket"},
	}
}

func (s *server) say(l channeltest.Line) {
	e := map[string]any{"type": "message", "channel_type": "im", "channel": places[l.From], "user": people[l.From], "text": escape(l.Text)}
	if l.In != "" {
		e["channel"], e["channel_type"] = places[l.In], "channel"
	}
	if l.Mention {
		e["type"], e["text"] = "app_mention", "<@"+botUser+"> "+escape(l.Text)
		delete(e, "channel_type")
	}
	if l.Bot {
		e["bot_id"] = "B0OTHER"
	}
	s.tell(e)
}

// tell delivers an event, and returns the time that it has in place of a number.
func (s *server) tell(e map[string]any) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	ts := fmt.Sprintf("%d.%06d", time.Now().Unix(), s.n)
	if e["ts"] == nil {
		e["ts"] = ts
	}
	s.put(envelope{id: fmt.Sprintf("envelope-%d", s.n), payload: map[string]any{
		"type": "event_callback", "event_id": fmt.Sprintf("Ev%08d", s.n), "event_time": time.Now().Unix(), "team_id": "T0TEST", "event": e,
	}})
	return ts
}

// put adds an envelope, and sends it if there is a connection; the caller has
// the lock.
func (s *server) put(v envelope) {
	s.waiting, s.last = append(s.waiting, v), v
	if n := len(s.conns); n > 0 {
		s.push(s.conns[n-1], v)
	}
}

func (s *server) push(c *websocket.Conn, v envelope) {
	s.frame(c, map[string]any{
		"type": "events_api", "envelope_id": v.id, "payload": v.payload, "accepts_response_payload": false,
		"retry_attempt": v.retry, "retry_reason": "",
	})
}

func (s *server) frame(c *websocket.Conn, f any) {
	data, err := json.Marshal(f)
	if err != nil {
		s.t.Error(err)
	}
	_ = c.Write(context.Background(), websocket.MessageText, data)
}

// raw sends something as it is over the newest connection.
func (s *server) raw(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.conns[len(s.conns)-1].Write(context.Background(), websocket.MessageText, []byte(text))
}

// again delivers the last event once more, as after a time-out.
func (s *server) again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	v := s.last
	v.id, v.retry = fmt.Sprintf("envelope-%d", s.n), v.retry+1
	s.put(v)
}

func (s *server) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.CloseNow()
	}
	s.conns = nil
}

func (s *server) hear(within time.Duration) (channeltest.Sent, bool) {
	select {
	case m := <-s.sent:
		return m, true
	case <-time.After(within):
		return channeltest.Sent{}, false
	}
}

// fail makes the next calls of a method answer otherwise.
func (s *server) fail(method string, f ...fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[method] = append(s.faults[method], f...)
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/link" {
		s.socket(w, r)
		return
	}
	method := strings.TrimPrefix(r.URL.Path, "/api/")
	s.mu.Lock()
	want := s.bot
	if method == "apps.connections.open" {
		want = s.app
	}
	if f := s.faults[method]; len(f) > 0 {
		s.faults[method] = f[1:]
		s.mu.Unlock()
		if f[0].after != "" {
			w.Header().Set("Retry-After", f[0].after)
		}
		w.WriteHeader(f[0].status)
		_, _ = io.WriteString(w, f[0].body)
		return
	}
	s.mu.Unlock()
	if r.Method != http.MethodPost || r.FormValue("token") != want && r.Header.Get("Authorization") != "Bearer "+want {
		_, _ = io.WriteString(w, `{"ok":false,"error":"invalid_auth"}`)
		return
	}
	out := map[string]any{"ok": true}
	switch method {
	case "auth.test":
		out["user"], out["user_id"], out["bot_id"], out["team"], out["team_id"] = "ambry", botUser, botID, "Test", "T0TEST"
	case "apps.connections.open":
		s.mu.Lock()
		s.n++
		ticket := fmt.Sprintf("ticket-%d", s.n)
		s.tickets[ticket] = true
		s.mu.Unlock()
		out["url"] = "ws" + strings.TrimPrefix(s.URL, "http") + "/link?ticket=" + ticket
	case "users.info":
		out["user"] = map[string]any{"id": r.FormValue("user"), "name": "name", "real_name": "Real Name", "profile": map[string]any{"display_name": "shown " + r.FormValue("user")}}
	case "chat.postMessage":
		out["channel"], out["ts"] = r.FormValue("channel"), s.post(r)
	default:
		out = map[string]any{"ok": false, "error": "unknown_method"}
	}
	_ = json.NewEncoder(w).Encode(out)
}

func (s *server) post(r *http.Request) string {
	text, in := r.FormValue("text"), r.FormValue("channel")
	if n := channel.Runes(text); n == 0 || n > 4000 {
		s.t.Errorf("sent to %q are %d characters", in, n)
	}
	values := map[string]string{}
	for key, v := range r.Form {
		values[key] = v[0]
	}
	live := ""
	switch {
	case r.FormValue("mrkdwn") != "false" || r.FormValue("parse") != "none" || r.FormValue("blocks") != "" || strings.ContainsAny(text, "<>"):
		live = "markup"
	case r.FormValue("unfurl_links") != "false" || r.FormValue("unfurl_media") != "false":
		live = "a link is fetched"
	}
	s.mu.Lock()
	s.posts = append(s.posts, values)
	s.mu.Unlock()
	sent := channeltest.Sent{Text: unescaper.Replace(text), Live: live}
	for name, id := range places {
		if id == in {
			sent.In = name
		}
	}
	// What the app writes alone with somebody comes back to it.
	kind := "im"
	if in[0] == 'C' {
		kind = "channel"
	}
	ts := s.tell(map[string]any{"type": "message", "channel_type": kind, "channel": in, "user": botUser, "bot_id": botID, "text": text})
	s.sent <- sent
	return ts
}

func (s *server) socket(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	ticket := r.URL.Query().Get("ticket")
	ok := s.tickets[ticket]
	delete(s.tickets, ticket)
	s.mu.Unlock()
	if !ok {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		s.t.Error(err)
		return
	}
	defer c.CloseNow()
	s.mu.Lock()
	if len(s.hello) > 0 {
		first := s.hello[0]
		s.hello = s.hello[1:]
		_ = c.Write(r.Context(), websocket.MessageText, []byte(first))
	} else {
		s.conns = append(s.conns, c)
		s.frame(c, map[string]any{"type": "hello", "num_connections": len(s.conns), "connection_info": map[string]any{"app_id": "A0TEST"}})
		for i := range s.waiting {
			s.waiting[i].retry++
			s.push(c, s.waiting[i])
		}
	}
	s.mu.Unlock()
	for {
		_, data, err := c.Read(r.Context())
		if err != nil {
			break
		}
		var f struct {
			ID string `json:"envelope_id"`
		}
		if json.Unmarshal(data, &f) != nil || f.ID == "" {
			s.t.Errorf("sent over the connection is %s", data)
		}
		s.confirm(f.ID)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.conns {
		if s.conns[i] == c {
			s.conns = append(s.conns[:i:i], s.conns[i+1:]...)
			break
		}
	}
}

func (s *server) confirm(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.waiting {
		if s.waiting[i].id == id {
			s.waiting = append(s.waiting[:i:i], s.waiting[i+1:]...)
			break
		}
	}
	s.done <- id
}
