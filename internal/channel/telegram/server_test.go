package telegram

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ambry.dev/ambry/internal/channel"
	"ambry.dev/ambry/internal/channel/channeltest"
)

// testToken is put together, so that nothing takes this file for a leak.
const testToken = "123456789:" + "AAtest-token_of-nobody-0123456789abc"

const (
	botID   = 123456789
	botName = "ambry_bot"
)

var (
	people = map[string]int64{channeltest.Ann: 5000000001, channeltest.Ben: 5000000002} // as large as the newest are
	groups = map[string]int64{channeltest.Harbour: -1001000000001, channeltest.Basin: -1001000000002}
)

// server speaks as Telegram documents its Bot API: questions that are held until
// there is an answer, updates that are kept until a higher number is asked for,
// one reader at a time.
type server struct {
	*httptest.Server
	t    *testing.T
	sent chan channeltest.Sent

	mu      sync.Mutex
	token   string
	update  int64
	message int
	pending []map[string]any
	last    map[string]any
	news    chan struct{} // closed when there is something to tell
	reader  chan struct{} // closed when somebody else reads
	hook    string
	cuts    int // how many questions that wait are cut off
	polls   []poll
	asked   chan poll
	posts   []map[string]string
	faults  map[string][]fault // by method, the next first
	moved   map[int64]int64    // groups that have another number
}

// poll is a question for what is new.
type poll struct {
	Offset  int64    `json:"offset"`
	Timeout int      `json:"timeout"`
	Allowed []string `json:"allowed_updates"`
}

// fault is an answer that is not as usual.
type fault struct {
	status int
	body   string
}

func newServer(t *testing.T) *server {
	s := &server{
		t: t, token: testToken, update: 870000, sent: make(chan channeltest.Sent, 100), news: make(chan struct{}),
		asked:  make(chan poll, 1000),
		faults: map[string][]fault{}, moved: map[int64]int64{},
	}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Server.Close)
	t.Cleanup(s.Server.CloseClientConnections)
	return s
}

// link makes a link to the server.
func (s *server) link(a channel.Access) (channel.Link, error) {
	return newLink(a, wire{base: s.URL, poll: 20 * time.Second})
}

func (s *server) world() channeltest.World {
	return channeltest.World{
		Values: map[string]string{fieldToken: testToken},
		Wrong:  map[string]string{fieldToken: strings.Replace(testToken, "AAtest", "AArest", 1)},
		New:    s.link,
		Say:    s.say, Hear: s.hear, Cut: s.cut, Again: s.again,
		Bots: true, Remembers: true, Libraries: []string{"github.com/go-telegram/bot"},
	}
}

func (s *server) say(l channeltest.Line) {
	chat := map[string]any{"id": people[l.From], "type": "private"}
	m := map[string]any{"text": l.Text}
	if l.In != "" {
		chat = map[string]any{"id": groups[l.In], "type": "supergroup", "title": l.In}
	}
	if l.Mention {
		m["text"] = "@Ambry_Bot " + l.Text
		m["entities"] = []map[string]any{{"type": "mention", "offset": 0, "length": len("@Ambry_Bot")}}
	}
	m["chat"] = chat
	m["from"] = map[string]any{"id": people[l.From], "is_bot": l.Bot, "first_name": l.From}
	s.write(m)
}

// write delivers a message, as it comes from the one who has written it.
func (s *server) write(m map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.message++
	m["message_id"], m["date"] = s.message, time.Now().Unix()
	s.tell(map[string]any{"message": m})
}

// tell adds an update; the caller has the lock.
func (s *server) tell(update map[string]any) {
	s.update++
	update["update_id"] = s.update
	s.pending, s.last = append(s.pending, update), update
	close(s.news)
	s.news = make(chan struct{})
}

// again delivers the last update once more.
func (s *server) again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = append(s.pending, s.last)
	close(s.news)
	s.news = make(chan struct{})
}

// cut ends the connection of the question that waits, or of the next one that
// does, without a word.
func (s *server) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cuts++
	close(s.news)
	s.news = make(chan struct{})
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

