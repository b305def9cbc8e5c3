package dingtalk

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

// fake speaks the wire of DingTalk.
type fake struct {
	*testing.T
	server *httptest.Server
	heard  chan channeltest.Sent
	acks   chan ack // of callbacks and pings

	mu       sync.Mutex
	changed  *sync.Cond
	secret   string
	tickets  int
	tokens   int
	valid    string // the token
	conns    map[*websocket.Conn]bool
	last     []byte
	messages int
	webhook  string    // what comes with messages, if not ours
	ends     time.Time // when it expires
	answers  []func(http.ResponseWriter)
	posts    []string // paths that were asked to deliver
}

// ack answers a frame.
type ack struct {
	Code    int               `json:"code"`
	Headers map[string]string `json:"headers"`
	Message string            `json:"message"`
	Data    string            `json:"data"`
}

const appID = "ding-app-1"

var appSecret = "app-" + "secret-0123456789"

func newFake(t *testing.T) *fake {
	f := &fake{
		T: t, heard: make(chan channeltest.Sent, 64), acks: make(chan ack, 64),
		secret: appSecret, conns: map[*websocket.Conn]bool{}, ends: time.Now().Add(time.Hour),
	}
	f.changed = sync.NewCond(&f.mu)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1.0/oauth2/accessToken", f.giveToken)
	mux.HandleFunc("POST /v1.0/gateway/connections/open", f.open)
	mux.HandleFunc("GET /connect", f.connect)
	mux.HandleFunc("POST /robot/sendBySession", f.session)
	mux.HandleFunc("POST /v1.0/robot/oToMessages/batchSend", f.robot)
	mux.HandleFunc("POST /v1.0/robot/groupMessages/send", f.robot)
	f.server = httptest.NewServer(mux)
	t.Cleanup(func() {
		f.mu.Lock()
		f.drop()
		f.mu.Unlock()
		f.server.Close()
	})
	return f
}

func reply(w http.ResponseWriter, status int, out any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(out)
}

func read(t *testing.T, r *http.Request) map[string]any {
	var in map[string]any
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		t.Error(err)
	}
	return in
}

func (f *fake) giveToken(w http.ResponseWriter, r *http.Request) {
	in := read(f.T, r)
	f.mu.Lock()
	defer f.mu.Unlock()
	if in["appKey"] != appID || in["appSecret"] != f.secret {
		reply(w, http.StatusBadRequest, map[string]string{"code": "invalidClientIdOrSecret", "message": fmt.Sprint("无效的clientId或者clientSecret ", in["appSecret"])})
		return
	}
	f.tokens++
	f.valid = fmt.Sprint("token-", f.tokens)
	reply(w, http.StatusOK, map[string]any{"accessToken": f.valid, "expireIn": 7200})
}

func (f *fake) open(w http.ResponseWriter, r *http.Request) {
	in := read(f.T, r)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.divert(w) {
		return
	}
	if in["clientId"] != appID || in["clientSecret"] != f.secret {
		reply(w, http.StatusUnauthorized, map[string]string{"requestid": "1", "code": "authFailed", "message": "鉴权失败"})
		return
	}
	if got, want := fmt.Sprint(in["subscriptions"]), "[map[topic:/v1.0/im/bot/messages/get type:CALLBACK]]"; got != want {
		f.Errorf("subscribed is %s", got)
	}
	f.tickets++
	reply(w, http.StatusOK, map[string]string{"endpoint": "ws" + strings.TrimPrefix(f.server.URL, "http") + "/connect", "ticket": fmt.Sprintf("t/%d+", f.tickets)})
}

