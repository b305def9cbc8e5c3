package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"ambry.dev/ambry/internal/channel"
	"ambry.dev/ambry/internal/channel/channeltest"
)

// testToken is put together, so that nothing takes this file for a leak.
const testToken = "MTAwMDAwMDAwMDAwMDAwMDAw" + ".GtEsTx." + "of_nobody-0123456789abcdefghijklmnop"

const botUser = "1000000000000000001"

var (
	people = map[string]string{channeltest.Ann: "1000000000000000002", channeltest.Ben: "1000000000000000003"}
	places = map[string]string{
		channeltest.Ann: "2000000000000000002", channeltest.Ben: "2000000000000000003",
		channeltest.Harbour: "2000000000000000004", channeltest.Basin: "2000000000000000005",
	}
)

// server speaks as Discord documents its API and its gateway: sessions with
// numbered events, which go on over another connection, and heartbeats.
type server struct {
	*httptest.Server
	t    *testing.T
	sent chan channeltest.Sent

	mu       sync.Mutex
	token    string
	n        int
	sessions map[string]*session
	newest   *session
	last     map[string]any
	faults   map[string][]fault // by path, the next first
	posts    []map[string]any
	interval time.Duration // of heartbeats
	deaf     bool          // no heartbeat is answered
	first    []string      // frames in place of the greeting; a number closes with it
	begun    []string      // how connections began: "identify" or "resume 5"
	beats    chan string
	left     int // sessions that may be begun
}

// session has all its events, as long as it is kept.
type session struct {
	id     string
	events []map[string]any
	conn   *websocket.Conn // nil while there is none
}

// fault is an answer that is not as usual.
type fault struct {
	status int
	after  string // Retry-After
	body   string
}

func newServer(t *testing.T) *server {
	s := &server{
		t: t, token: testToken, sent: make(chan channeltest.Sent, 100), sessions: map[string]*session{},
		faults: map[string][]fault{}, interval: time.Minute, beats: make(chan string, 1000), left: 1000,
	}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Server.Close)
	t.Cleanup(s.cut)
	return s
}

// link makes a link to the server.
func (s *server) link(a channel.Access) (channel.Link, error) {
	return newLink(a, wire{base: s.URL + "/api/v10", beat: time.Millisecond, echo: 10 * time.Second, pause: time.Millisecond})
}

func (s *server) values() map[string]string { return map[string]string{fieldToken: testToken} }

func (s *server) world() channeltest.World {
	return channeltest.World{
		Values: s.values(), Wrong: map[string]string{fieldToken: testToken + "0"},
		New: s.link, Say: s.say, Hear: s.hear, Cut: s.cut, Again: s.again,
		Bots: true, Remembers: true, Libraries: []string{"github.com/coder/websocket"},
	}
}

func (s *server) say(l channeltest.Line) {
	m := map[string]any{
		"channel_id": places[l.From], "content": l.Text,
		"author": map[string]any{"id": people[l.From], "username": l.From, "global_name": "Real " + l.From, "bot": l.Bot},
	}
	if l.In != "" {
		m["channel_id"], m["guild_id"] = places[l.In], "3000000000000000001"
	}
	if l.Mention {
		m["content"], m["mentions"] = "<@"+botUser+"> "+l.Text, []map[string]any{{"id": botUser, "username": "ambry"}}
	}
	if l.In != "" && !l.Mention {
		m["content"] = "" // what is not for us may not be read
	}
	s.write(m)
}

// write delivers a message.
func (s *server) write(m map[string]any) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	id := fmt.Sprintf("4%018d", s.n)
	for key, value := range map[string]any{"id": id, "type": 0, "timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000000-07:00"), "mentions": []any{}} {
		if _, ok := m[key]; !ok {
			m[key] = value
		}
	}
	s.last = m
	s.tell("MESSAGE_CREATE", m)
	return id
}

