package feishu

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
	"ambry.dev/ambry/internal/channel/channeltest"
)

// host is what a link passes on to in tests.
type host struct {
	connected chan channel.Identity
	received  chan channel.Message
	sends     chan channel.Send
	fail      chan error // what the next messages are answered with, nil if they are taken
}

func (h *host) Connected(who channel.Identity) { h.connected <- who }

func (h *host) Receive(_ context.Context, m channel.Message, send channel.Send) error {
	select {
	case err := <-h.fail:
		return err
	default:
	}
	h.received <- m
	h.sends <- send
	return nil
}

func (h *host) Cursor() string                     { return "" }
func (h *host) Keep(context.Context, string) error { return nil }

func linkTo(t *testing.T, f *fake) *link {
	t.Helper()
	l, err := f.link(channel.Access{
		Values: map[string]string{"appId": appID, "appSecret": appSecret},
		HTTP:   f.server.Client(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	l.(*link).pause = time.Millisecond
	return l.(*link)
}

// run runs a link against a fake until the test ends.
func run(t *testing.T, f *fake) (*host, chan error) {
	t.Helper()
	l := linkTo(t, f)
	h := &host{connected: make(chan channel.Identity, 8), received: make(chan channel.Message, 64), sends: make(chan channel.Send, 64), fail: make(chan error, 8)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx, h) }()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	select {
	case who := <-h.connected:
		if who != (channel.Identity{ID: botID, Name: "Harbour Bot"}) {
			t.Errorf("connected as %+v", who)
		}
	case err := <-ended:
		ended <- err
	}
	return h, ended
}

// end returns how a link ended, so that it can be asked again.
func end(ended chan error) error {
	err := <-ended
	ended <- err
	return err
}

var ann = channeltest.Line{From: channeltest.Ann, Text: "x"}

func TestMessagesAreAcknowledgedWhenTheyWereTaken(t *testing.T) {
	f := newFake(t)
	h, ended := run(t, f)
	f.push([]byte{0xff})
	f.push((&frame{method: data, headers: []header{{"type", "event"}, {"message_id", "x"}}, payload: []byte("{")}).append(nil))
	if a := <-f.acks; a.get("message_id") != "x" || !strings.Contains(string(a.payload), "200") {
		t.Errorf("what cannot be read is answered with %+v", a)
	}
	f.push((&frame{method: data, headers: []header{{"type", "card"}}}).append(nil))
	f.deliver(f.said(ann))
	m := <-h.received
	a := <-f.acks
	var answer map[string]int
	if err := json.Unmarshal(a.payload, &answer); err != nil || answer["code"] != http.StatusOK {
		t.Errorf("answered is %q", a.payload)
	}
	if a.seq != 1 || a.log != 2 || a.service != 33554678 || a.method != data || a.newLog != "log" || a.get("trace_id") != "t" || a.get("biz_rt") == "" {
		t.Errorf("answered is %+v", a)
	}
	refuse := errors.New("not now")
	h.fail <- refuse
	f.deliver(f.said(ann))
	if err := end(ended); !errors.Is(err, refuse) {
		t.Errorf("Run ends with %v", err)
	}
	if a := <-f.acks; !strings.Contains(string(a.payload), "500") {
		t.Errorf("what was not taken is answered with %q", a.payload)
	}
	h, _ = run(t, f)
	if again := <-h.received; again.ID == m.ID || again.Sender != "ou_ann" {
		t.Errorf("delivered again is %+v", again)
	}
}

func TestSignsOfLifeComeAsFeishuWantsThem(t *testing.T) {
	f := newFake(t)
	run(t, f)
	for range 3 {
		if p := <-f.pings; p.get("type") != "ping" || p.service != 33554678 {
			t.Errorf("got %+v", p)
		}
		// A new interval begins at once.
		f.push((&frame{method: control, headers: []header{{"type", "pong"}}, payload: []byte(`{"PingInterval":600}`)}).append(nil))
	}
	for seconds, want := range map[int64]time.Duration{0: 2 * time.Minute, -1: 2 * time.Minute, 1: 5 * time.Second, 90: 90 * time.Second, 1 << 60: 10 * time.Minute} {
		if got := (config{seconds}).every(); got != want {
			t.Errorf("%d seconds are %v, want %v", seconds, got, want)
		}
	}
}

func TestConnectionsThatAreRefusedSayWhy(t *testing.T) {
	status := func(headers ...string) func(http.ResponseWriter) bool {
		return func(w http.ResponseWriter) bool {
			for i := 0; i < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			w.WriteHeader(http.StatusInternalServerError)
			return true
		}
	}
	for name, c := range map[string]struct {
		gate func(http.ResponseWriter) bool
		want ambry.Kind
	}{
		"banned":    {status("Handshake-Status", "403", "Handshake-Msg", "banned"), ambry.Unauthorized},
		"too many":  {status("Handshake-Status", "514", "Handshake-Autherrcode", "1000040350"), ambry.UpstreamFailed},
		"some auth": {status("Handshake-Status", "514", "Handshake-Autherrcode", "1"), ambry.UpstreamFailed},
		"nothing":   {status(), ambry.UpstreamFailed},
	} {
		f := newFake(t)
		f.gate = c.gate
		if _, ended := run(t, f); ambry.KindOf(end(ended)) != c.want {
			t.Errorf("%s: Run ends with %v", name, end(ended))
		}
	}
	for name, c := range map[string]struct {
		answer object
		want   ambry.Kind
	}{
		"busy":     {object{"code": 1, "msg": "busy"}, ambry.UpstreamFailed},
		"fault":    {object{"code": 1000040343}, ambry.UpstreamFailed},
		"too many": {object{"code": 1000040350}, ambry.UpstreamFailed},
		"banned":   {object{"code": 403}, ambry.Unauthorized},
		"other":    {object{"code": 77, "msg": "because " + appSecret}, ambry.UpstreamFailed},
		"nowhere":  {object{"code": 0, "data": object{}}, ambry.UpstreamFailed},
		"unsafe":   {object{"code": 0, "data": object{"URL": "ws://evil.example/ws"}}, ambry.UpstreamFailed},
		"user":     {object{"code": 0, "data": object{"URL": "wss://a@evil.example/ws"}}, ambry.UpstreamFailed},
		"no data":  {object{"code": 0, "data": 7}, ambry.UpstreamFailed},
	} {
		f := newFake(t)
		f.next(nil, nil, func(w http.ResponseWriter) { says(w, c.answer) }) // after the token and the bot
		_, ended := run(t, f)
		if err := end(ended); ambry.KindOf(err) != c.want || strings.Contains(err.Error(), appSecret) {
			t.Errorf("%s: Run ends with %v", name, err)
		}
	}
}

func TestCredentialsThatWereRevokedEndIt(t *testing.T) {
	f := newFake(t)
	_, ended := run(t, f)
	f.mu.Lock()
	f.secret = "another"
	f.mu.Unlock()
	f.cut()
	if err := end(ended); ambry.KindOf(err) != ambry.UpstreamFailed {
		t.Errorf("cut off, Run ends with %v", err)
	}
	_, ended = run(t, f)
	if err := end(ended); ambry.KindOf(err) != ambry.Unauthorized || strings.Contains(err.Error(), appSecret) {
		t.Errorf("Run ends with %v", err)
	}
}

func TestAnAppWithoutABotIsToldSo(t *testing.T) {
	for _, bot := range []object{{"code": 11205, "msg": "app do not have bot"}, {"code": 0, "bot": object{}}} {
		f := newFake(t)
		f.next(nil, func(w http.ResponseWriter) { says(w, bot) })
		if _, err := linkTo(t, f).Check(t.Context()); ambry.KindOf(err) != ambry.UpstreamFailed || !strings.Contains(err.Error(), "no bot") {
			t.Errorf("Check answers %v", err)
		}
	}
}

// code answers with one, and with headers.
func code(status int, code int64, headers ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		if code != 0 {
			says(w, object{"code": code, "msg": "no, " + appSecret})
		}
	}
}

func TestAnswersArriveOnce(t *testing.T) {
	f := newFake(t)
	h, _ := run(t, f)
	lost := func(w http.ResponseWriter) { panic(http.ErrAbortHandler) }
	for name, c := range map[string]struct {
		answers []func(http.ResponseWriter)
		posts   int
	}{
		"well":            {nil, 1},
		"too fast":        {[]func(http.ResponseWriter){code(429, 99991400, "X-Ogw-Ratelimit-Reset", "0.01"), code(400, 99991400)}, 3},
		"too fast here":   {[]func(http.ResponseWriter){code(200, 230020)}, 2},
		"by others":       {[]func(http.ResponseWriter){code(429, 0, "Retry-After", "0.01")}, 2},
		"a fault":         {[]func(http.ResponseWriter){code(502, 0)}, 2},
		"lost before":     {[]func(http.ResponseWriter){lost}, 2},
		"lost after":      {[]func(http.ResponseWriter){nil, lost}, 2},
		"broken after":    {[]func(http.ResponseWriter){nil, func(w http.ResponseWriter) { w.Write([]byte(`{"code":`)) }}, 2},
		"nothing to it":   {[]func(http.ResponseWriter){code(400, 230011)}, 2},
		"nothing, slowly": {[]func(http.ResponseWriter){code(400, 230011), code(429, 99991400)}, 3},
	} {
		f.deliver(f.said(ann))
		<-h.received
		f.mu.Lock()
		f.posts, f.answers = 0, c.answers
		f.mu.Unlock()
		if err := (<-h.sends)(t.Context(), "an answer"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if s := <-f.heard; s != (channeltest.Sent{In: channeltest.Ann, Text: "an answer"}) || len(f.heard) != 0 {
			t.Errorf("%s: heard is %+v and %d more", name, s, len(f.heard))
		}
		f.mu.Lock()
		if f.posts != c.posts {
			t.Errorf("%s: sent %d times, want %d", name, f.posts, c.posts)
		}
		f.mu.Unlock()
	}
	f.mu.Lock()
	f.valid = "one that Feishu has changed"
	f.mu.Unlock()
	f.deliver(f.said(ann))
	<-h.received
	if err := (<-h.sends)(t.Context(), "an answer"); err != nil {
		t.Error(err)
	}
}

func TestAnswersThatAreNotTakenFail(t *testing.T) {
	f := newFake(t)
	h, _ := run(t, f)
	for name, answers := range map[string][]func(http.ResponseWriter){
		"other":    {code(400, 230002)},
		"long":     {code(429, 99991400, "X-Ogw-Ratelimit-Reset", "3600")},
		"always":   {code(429, 99991400), code(429, 99991400), code(429, 99991400), code(429, 99991400)},
		"faults":   {code(500, 0), code(500, 0), code(500, 0), code(500, 0)},
		"nowhere":  {code(400, 230011), code(400, 230011)},
		"no token": {code(400, 99991663), code(200, 10014)},
	} {
		f.deliver(f.said(ann))
		<-h.received
		f.next(answers...)
		if err := (<-h.sends)(t.Context(), "an answer"); err == nil || ambry.KindOf(err) == ambry.Internal || strings.Contains(err.Error(), appSecret) {
			t.Errorf("%s: %v", name, err)
		}
		f.mu.Lock()
		if len(f.answers) != 0 {
			t.Errorf("%s: %d answers are left", name, len(f.answers))
		}
		f.mu.Unlock()
	}
	if len(f.heard) != 0 {
		t.Errorf("heard is %+v", <-f.heard)
	}
}

func TestContentIsRead(t *testing.T) {
	us := mention{Key: "@_user_1", ID: ids{"ou_us"}, Name: "Bot"}
	ben := mention{Key: "@_user_12", ID: ids{"ou_ben"}, Name: "Ben"}
	for name, c := range map[string]struct {
		kind, content string
		mentions      []mention
		text          string
		mentioned     bool
	}{
		"text":        {"text", `{"text":" hello "}`, nil, "hello", false},
		"mentions":    {"text", `{"text":"@_user_1 ask @_user_12, @_user_7 and @_all"}`, []mention{us, ben}, "ask @Ben, @_user_7 and @_all", true},
		"only others": {"text", `{"text":"@_user_12 hello"}`, []mention{ben}, "@Ben hello", false},
		"only us":     {"text", `{"text":"@_user_1"}`, []mention{us}, "", true},
		"post": {
			"post",
			`{"title":"T","content":[[{"tag":"at","user_id":"@_user_1","user_name":"Bot"},{"tag":"text","text":" see "},{"tag":"a","text":"this","href":"https://example.com"},{"tag":"img","image_key":"i"}],[{"tag":"at","user_id":"@_all"},{"tag":"at","user_id":"ou_x","user_name":"X"},{"tag":"at","user_id":"ou_us","user_name":"Bot"}]]}`,
			[]mention{us},
			"T\n see this\n@all@X", true,
		},
		"picture":     {"image", `{"image_key":"i"}`, nil, "", false},
		"broken":      {"text", `{"text":`, nil, "", false},
		"broken post": {"post", `[]`, nil, "", false},
	} {
		text, mentioned := content(c.kind, c.content, c.mentions, "ou_us")
		if text != c.text || mentioned != c.mentioned {
			t.Errorf("%s: got %q, %v; want %q, %v", name, text, mentioned, c.text, c.mentioned)
		}
	}
}

func TestValuesAreChecked(t *testing.T) {
	for key, values := range map[string]map[string]string{
		"appId":     {"appSecret": "c"},
		"appSecret": {"appId": "a", "appSecret": "c c"},
		"domain":    {"appId": "a", "appSecret": "c", "domain": "evil.example"},
	} {
		_, err := Provider().New(channel.Access{Values: values})
		e, ok := errors.AsType[*ambry.Error](err)
		if !ok || e.Kind != ambry.InvalidArgument || len(e.Details) != 1 || e.Details[0].Field != key {
			t.Errorf("%v: %v", values, err)
		}
	}
	for _, domain := range []string{"", "feishu.cn", "larksuite.com"} {
		l, err := Provider().New(channel.Access{Values: map[string]string{"appId": "a", "appSecret": "c", "domain": domain}})
		if err != nil || !strings.HasSuffix(l.(*link).base.Host, domain) {
			t.Errorf("%q: %v", domain, err)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add(`{"header":{"event_type":"im.message.receive_v1"},"event":{"sender":{"sender_id":{"open_id":"ou_a"},"sender_type":"user"},"message":{"message_id":"m","chat_id":"c","chat_type":"group","message_type":"text","content":"{\"text\":\"@_user_1 x\"}","mentions":[{"key":"@_user_1","id":{"open_id":"ou_us"}}]}}}`)
	f.Add(`{"header":{"event_type":"im.message.receive_v1"},"event":{"sender":{"sender_id":{"open_id":"ou_a"},"sender_type":"user"},"message":{"message_id":"m","chat_id":"c","chat_type":"p2p","message_type":"post","content":"{\"content\":[[{\"tag\":\"text\",\"text\":\"x\"}]]}","create_time":"9223372036854775807"}}}`)
	f.Add(`null`)
	c := &conn{link: &link{Access: channel.Access{Log: slog.New(slog.DiscardHandler)}}, us: "ou_us"}
	f.Fuzz(func(t *testing.T, payload string) {
		m, ok := c.read([]byte(payload))
		if ok && (m.ID == "" || m.Chat == "" || m.Sender == "" || m.Sender == "ou_us" || strings.TrimSpace(m.Text) == "") {
			t.Fatalf("%q is %+v", payload, m)
		}
	})
}
