package feishu

import (
	"encoding/json"
	"fmt"
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

const (
	appID = "cli_a1b2c3d4e5f60718"
	botID = "ou_us"
)

var appSecret = "app" + "Secret0123456789"

// fake speaks the wire of Feishu.
type fake struct {
	*testing.T
	server *httptest.Server
	heard  chan channeltest.Sent
	pings  chan frame
	acks   chan frame

	mu       sync.Mutex
	changed  *sync.Cond
	secret   string
	valid    string // the token
	tokens   int
	conns    map[*websocket.Conn]bool
	waiting  []event2 // what was not acknowledged, in order
	last     event2
	messages int
	uuids    map[string]bool
	places   map[string]string // by the ids of messages
	answers  []func(http.ResponseWriter)
	gate     func(http.ResponseWriter) bool // in place of opening a connection
	posts    int
}

// event2 is an event on its way.
type event2 struct {
	id   string
	data []byte
	cut  int // into how many frames
}

func newFake(t *testing.T) *fake {
	f := &fake{
		T: t, heard: make(chan channeltest.Sent, 64), pings: make(chan frame, 64), acks: make(chan frame, 64),
		secret: appSecret, conns: map[*websocket.Conn]bool{}, uuids: map[string]bool{}, places: map[string]string{},
	}
	f.changed = sync.NewCond(&f.mu)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /open-apis/auth/v3/tenant_access_token/internal", f.giveToken)
	mux.HandleFunc("GET /open-apis/bot/v3/info", f.bot)
	mux.HandleFunc("POST /callback/ws/endpoint", f.endpoint)
	mux.HandleFunc("GET /ws", f.connect)
	mux.HandleFunc("POST /open-apis/im/v1/messages/{id}/reply", f.reply)
	mux.HandleFunc("POST /open-apis/im/v1/messages", f.create)
	f.server = httptest.NewServer(mux)
	t.Cleanup(func() {
		f.mu.Lock()
		f.drop()
		f.mu.Unlock()
		f.server.Close()
	})
	return f
}

func says(w http.ResponseWriter, out any) { json.NewEncoder(w).Encode(out) }

func read(t *testing.T, r *http.Request) map[string]string {
	var in map[string]string
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		t.Error(err)
	}
	return in
}

type object = map[string]any

func (f *fake) giveToken(w http.ResponseWriter, r *http.Request) {
	in := read(f.T, r)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.divert(w):
	case in["app_id"] != appID:
		says(w, object{"code": 10014, "msg": "app id not exists"})
	case in["app_secret"] != f.secret:
		says(w, object{"code": 10015, "msg": "app secret invalid: " + in["app_secret"]})
	default:
		f.tokens++
		f.valid = fmt.Sprint("t-", f.tokens)
		says(w, object{"code": 0, "msg": "ok", "tenant_access_token": f.valid, "expire": 7200})
	}
}

// divert answers something else, if a test wants it. The lock is held.
func (f *fake) divert(w http.ResponseWriter) bool {
	if len(f.answers) == 0 {
		return false
	}
	answer := f.answers[0]
	f.answers = f.answers[1:]
	if answer == nil {
		return false
	}
	answer(w)
	return true
}

func (f *fake) next(answers ...func(http.ResponseWriter)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers = append(f.answers, answers...)
}

// knows reports whether a request has the token. The lock is held.
func (f *fake) knows(w http.ResponseWriter, r *http.Request) bool {
	if r.Header.Get("Authorization") == "Bearer "+f.valid {
		return true
	}
	w.WriteHeader(http.StatusBadRequest)
	says(w, object{"code": 99991663, "msg": "Invalid access token for authorization."})
	return false
}

func (f *fake) bot(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.knows(w, r) && !f.divert(w) {
		says(w, object{"code": 0, "msg": "ok", "bot": object{"activate_status": 2, "app_name": "Harbour Bot", "open_id": botID}})
	}
}