// tell adds an event to the newest session; the caller has the lock.
func (s *server) tell(kind string, data any) {
	if s.newest == nil {
		return
	}
	e := map[string]any{"op": opEvent, "t": kind, "s": len(s.newest.events) + 1, "d": data}
	s.newest.events = append(s.newest.events, e)
	if s.newest.conn != nil {
		s.frame(s.newest.conn, e)
	}
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
	_ = s.newest.conn.Write(context.Background(), websocket.MessageText, []byte(text))
}

// again delivers the last message once more.
func (s *server) again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell("MESSAGE_CREATE", s.last)
}

// cut ends the connection without a word.
func (s *server) cut() { s.drop(0) }

// drop closes the connection with a number, or without one if it is 0.
func (s *server) drop(code websocket.StatusCode) {
	s.mu.Lock()
	if s.newest == nil || s.newest.conn == nil {
		s.mu.Unlock()
		return
	}
	c := s.newest.conn
	s.newest.conn = nil
	s.mu.Unlock()
	if code == 0 {
		c.CloseNow()
	} else {
		_ = c.Close(code, "told why")
	}
}

// lose forgets all sessions.
func (s *server) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions = map[string]*session{}
}

func (s *server) hear(within time.Duration) (channeltest.Sent, bool) {
	select {
	case m := <-s.sent:
		return m, true
	case <-time.After(within):
		return channeltest.Sent{}, false
	}
}

// fail makes the next calls of a path answer otherwise.
func (s *server) fail(path string, f ...fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[path] = append(s.faults[path], f...)
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/gateway") {
		s.gateway(w, r)
		return
	}
	path := strings.TrimPrefix(r.URL.Path, "/api/v10")
	s.mu.Lock()
	token := s.token
	if f := s.faults[path]; len(f) > 0 {
		s.faults[path] = f[1:]
		s.mu.Unlock()
		if f[0].after != "" {
			w.Header().Set("Retry-After", f[0].after)
		}
		w.WriteHeader(f[0].status)
		_, _ = io.WriteString(w, f[0].body)
		return
	}
	left := s.left
	s.mu.Unlock()
	if r.Header.Get("Authorization") != "Bot "+token {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"message":"401: Unauthorized","code":0}`)
		return
	}
	if !strings.HasPrefix(r.UserAgent(), "DiscordBot (") {
		s.t.Errorf("the agent is %q", r.UserAgent())
	}
	var out any
	switch place, sends := strings.CutSuffix(path, "/messages"); {
	case path == "/users/@me":
		out = map[string]any{"id": botUser, "username": "ambry", "bot": true}
	case path == "/gateway/bot":
		out = map[string]any{
			"url": "ws" + strings.TrimPrefix(s.URL, "http") + "/gateway", "shards": 1,
			"session_start_limit": map[string]any{"total": 1000, "remaining": left, "reset_after": 7200000, "max_concurrency": 1},
		}
	case sends && r.Method == http.MethodPost:
		out = s.post(r, strings.TrimPrefix(place, "/channels/"))
	default:
		w.WriteHeader(http.StatusNotFound)
		out = map[string]any{"message": "404: Not Found", "code": 0}
	}
	_ = json.NewEncoder(w).Encode(out)
}

var (
	address   = regexp.MustCompile(`https?://[^\s<]+[^<.,:"')\]\s]`)
	protected = regexp.MustCompile(`\\([^0-9A-Za-z\s])`)
	markup    = regexp.MustCompile("[\\\\*_~`|<[]|(?m)^[ \t]*([#>-]|[0-9]+[.)])")
)

