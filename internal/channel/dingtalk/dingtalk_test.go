package dingtalk

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
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
	fail      error
}

func (h *host) Connected(who channel.Identity) { h.connected <- who }

func (h *host) Receive(_ context.Context, m channel.Message, send channel.Send) error {
	if h.fail != nil {
		return h.fail
	}
	h.received <- m
	h.sends <- send
	return nil
}

func (h *host) Cursor() string                     { return "" }
func (h *host) Keep(context.Context, string) error { return nil }

// run runs a link against a fake until the test ends.
func run(t *testing.T, f *fake, fail error) (*host, *link, chan error) {
	t.Helper()
	l, err := newLink(channel.Access{
		Values: map[string]string{"clientId": appID, "clientSecret": appSecret},
		HTTP:   f.server.Client(), Log: slog.New(slog.DiscardHandler),
	}, f.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	l.pause = time.Millisecond
	h := &host{connected: make(chan channel.Identity, 8), received: make(chan channel.Message, 64), sends: make(chan channel.Send, 64), fail: fail}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx, h) }()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	select {
	case <-h.connected:
	case err := <-ended:
		ended <- err
	}
	return h, l, ended
}

// end returns how a link ended, so that it can be asked again.
func end(ended chan error) error {
	err := <-ended
	ended <- err
	return err
}

func TestFramesAreAcknowledgedWhenTheyWereTaken(t *testing.T) {
	f := newFake(t)
	h, _, _ := run(t, f, nil)
	f.push([]byte("{"))
	f.push([]byte(`{"type":"CALLBACK"}`))
	if a := <-f.acks; a.Code != http.StatusNotFound {
		t.Errorf("a frame about nothing is answered with %+v", a)
	}
	f.push(frameOf("SYSTEM", "ping", "p1", `{"opaque":"o"}`))
	if a := <-f.acks; a.Code != http.StatusOK || a.Headers["messageId"] != "p1" || a.Data != `{"opaque":"o"}` {
		t.Errorf("a ping is answered with %+v", a)
	}
	f.push(frameOf("CALLBACK", topic, "x", `[]`)) // cannot be read, now or later
	if a := <-f.acks; a.Code != http.StatusOK || a.Headers["messageId"] != "x" {
		t.Errorf("what cannot be read is answered with %+v", a)
	}
	f.say(channeltest.Line{From: channeltest.Ann, Text: "hello"})
	m := <-h.received
	if a := <-f.acks; a.Code != http.StatusOK || a.Headers["messageId"] == "" || a.Headers["contentType"] != "application/json" {
		t.Errorf("a message is answered with %+v", a)
	}
	if m.Name != channeltest.Ann || m.Sender != "staff-ann" {
		t.Errorf("received %+v", m)
	}
}

func TestAMessageThatWasNotTakenIsNotAcknowledged(t *testing.T) {
	f := newFake(t)
	refuse := errors.New("not now")
	_, _, ended := run(t, f, refuse)
	f.say(channeltest.Line{From: channeltest.Ann, Text: "hello"})
	if err := end(ended); !errors.Is(err, refuse) {
		t.Errorf("Run ends with %v", err)
	}
	if len(f.acks) != 0 {
		t.Errorf("it was acknowledged: %+v", <-f.acks)
	}
}

func TestAConnectionThatMovesAtOnceIsLeftToOthers(t *testing.T) {
	f := newFake(t)
	_, _, ended := run(t, f, nil)
	f.push(frameOf("SYSTEM", "disconnect", "d", `{"reason":"upgrade"}`))
	if err := end(ended); ambry.KindOf(err) != ambry.UpstreamFailed {
		t.Errorf("Run ends with %v", err)
	}
}

func TestCredentialsThatWereRevokedEndIt(t *testing.T) {
	f := newFake(t)
	_, l, ended := run(t, f, nil)
	f.mu.Lock()
	f.secret = "another"
	f.mu.Unlock()
	f.cut()
	if err := end(ended); ambry.KindOf(err) != ambry.UpstreamFailed {
		t.Errorf("cut off, Run ends with %v", err)
	}
	_, err := l.Check(t.Context())
	if ambry.KindOf(err) != ambry.Unauthorized || strings.Contains(err.Error(), appSecret) {
		t.Errorf("Check answers %v", err)
	}
	if err := l.Run(t.Context(), &host{}); ambry.KindOf(err) != ambry.Unauthorized {
		t.Errorf("Run ends with %v", err)
	}
}

