package ntfy_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ambry.dev/ambry/internal/channel/channeltest"
)

// token is put together, so that nothing takes this file for a leak.
const token = "tk_" + "agqdq7mvbofd37zqvn29dvc0iznow"

// server speaks as ntfy documents it: topics with their last messages, streams
// of JSON, publishing by JSON, tokens.
type server struct {
	*httptest.Server
	t    *testing.T
	sent chan channeltest.Sent

	mu       sync.Mutex
	n        int
	messages []message
	streams  map[chan message]bool
	limited  int // how many are told to be slower
}

type message struct {
	ID      string   `json:"id"`
	Time    int64    `json:"time"`
	Expires int64    `json:"expires,omitempty"`
	Event   string   `json:"event"`
	Topic   string   `json:"topic"`
	Title   string   `json:"title,omitempty"`
	Message string   `json:"message,omitempty"`
	Tags    []string `json:"tags,omitempty"`
}

func newServer(t *testing.T) *server {
	s := &server{t: t, sent: make(chan channeltest.Sent, 100), streams: map[chan message]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{topic}/auth", s.auth)
	mux.HandleFunc("GET /{topic}/json", s.follow)
	mux.HandleFunc("POST /{$}", s.publish)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"code":40101,"http":401,"error":"unauthorized"}`)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Server.Close)
	t.Cleanup(s.cut)
	return s
}

func (s *server) auth(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, `{"success":true}`)
}

// add adds a message and tells whoever listens.
func (s *server) add(text string, tags ...string) message {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	m := message{ID: fmt.Sprintf("id%010d", s.n), Time: time.Now().Unix(), Event: "message", Topic: "harbour-k3", Message: text, Tags: tags}
	s.messages = append(s.messages, m)
	s.tell(m)
	return m
}

// tell tells whoever listens; the caller has the lock.
func (s *server) tell(m message) {
	for c := range s.streams {
		c <- m
	}
}

// again delivers the last message once more.
func (s *server) again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(s.messages[len(s.messages)-1])
}

func (s *server) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.streams {
		close(c)
		delete(s.streams, c)
	}
}

func (s *server) follow(w http.ResponseWriter, r *http.Request) {
	c := make(chan message, 1000)
	out := json.NewEncoder(w)
	s.mu.Lock()
	_ = out.Encode(message{ID: "open", Time: time.Now().Unix(), Event: "open", Topic: r.PathValue("topic")})
	for _, m := range s.since(r.URL.Query().Get("since")) {
		_ = out.Encode(m)
	}
	_ = out.Encode(message{ID: "alive", Time: time.Now().Unix(), Event: "keepalive", Topic: r.PathValue("topic")})
	s.streams[c] = true
	s.mu.Unlock()
	_ = http.NewResponseController(w).Flush()
	for {
		select {
		case m, ok := <-c:
			if !ok {
				conn, _, err := http.NewResponseController(w).Hijack()
				if err == nil {
					conn.Close()
				}
				return
			}
			_ = out.Encode(m)
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			s.mu.Lock()
			delete(s.streams, c)
			s.mu.Unlock()
			return
		}
	}
}

// since returns what came after an id or a time; the caller has the lock.
func (s *server) since(since string) []message {
	if since == "" {
		return nil
	}
	if i := slices.IndexFunc(s.messages, func(m message) bool { return m.ID == since }); i >= 0 {
		return s.messages[i+1:]
	}
	at, err := strconv.ParseInt(since, 10, 64)
	if err != nil {
		return s.messages
	}
	return slices.DeleteFunc(slices.Clone(s.messages), func(m message) bool { return m.Time < at })
}

func (s *server) publish(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Topic, Title, Message, Click, Attach string
		Tags                                 []string
		Markdown                             bool
	}
	s.mu.Lock()
	limited := s.limited > 0
	s.limited--
	s.mu.Unlock()
	if limited {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Topic != "harbour-k3" || len(in.Message) > 4096 {
		s.t.Errorf("published is %+v, %v", in, err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	live := ""
	if in.Markdown || in.Click != "" || in.Attach != "" {
		live = "markdown"
	}
	m := s.add(in.Message, in.Tags...)
	_ = json.NewEncoder(w).Encode(m)
	s.sent <- channeltest.Sent{In: channeltest.Ann, Text: in.Message, Live: live}
}

func (s *server) hear(within time.Duration) (channeltest.Sent, bool) {
	select {
	case m := <-s.sent:
		return m, true
	case <-time.After(within):
		return channeltest.Sent{}, false
	}
}

func (s *server) values() map[string]string {
	return map[string]string{"server": s.URL + "/", "topic": "harbour-k3", "token": token}
}

func (s *server) world() channeltest.World {
	wrong := s.values()
	wrong["token"] = strings.Replace(token, "a", "b", 1)
	return channeltest.World{
		Values: s.values(), Wrong: wrong,
		Say: func(l channeltest.Line) { s.add(l.Text) }, Hear: s.hear,
		Cut: s.cut, Again: s.again,
		NoGroups: true, Anonymous: true, Remembers: true,
	}
}