func (f *fake) endpoint(w http.ResponseWriter, r *http.Request) {
	in := read(f.T, r)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.divert(w):
	case in["AppID"] != appID || in["AppSecret"] != f.secret:
		says(w, object{"code": 1000040345, "msg": "app_id or app_secret is invalid"})
	default:
		says(w, object{"code": 0, "msg": "", "data": object{
			"URL":          "ws" + strings.TrimPrefix(f.server.URL, "http") + "/ws?device_id=d&service_id=33554678",
			"ClientConfig": object{"ReconnectCount": -1, "ReconnectInterval": 120, "ReconnectNonce": 30, "PingInterval": 120},
		}})
	}
}

func (f *fake) connect(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	gate := f.gate
	f.mu.Unlock()
	if gate != nil && gate(w) {
		return
	}
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		f.Error(err)
		return
	}
	f.mu.Lock()
	f.conns[conn] = true
	for _, e := range f.waiting {
		f.write(conn, e)
	}
	f.changed.Broadcast()
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.conns, conn)
		f.mu.Unlock()
		conn.CloseNow()
	}()
	for {
		kind, message, err := conn.Read(f.Context())
		if err != nil {
			return
		}
		got, err := parse(message)
		if err != nil || kind != websocket.MessageBinary {
			f.Errorf("got %x, %v", message, err)
		}
		if got.method == control {
			f.pings <- got
			continue
		}
		f.acknowledged(got)
	}
}

func (f *fake) acknowledged(got frame) {
	var answer struct {
		Code int `json:"code"`
	}
	if err := json.Unmarshal(got.payload, &answer); err != nil {
		f.Error(err)
	}
	f.mu.Lock()
	for i, e := range f.waiting {
		if e.id == got.get("message_id") && answer.Code == http.StatusOK {
			f.waiting = append(f.waiting[:i:i], f.waiting[i+1:]...)
			f.changed.Broadcast()
			break
		}
	}
	f.mu.Unlock()
	select {
	case f.acks <- got:
	default:
	}
}

// write sends an event over a connection, in as many frames as it is cut into.
// The lock is held.
func (f *fake) write(conn *websocket.Conn, e event2) {
	size := len(e.data)/e.cut + 1
	for n := e.cut - 1; n >= 0; n-- { // the last one first
		out := frame{
			seq: 1, log: 2, service: 33554678, method: data,
			headers: []header{{"timestamp", "1"}, {"type", "event"}, {"message_id", e.id}, {"sum", fmt.Sprint(e.cut)}, {"seq", fmt.Sprint(n)}, {"trace_id", "t"}},
			payload: e.data[n*size : min((n+1)*size, len(e.data))], newLog: "log",
		}
		f.send(conn, out.append(nil))
	}
}

func (f *fake) send(conn *websocket.Conn, message []byte) {
	if err := conn.Write(f.Context(), websocket.MessageBinary, message); err != nil && f.Context().Err() == nil {
		f.Log(err) // it was cut, or the link ends
	}
}

// push sends bytes over the connection, and waits for one if there is none.
func (f *fake) push(message []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wait()
	for conn := range f.conns {
		f.send(conn, message)
	}
}

// wait waits for a connection. The lock is held.
func (f *fake) wait() {
	for len(f.conns) == 0 {
		f.changed.Wait()
	}
}

// said is the event of a message.
func (f *fake) said(l channeltest.Line, change ...func(message object)) event2 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.messages++
	id := fmt.Sprint("om_", f.messages)
	content, _ := json.Marshal(object{"text": l.Text})
	message := object{
		"message_id": id, "create_time": fmt.Sprint(time.Now().UnixMilli()), "chat_id": "oc_" + l.From, "chat_type": "p2p",
		"message_type": "text", "content": string(content),
	}
	f.places[id], f.places["oc_"+l.From] = l.From, l.From
	if l.In != "" {
		f.places[id], f.places["oc_"+l.In] = l.In, l.In
		message["chat_id"], message["chat_type"] = "oc_"+l.In, "group"
		if l.Mention {
			content, _ := json.Marshal(object{"text": "@_user_1 " + l.Text})
			message["content"] = string(content)
			message["mentions"] = []object{{"key": "@_user_1", "id": object{"open_id": botID, "union_id": "on_us", "user_id": nil}, "name": "Harbour Bot", "tenant_key": "k"}}
		}
	}
	for _, c := range change {
		c(message)
	}
	kind := "user"
	if l.Bot {
		kind = "app"
	}
	data, _ := json.Marshal(object{
		"schema": "2.0",
		"header": object{"event_id": "ev" + id, "event_type": "im.message.receive_v1", "create_time": "1", "token": "v", "app_id": appID, "tenant_key": "k"},
		"event": object{
			"sender":  object{"sender_id": object{"open_id": "ou_" + l.From, "union_id": "on_" + l.From, "user_id": nil}, "sender_type": kind, "tenant_key": "k"},
			"message": message,
		},
	})
	return event2{id: "m-" + id, data: data, cut: f.messages%3 + 1}
}