// revoke makes the token one that was.
func (s *server) revoke() {
	s.mu.Lock()
	s.token = "none"
	s.mu.Unlock()
	s.cut()
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	rest, ok := strings.CutPrefix(r.URL.Path, "/bot"+s.token+"/")
	s.mu.Unlock()
	if !ok || r.Method != http.MethodPost {
		refuse(w, http.StatusUnauthorized, "Unauthorized")
		return
	}
	s.mu.Lock()
	if f := s.faults[rest]; len(f) > 0 {
		s.faults[rest] = f[1:]
		if rest == "getUpdates" {
			var in poll
			_ = json.NewDecoder(r.Body).Decode(&in)
			s.forget(in.Offset)
		}
		s.mu.Unlock()
		w.WriteHeader(f[0].status)
		_, _ = io.WriteString(w, f[0].body)
		return
	}
	s.mu.Unlock()
	switch rest {
	case "getMe":
		answerWith(w, map[string]any{"id": botID, "is_bot": true, "first_name": "Ambry", "username": botName})
	case "getWebhookInfo":
		s.mu.Lock()
		defer s.mu.Unlock()
		answerWith(w, map[string]any{"url": s.hook, "has_custom_certificate": false, "pending_update_count": len(s.pending)})
	case "deleteWebhook":
		s.mu.Lock()
		defer s.mu.Unlock()
		s.hook = ""
		if r.FormValue("drop_pending_updates") == "true" {
			s.pending = nil
		}
		answerWith(w, true)
	case "getUpdates":
		s.updates(w, r)
	case "sendMessage":
		s.post(w, r)
	default:
		refuse(w, http.StatusNotFound, "Not Found")
	}
}

func answerWith(w http.ResponseWriter, result any) {
	_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "result": result})
}

func refuse(w http.ResponseWriter, status int, why string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"ok": false, "error_code": status, "description": why})
}

func (s *server) updates(w http.ResponseWriter, r *http.Request) {
	var in poll
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		s.t.Errorf("asked for updates with %v", err)
	}
	s.mu.Lock()
	if s.reader != nil {
		close(s.reader)
	}
	mine := make(chan struct{})
	s.reader = mine
	s.polls = append(s.polls, in)
	hooked := s.hook != ""
	s.asked <- in
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.reader == mine {
			s.reader = nil
		}
	}()
	if hooked {
		refuse(w, http.StatusConflict, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first")
		return
	}
	end := time.After(time.Duration(in.Timeout) * time.Second)
	for {
		s.mu.Lock()
		s.forget(in.Offset)
		batch, news := append([]map[string]any{}, s.pending...), s.news
		cut := s.cuts > 0 && in.Timeout > 0
		if cut {
			s.cuts--
		}
		s.mu.Unlock()
		if cut {
			if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
				c.Close()
			}
			return
		}
		if len(batch) > 0 || in.Timeout == 0 {
			answerWith(w, batch)
			return
		}
		select {
		case <-news:
		case <-mine:
			refuse(w, http.StatusConflict, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running")
			return
		case <-end:
			answerWith(w, []any{})
			return
		case <-r.Context().Done():
			return
		}
	}
}

// forget drops what was confirmed; the caller has the lock.
func (s *server) forget(below int64) {
	for len(s.pending) > 0 && s.pending[0]["update_id"].(int64) < below {
		s.pending = s.pending[1:]
	}
}

// mention is what Telegram takes for a call.
var mention = regexp.MustCompile(`(^|\W)@\w`)

func (s *server) post(w http.ResponseWriter, r *http.Request) {
	text, chat := r.FormValue("text"), r.FormValue("chat_id")
	id, err := strconv.ParseInt(chat, 10, 64)
	if n := channel.Units(text); err != nil || n == 0 || n > 4096 {
		s.t.Errorf("sent to %q are %d units", chat, n)
		refuse(w, http.StatusBadRequest, "Bad Request: message is too long")
		return
	}
	values := map[string]string{}
	for key, v := range r.Form {
		values[key] = v[0]
	}
	s.mu.Lock()
	s.posts = append(s.posts, values)
	s.message++
	n, moved := s.message, s.moved[id]
	s.mu.Unlock()
	if moved != 0 {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded to a supergroup chat","parameters":{"migrate_to_chat_id":%d}}`, moved)
		return
	}
	var preview struct {
		Off bool `json:"is_disabled"`
	}
	_ = json.Unmarshal([]byte(r.FormValue("link_preview_options")), &preview)
	live := ""
	switch {
	case r.FormValue("parse_mode") != "" || r.FormValue("entities") != "":
		live = "markup"
	case !preview.Off:
		live = "a link is fetched"
	case id < 0 && mention.MatchString(text):
		live = "a mention"
	}
	s.sent <- channeltest.Sent{In: place(id), Text: strings.ReplaceAll(text, joiner, ""), Live: live} // before the answer, after which the next one may come
	answerWith(w, map[string]any{"message_id": n, "date": time.Now().Unix(), "chat": map[string]any{"id": id, "type": "private"}, "text": text})
}

func place(id int64) string {
	for _, names := range []map[string]int64{people, groups} {
		for name, number := range names {
			if number == id {
				return name
			}
		}
	}
	return strconv.FormatInt(id, 10)
}