func TestOnlyAddressesOfDingTalkAreCalled(t *testing.T) {
	l, err := newLink(channel.Access{Values: map[string]string{"clientId": "a", "clientSecret": "b"}}, address)
	if err != nil {
		t.Fatal(err)
	}
	for webhook, want := range map[string]bool{
		"https://oapi.dingtalk.com/robot/sendBySession?session=x": true,
		"https://oapi.dingtalk.com:443/x":                         true,
		"http://oapi.dingtalk.com/x":                              false,
		"https://oapi.dingtalk.com.evil.example/x":                false,
		"https://evildingtalk.com/x":                              false,
		"https://user@oapi.dingtalk.com/x":                        false,
		"https://oapi.dingtalk.com@evil.example/x":                false,
		"file:///etc/passwd":                                      false,
		"":                                                        false,
	} {
		data, _ := json.Marshal(map[string]any{
			"msgId": "1", "msgtype": "text", "conversationId": "c", "senderId": "s",
			"text": map[string]string{"content": "x"}, "sessionWebhook": webhook,
		})
		if _, to, ok := l.read(data); !ok || (to.webhook != "") != want {
			t.Errorf("%q is called: %v", webhook, to.webhook != "")
		}
	}
	f := newFake(t)
	f.next(func(w http.ResponseWriter) {
		reply(w, http.StatusOK, map[string]string{"endpoint": "wss://dingtalk.com.evil.example/connect", "ticket": "t"})
	})
	_, _, ended := run(t, f, nil)
	if err := end(ended); ambry.KindOf(err) != ambry.UpstreamFailed {
		t.Errorf("sent elsewhere, Run ends with %v", err)
	}
}

// answered asks and answers once, and returns the paths that were asked to deliver.
func answered(t *testing.T, f *fake, h *host, l channeltest.Line) []string {
	t.Helper()
	f.mu.Lock()
	f.posts = nil
	f.mu.Unlock()
	f.say(l)
	<-h.received
	if err := (<-h.sends)(t.Context(), "an answer"); err != nil {
		t.Fatal(err)
	}
	place := l.From
	if l.In != "" {
		place = l.In
	}
	if s := <-f.heard; s != (channeltest.Sent{In: place, Text: "an answer"}) {
		t.Errorf("heard is %+v", s)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.posts)
}

func TestAnswersFindAnotherWay(t *testing.T) {
	const hook, direct, group = "/robot/sendBySession", "/v1.0/robot/oToMessages/batchSend", "/v1.0/robot/groupMessages/send"
	f := newFake(t)
	h, l, _ := run(t, f, nil)
	ann, harbour := channeltest.Line{From: channeltest.Ann, Text: "x"}, channeltest.Line{From: channeltest.Ann, In: channeltest.Harbour, Mention: true, Text: "x"}
	check := func(why string, line channeltest.Line, want ...string) {
		t.Helper()
		if got := answered(t, f, h, line); !slices.Equal(got, want) {
			t.Errorf("%s: asked are %q, want %q", why, got, want)
		}
	}
	check("open", ann, hook)
	busy := func(w http.ResponseWriter) {
		reply(w, http.StatusOK, map[string]any{"errcode": 130101, "errmsg": "send too fast"})
	}
	f.next(busy, busy)
	check("busy", ann, hook, hook, hook)
	f.next(func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) })
	check("too many", ann, hook, hook)
	f.next(func(w http.ResponseWriter) {
		reply(w, http.StatusOK, map[string]any{"errcode": 300001, "errmsg": "session is gone"})
	})
	check("gone", ann, hook, direct)
	f.mu.Lock()
	f.ends, f.valid = time.Now().Add(-time.Hour), "one that DingTalk has changed"
	f.mu.Unlock()
	check("expired, and the token too", harbour, group, group)
	f.next(func(w http.ResponseWriter) {
		reply(w, http.StatusForbidden, map[string]string{"code": "Forbidden.AccessDenied.QpsLimitForAppkeyAndApi", "message": "too fast"})
	})
	check("expired and busy", harbour, group, group)
	f.mu.Lock()
	f.webhook, f.ends = "https://evil.example/robot/sendBySession", time.Now().Add(time.Hour)
	f.mu.Unlock()
	check("foreign", ann, direct)
	if _, err := l.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestWhatMayHaveArrivedIsNotSentAgain(t *testing.T) {
	f := newFake(t)
	h, _, _ := run(t, f, nil)
	for _, answer := range []func(http.ResponseWriter){
		func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) },
		func(w http.ResponseWriter) { w.Write([]byte("{")) },
		func(w http.ResponseWriter) { panic(http.ErrAbortHandler) },
		func(w http.ResponseWriter) {
			reply(w, http.StatusOK, map[string]any{"errcode": 1, "errmsg": "other " + appSecret})
		},
		func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		},
	} {
		f.next(answer)
		f.say(channeltest.Line{From: channeltest.Ann, Text: "x"})
		<-h.received
		if err := (<-h.sends)(t.Context(), "an answer"); ambry.KindOf(err) != ambry.UpstreamFailed || strings.Contains(err.Error(), appSecret) {
			t.Errorf("it ends with %v", err)
		}
	}
	if len(f.heard) != 0 {
		t.Errorf("heard is %+v", <-f.heard)
	}
}