func (s *server) post(r *http.Request, place string) any {
	var in struct {
		Content string `json:"content"`
		Flags   int    `json:"flags"`
		Allowed *struct {
			Parse []string `json:"parse"`
			Reply bool     `json:"replied_user"`
		} `json:"allowed_mentions"`
		Embeds []any `json:"embeds"`
	}
	data, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(data, &in)
	}
	if n := channel.Units(in.Content); err != nil || n == 0 || n > 2000 {
		s.t.Errorf("sent to %q are %d units, %v", place, n, err)
	}
	var values map[string]any
	_ = json.Unmarshal(data, &values)
	live := ""
	switch {
	case in.Allowed == nil || in.Allowed.Parse == nil || len(in.Allowed.Parse) > 0 || in.Allowed.Reply:
		live = "a mention"
	case in.Flags&4 == 0 || len(in.Embeds) > 0:
		live = "a link is fetched"
	case markup.MatchString(protected.ReplaceAllString(address.ReplaceAllString(in.Content, "link"), "x")):
		live = "markup"
	}
	sent := channeltest.Sent{Text: protected.ReplaceAllString(in.Content, "$1"), Live: live}
	for name, id := range places {
		if id == place {
			sent.In = name
		}
	}
	s.mu.Lock()
	s.posts = append(s.posts, values)
	s.mu.Unlock()
	back := map[string]any{"channel_id": place, "content": in.Content, "author": map[string]any{"id": botUser, "username": "ambry", "bot": true}}
	s.write(back) // what we write comes back
	s.sent <- sent
	return back
}

func (s *server) gateway(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("v") != "10" || r.URL.Query().Get("encoding") != "json" {
		s.t.Errorf("the gateway is asked for %s", r.URL)
	}
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		s.t.Error(err)
		return
	}
	defer c.CloseNow()
	s.mu.Lock()
	if len(s.first) > 0 {
		first := s.first[0]
		s.first = s.first[1:]
		s.mu.Unlock()
		_ = c.Write(r.Context(), websocket.MessageText, []byte(first))
		_, _, _ = c.Read(r.Context())
		return
	}
	s.frame(c, map[string]any{"op": opHello, "d": map[string]any{"heartbeat_interval": s.interval.Milliseconds(), "_trace": []string{"x"}}})
	s.mu.Unlock()
	for {
		_, data, err := c.Read(r.Context())
		if err != nil {
			break
		}
		var f struct {
			Op   int `json:"op"`
			Data any `json:"d"`
		}
		if err := json.Unmarshal(data, &f); err != nil {
			s.t.Errorf("sent over the connection is %s", data)
		}
		s.said(c, f.Op, f.Data)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.sessions {
		if one.conn == c {
			one.conn = nil
		}
	}
}

// said takes what a client says.
func (s *server) said(c *websocket.Conn, op int, data any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fields, _ := data.(map[string]any)
	switch op {
	case opBeat:
		if !s.deaf {
			s.frame(c, map[string]any{"op": opEcho})
		}
		s.beats <- fmt.Sprint(data)
	case opIdentify:
		s.begun = append(s.begun, "identify")
		if fields["token"] != s.token {
			_ = c.Close(4004, "Authentication failed.")
			return
		}
		if fields["intents"] != float64(1<<9|1<<12) {
			s.t.Errorf("identified with %v", fields)
		}
		s.n++
		s.newest = &session{id: fmt.Sprintf("session-%d", s.n), conn: c}
		s.sessions[s.newest.id] = s.newest
		s.tell("READY", map[string]any{
			"v": 10, "user": map[string]any{"id": botUser}, "session_id": s.newest.id,
			"resume_gateway_url": "ws" + strings.TrimPrefix(s.URL, "http") + "/gateway-resume", "guilds": []any{},
		})
	case opResume:
		id, _ := fields["session_id"].(string)
		seq, _ := fields["seq"].(float64)
		s.begun = append(s.begun, fmt.Sprintf("resume %d", int(seq)))
		one := s.sessions[id]
		if one == nil || fields["token"] != s.token || int(seq) > len(one.events) {
			s.frame(c, map[string]any{"op": opInvalid, "d": false})
			return
		}
		for _, e := range one.events[int(seq):] {
			s.frame(c, e)
		}
		one.conn, s.newest = c, one
		s.tell("RESUMED", map[string]any{})
	default:
		s.t.Errorf("said is %d, %v", op, data)
	}
}

// beginnings returns how connections began.
func (s *server) beginnings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.begun)
}