// deliver sends an event, now or when there is a connection.
func (f *fake) deliver(e event2) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = e
	f.waiting = append(f.waiting, e)
	for conn := range f.conns {
		f.write(conn, e)
	}
}

func (f *fake) reply(w http.ResponseWriter, r *http.Request) {
	in := read(f.T, r)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.take(w, r, in, f.places[r.PathValue("id")])
}

func (f *fake) create(w http.ResponseWriter, r *http.Request) {
	in := read(f.T, r)
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.URL.Query().Get("receive_id_type") != "chat_id" {
		f.Errorf("asked is %s", r.URL)
	}
	f.take(w, r, in, f.places[in["receive_id"]])
}

// take takes a message from us. The lock is held.
func (f *fake) take(w http.ResponseWriter, r *http.Request, in map[string]string, place string) {
	f.posts++
	if !f.knows(w, r) || f.divert(w) {
		return
	}
	live := ""
	if place == "" || in["msg_type"] != "post" || len(in["uuid"]) == 0 || len(in["uuid"]) > 50 || r.ContentLength > 30_000 {
		live = fmt.Sprintf("%d bytes, %v", r.ContentLength, in)
	}
	var post struct {
		Chinese struct {
			Content [][]struct{ Tag, Text string } `json:"content"`
		} `json:"zh_cn"`
	}
	if err := json.Unmarshal([]byte(in["content"]), &post); err != nil {
		live = err.Error()
	}
	var lines []string
	for _, line := range post.Chinese.Content {
		var text strings.Builder
		for _, e := range line {
			if text.WriteString(e.Text); e.Tag != "text" || e.Text == "" {
				live = "a piece is " + e.Tag
			}
		}
		lines = append(lines, text.String())
	}
	if !f.uuids[in["uuid"]] {
		f.uuids[in["uuid"]] = true
		f.heard <- channeltest.Sent{In: place, Text: strings.Join(lines, "\n"), Live: live}
	}
	if !f.divert(w) { // it was taken, but that does not arrive
		says(w, object{"code": 0, "msg": "success", "data": object{"message_id": "om_answer"}})
	}
}

func (f *fake) hear(within time.Duration) (channeltest.Sent, bool) {
	select {
	case s := <-f.heard:
		return s, true
	case <-time.After(within):
		return channeltest.Sent{}, false
	}
}

// cut ends the connection, and waits for one if there is none. What was received
// is acknowledged before: otherwise it would be delivered again, and not only
// what was received last.
func (f *fake) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.conns) == 0 || len(f.waiting) > 0 {
		f.changed.Wait()
	}
	f.drop()
}

// drop ends each connection. The lock is held.
func (f *fake) drop() {
	for conn := range f.conns {
		conn.CloseNow()
		delete(f.conns, conn)
	}
}

func (f *fake) link(a channel.Access) (channel.Link, error) {
	return newLink(a, map[string]string{"feishu.cn": f.server.URL})
}

func open(t *testing.T) channeltest.World {
	f := newFake(t)
	return channeltest.World{
		Values: map[string]string{"appId": appID, "appSecret": appSecret},
		Wrong:  map[string]string{"appId": appID, "appSecret": "wrong" + "Secret0123456789"},
		New:    f.link, Hear: f.hear, Cut: f.cut,
		Say: func(l channeltest.Line) { f.deliver(f.said(l)) },
		Again: func() {
			f.mu.Lock()
			last := f.last
			f.mu.Unlock()
			f.deliver(last)
		},
		Bots: true, Remembers: true, Long: 60_000, Libraries: []string{"github.com/coder/websocket"},
	}
}

func TestFeishuIsAChannel(t *testing.T) { channeltest.Run(t, Provider(), open) }