func TestOnlyWhatPeopleWriteIsRead(t *testing.T) {
	f := newFake(t)
	h, _, _ := run(t, f, nil)
	line := channeltest.Line{From: channeltest.Ann, Text: "x"}
	for _, change := range []func(map[string]any){
		func(m map[string]any) { m["msgtype"], m["content"] = "picture", map[string]string{"downloadCode": "x"} },
		func(m map[string]any) { m["msgtype"] = "audio" },
		func(m map[string]any) { m["text"] = map[string]string{"content": " \n"} },
		func(m map[string]any) { m["senderId"] = m["chatbotUserId"] },
		func(m map[string]any) { m["text"] = 7 },
	} {
		f.push(f.callback(line, change))
		<-f.acks
	}
	f.push(f.callback(line, func(m map[string]any) {
		m["msgtype"], m["senderCorpId"] = "richText", "another"
		m["content"] = map[string]any{"richText": []any{map[string]string{"text": "see "}, map[string]string{"type": "picture"}, map[string]string{"text": "this"}}}
	}))
	if m := <-h.received; m.Text != "see this" || m.Sender != "$:LWCP_v1:$ann" {
		t.Errorf("received %+v", m)
	}
}

func TestCredentialsAreChecked(t *testing.T) {
	for _, values := range []map[string]string{{}, {"clientId": "a"}, {"clientId": "a b", "clientSecret": "c"}, {"clientId": "a", "clientSecret": "c", "robotCode": "\n"}} {
		_, err := Provider().New(channel.Access{Values: values})
		e, ok := errors.AsType[*ambry.Error](err)
		if !ok || e.Kind != ambry.InvalidArgument || len(e.Details) != 1 {
			t.Errorf("%v: %v", values, err)
		}
	}
}

func FuzzCallbacks(f *testing.F) {
	f.Add(`{"msgId":"1","msgtype":"text","conversationId":"c","conversationType":"2","senderId":"s","text":{"content":"x"},"sessionWebhook":"https://oapi.dingtalk.com/x"}`)
	f.Add(`{"msgId":"1","msgtype":"richText","conversationId":"c","senderId":"s","content":{"richText":[{"text":"a"},{}]},"createAt":-1}`)
	f.Add(`null`)
	l, err := newLink(channel.Access{Values: map[string]string{"clientId": "a", "clientSecret": "b"}, Log: slog.New(slog.DiscardHandler)}, address)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data string) {
		m, to, ok := l.read([]byte(data))
		if !ok {
			return
		}
		if m.ID == "" || m.Chat == "" || m.Sender == "" || strings.TrimSpace(m.Text) == "" {
			t.Fatalf("%q is %+v", data, m)
		}
		if to.webhook != "" && !strings.HasPrefix(strings.ToLower(strings.TrimSpace(to.webhook)), "https://") && !strings.HasPrefix(strings.ToLower(to.webhook), "wss://") {
			t.Fatalf("%q calls %q", data, to.webhook)
		}
	})
}