func (f *fake) connect(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	known := r.URL.Query().Get("ticket") == fmt.Sprintf("t/%d+", f.tickets)
	f.mu.Unlock()
	if !known {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		f.Error(err)
		return
	}
	f.mu.Lock()
	f.conns[conn] = true
	f.changed.Broadcast()
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.conns, conn)
		f.mu.Unlock()
		conn.CloseNow()
	}()
	for {
		_, data, err := conn.Read(f.Context())
		if err != nil {
			return
		}
		var a ack
		if err := json.Unmarshal(data, &a); err != nil {
			f.Error(err)
		}
		f.acks <- a
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

func (f *fake) session(w http.ResponseWriter, r *http.Request) {
	in := read(f.T, r)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.posts = append(f.posts, r.URL.Path)
	if f.divert(w) {
		return
	}
	live := ""
	if in["msgtype"] != "text" {
		live = "it is of the kind " + fmt.Sprint(in["msgtype"])
	}
	if in["at"] != nil {
		live = "it mentions"
	}
	content, _ := in["text"].(map[string]any)
	text, _ := content["content"].(string)
	if len(text) > 20_000 {
		reply(w, http.StatusOK, map[string]any{"errcode": 460101, "errmsg": "message too long"})
		return
	}
	reply(w, http.StatusOK, map[string]any{"errcode": 0, "errmsg": "ok"})
	f.heard <- channeltest.Sent{In: r.URL.Query().Get("session"), Text: text, Live: live}
}

func (f *fake) robot(w http.ResponseWriter, r *http.Request) {
	in := read(f.T, r)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.posts = append(f.posts, r.URL.Path)
	if f.divert(w) {
		return
	}
	if r.Header.Get("x-acs-dingtalk-access-token") != f.valid {
		reply(w, http.StatusBadRequest, map[string]string{"code": "InvalidAuthentication", "message": "不合法的access_token"})
		return
	}
	var param struct {
		Content string `json:"content"`
	}
	json.Unmarshal([]byte(in["msgParam"].(string)), &param)
	live := ""
	if in["msgKey"] != "sampleText" || in["robotCode"] != appID {
		live = fmt.Sprint(in)
	}
	in["userIds"], _ = in["userIds"].([]any)
	to := strings.TrimPrefix(strings.Trim(fmt.Sprint(in["userIds"]), "[]"), "staff-")
	if group, ok := in["openConversationId"].(string); ok {
		to = strings.TrimPrefix(group, "cid-")
	}
	reply(w, http.StatusOK, map[string]any{"processQueryKey": "1"})
	f.heard <- channeltest.Sent{In: to, Text: param.Content, Live: live}
}

// push sends a frame over the connection, and waits for one if there is none.
func (f *fake) push(data []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.conns) == 0 {
		f.changed.Wait()
	}
	for conn := range f.conns {
		if err := conn.Write(f.Context(), websocket.MessageText, data); err != nil {
			f.Error(err)
		}
	}
}

// callback is a frame with a message.
func (f *fake) callback(l channeltest.Line, change ...func(map[string]any)) []byte {
	f.mu.Lock()
	f.messages++
	n := f.messages
	m := map[string]any{
		"conversationId": "cid-" + l.From, "conversationType": "1", "msgId": fmt.Sprintf("msg%d==", n), "msgtype": "text",
		"senderId": "$:LWCP_v1:$" + l.From, "senderStaffId": "staff-" + l.From, "senderNick": l.From, "senderCorpId": "corp", "chatbotCorpId": "corp",
		"chatbotUserId": "$:LWCP_v1:$us", "createAt": time.Now().UnixMilli(), "text": map[string]string{"content": l.Text},
		"sessionWebhook":            f.server.URL + "/robot/sendBySession?session=" + l.From,
		"sessionWebhookExpiredTime": f.ends.UnixMilli(), "robotCode": appID,
	}
	if l.In != "" {
		m["conversationId"], m["conversationType"], m["isInAtList"] = "cid-"+l.In, "2", l.Mention
		m["text"] = map[string]string{"content": " " + l.Text} // without the mention, which leaves a space
		m["sessionWebhook"] = f.server.URL + "/robot/sendBySession?session=" + l.In
	}
	if f.webhook != "" {
		m["sessionWebhook"] = f.webhook
	}
	f.mu.Unlock()
	for _, c := range change {
		c(m)
	}
	data, _ := json.Marshal(m)
	return frameOf("CALLBACK", topic, fmt.Sprint("frame-", n), string(data))
}

func frameOf(kind, topic, id, data string) []byte {
	out, _ := json.Marshal(map[string]any{
		"specVersion": "1.0", "type": kind, "data": data,
		"headers": map[string]string{"topic": topic, "messageId": id, "contentType": "application/json", "time": "1"},
	})
	return out
}

func (f *fake) say(l channeltest.Line) {
	if l.In != "" && !l.Mention {
		return // robots are told of mentions only
	}
	data := f.callback(l)
	f.mu.Lock()
	f.last = data
	f.mu.Unlock()
	f.push(data)
}

func (f *fake) hear(within time.Duration) (channeltest.Sent, bool) {
	select {
	case s := <-f.heard:
		return s, true
	case <-time.After(within):
		return channeltest.Sent{}, false
	}
}

// cut ends the connection, and waits for one if there is none.
func (f *fake) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.conns) == 0 {
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

func (f *fake) link(a channel.Access) (channel.Link, error) { return newLink(a, f.server.URL) }

func open(t *testing.T) channeltest.World {
	f := newFake(t)
	return channeltest.World{
		Values: map[string]string{"clientId": appID, "clientSecret": appSecret},
		Wrong:  map[string]string{"clientId": appID, "clientSecret": "wrong-" + "secret-0123456789"},
		New:    f.link, Say: f.say, Hear: f.hear, Cut: f.cut,
		Again: func() {
			f.mu.Lock()
			last := f.last
			f.mu.Unlock()
			f.push(last)
		},
		Long: 60_000, Libraries: []string{"github.com/coder/websocket"},
	}
}

func TestDingTalkIsAChannel(t *testing.T) { channeltest.Run(t, Provider(), open) }
