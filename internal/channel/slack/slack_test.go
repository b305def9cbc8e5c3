package slack

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
	"ambry.dev/ambry/internal/channel/channeltest"
)

func TestProvider(t *testing.T) {
	channeltest.Run(t, Provider(), func(t *testing.T) channeltest.World { return newServer(t).world() })
}

func begin(t *testing.T, s *server) *channeltest.Ears {
	t.Helper()
	return channeltest.Open(t, s.link, s.values())
}

func running(t *testing.T, s *server) *channeltest.Ears {
	t.Helper()
	h := begin(t, s)
	h.Run()
	channeltest.Next(t, h.Ready)
	return h
}

func TestATokenThatCannotBeOneIsNamed(t *testing.T) {
	for _, c := range []struct{ key, app, bot string }{
		{fieldApp, "", testBot},
		{fieldApp, testBot, testBot},
		{fieldApp, testApp + " x", testBot},
		{fieldBot, testApp, ""},
		{fieldBot, testApp, testApp},
		{fieldBot, testApp, testBot + "\r\nX-A: b"},
		{fieldBot, testApp, "xoxp-" + "0123456789-0"},
	} {
		_, err := Provider().New(channel.Access{Values: map[string]string{fieldApp: c.app, fieldBot: c.bot}, HTTP: http.DefaultClient})
		e, ok := errors.AsType[*ambry.Error](err)
		if !ok || e.Kind != ambry.InvalidArgument || len(e.Details) != 1 || e.Details[0].Field != c.key {
			t.Errorf("%q and %q answer %#v", c.app, c.bot, err)
		}
	}
}

func TestWhereItIsAskedItIsAnswered(t *testing.T) {
	s := newServer(t)
	h := running(t, s)
	for _, c := range []struct {
		name   string
		event  map[string]any
		text   string
		group  bool
		chat   string // without the thread that the event begins
		thread string // "new" for one that the event begins
	}{
		{"alone", map[string]any{"type": "message", "channel_type": "im", "channel": "D0ANN", "text": "hello"}, "hello", false, "D0ANN", ""},
		{"alone, in a thread", map[string]any{"type": "message", "channel_type": "im", "channel": "D0ANN", "text": "hello", "thread_ts": "1.5"}, "hello", false, "D0ANN/1.5", "1.5"},
		{"alone, with a file", map[string]any{"type": "message", "subtype": "file_share", "channel_type": "im", "channel": "D0ANN", "text": "look", "files": []any{}}, "look", false, "D0ANN", ""},
		{"in a channel", map[string]any{"type": "app_mention", "channel": "C0HARBOUR", "text": "<@U0AMBRY> when?"}, "when?", true, "C0HARBOUR", "new"},
		{"in a channel's thread", map[string]any{"type": "app_mention", "channel": "C0HARBOUR", "text": "and <@U0AMBRY|ambry> now?", "thread_ts": "1.5"}, "and  now?", true, "C0HARBOUR/1.5", "1.5"},
		{"among several", map[string]any{"type": "message", "channel_type": "mpim", "channel": "G0SOME", "text": "<@U0AMBRY> when?"}, "when?", true, "G0SOME", "new"},
		{"with links and mentions", map[string]any{"type": "message", "channel_type": "im", "channel": "D0ANN", "text": "<@U0AMBRY> ask <@U0BEN|ben> in <#C0HARBOUR|harbour>, <!here>: <https://example.com/a?b&amp;c|example.com/a> 1 &lt; 2"}, "ask @ben in #harbour, @here: example.com/a (https://example.com/a?b&c) 1 < 2", false, "D0ANN", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.event["user"] = "U0ANN"
			ts := s.tell(c.event)
			m := channeltest.Next(t, h.Heard)
			chat, thread := c.chat, c.thread
			if thread == "new" {
				chat, thread = chat+"/"+ts, ts
			}
			if m.Text != c.text || m.Group != c.group || m.Mentioned != c.group || m.Chat != chat || m.Sender != "U0ANN" || m.Name != "shown U0ANN" {
				t.Errorf("received %+v", m.Message)
			}
			if err := m.Send(t.Context(), "at <noon> & <!here>"); err != nil {
				t.Fatal(err)
			}
			if got := channeltest.Next(t, s.sent); got.Live != "" || got.Text != "at <noon> & <!here>" {
				t.Errorf("heard %+v", got)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if post := s.posts[len(s.posts)-1]; post["thread_ts"] != thread || post["reply_broadcast"] != "" {
				t.Errorf("sent is %v, wanted in the thread %q", post, thread)
			}
		})
	}
}

func TestOnlyWhatPeopleWriteIsPassedOn(t *testing.T) {
	s := newServer(t)
	h := running(t, s)
	alone := func(key, value string) map[string]any {
		return map[string]any{"type": "message", "channel_type": "im", "channel": "D0ANN", "user": "U0ANN", "text": "not this", key: value}
	}
	for _, e := range []map[string]any{
		alone("subtype", "message_changed"), alone("subtype", "message_deleted"), alone("subtype", "bot_message"), alone("bot_id", "B0OTHER"),
		alone("user", botUser), alone("user", "USLACKBOT"), alone("user", ""), alone("text", ""), alone("text", "<@U0AMBRY>"), alone("channel_type", "channel"),
		alone("type", "reaction_added"),
		{"type": 7},
		{"type": "message", "text": []int{1}},
	} {
		s.tell(e)
	}
	s.raw(`{"type":"slash_commands","envelope_id":"command","payload":{"command":"/ambry"}}`)
	s.raw(`{"type":"interactive","envelope_id":"button","payload":[1]}`)
	s.raw(`{"type":"something new","envelope_id":"new","payload":"x"}`)
	s.raw(`{"type":"events_api","envelope_id":"odd","payload":"x"}`)
	s.raw(`not JSON`)
	s.raw(`[]`)
	s.say(channeltest.Line{From: channeltest.Ann, Text: "this"})
	if m := channeltest.Next(t, h.Heard); m.Text != "this" {
		t.Errorf("received %+v", m.Message)
	}
	// All of them are confirmed: they would come again.
	for range 13 + 4 + 1 {
		channeltest.Next(t, s.done)
	}
}

func TestTwoEventsOfOneMessageAreOne(t *testing.T) {
	s := newServer(t)
	h := running(t, s)
	for _, kind := range []string{"message", "app_mention"} {
		s.tell(map[string]any{"type": kind, "channel_type": "channel", "channel": "C0HARBOUR", "user": "U0ANN", "text": "<@U0AMBRY> when?", "ts": "17.000001"})
	}
	first, second := channeltest.Next(t, h.Heard).Message, channeltest.Next(t, h.Heard).Message
	if first != second {
		t.Errorf("received %+v and %+v", first, second)
	}
}

func TestNothingIsConfirmedBeforeItIsTaken(t *testing.T) {
	s := newServer(t)
	h := running(t, s)
	h.Refuse(errors.New("the disk is full"))
	s.say(channeltest.Line{From: channeltest.Ann, Text: "keep it"})
	if err := channeltest.Next(t, h.End); err == nil || !strings.Contains(err.Error(), "disk") {
		t.Errorf("Run ends with %v", err)
	}
	select {
	case id := <-s.done:
		t.Errorf("%s was confirmed", id)
	default:
	}
	h.Refuse(nil)
	h.Run()
	if m := channeltest.Next(t, h.Heard); m.Text != "keep it" {
		t.Errorf("received %+v", m.Message)
	}
	channeltest.Next(t, s.done)
}

func TestAConnectionIsOpenedAnewWhenSlackWants(t *testing.T) {
	for name, frames := range map[string][]string{
		"refresh":            {`{"type":"disconnect","reason":"refresh_requested"}`},
		"warning, refresh":   {`{"type":"disconnect","reason":"warning"}`, `{"type":"disconnect","reason":"refresh_requested"}`},
		"for another reason": {`{"type":"disconnect","reason":"too_many_websockets"}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			h := running(t, s)
			for _, f := range frames {
				s.raw(f)
			}
			channeltest.Next(t, h.Ready)
			s.say(channeltest.Line{From: channeltest.Ann, Text: "still there?"})
			if m := channeltest.Next(t, h.Heard); m.Text != "still there?" {
				t.Errorf("received %+v", m.Message)
			}
		})
	}
	t.Run("warning, end", func(t *testing.T) {
		s := newServer(t)
		h := running(t, s)
		s.raw(`{"type":"disconnect","reason":"warning"}`)
		s.raw(`{"type":"events_api","envelope_id":"after","payload":{}}`)
		channeltest.Next(t, s.done) // the warning was read
		s.cut()
		channeltest.Next(t, h.Ready)
	})
}

func TestSlackIsNotAskedWithoutPause(t *testing.T) {
	s := newServer(t)
	h := channeltest.Open(t, func(a channel.Access) (channel.Link, error) {
		return newLink(a, wire{base: s.URL + "/api/", settled: time.Hour})
	}, s.values())
	s.hello = []string{`{"type":"disconnect","reason":"refresh_requested"}`}
	h.Run()
	if err := channeltest.Next(t, h.End); ambry.KindOf(err) != ambry.UpstreamFailed {
		t.Errorf("got %v", err)
	}
}

func TestWhatGoesWrongIsSaid(t *testing.T) {
	for _, c := range []struct {
		name, method string
		fault        fault
		kind         ambry.Kind
		says         string
	}{
		{"a bot token taken back", "auth.test", fault{200, "", `{"ok":false,"error":"token_revoked"}`}, ambry.Unauthorized, "bot token (token_revoked)"},
		{"an app token taken back", "apps.connections.open", fault{200, "", `{"ok":false,"error":"invalid_auth"}`}, ambry.Unauthorized, "app-level token (invalid_auth)"},
		{"a scope", "apps.connections.open", fault{200, "", `{"ok":false,"error":"missing_scope","needed":"connections:write","provided":"x"}`}, ambry.Unauthorized, "lacks the scope connections:write"},
		{"a refusal", "auth.test", fault{200, "", `{"ok":false,"error":"team_added_to_org"}`}, ambry.UpstreamFailed, "refuses: team_added_to_org"},
		{"a fault", "auth.test", fault{503, "", `<html>`}, ambry.UpstreamFailed, "(HTTP 503)"},
		{"no JSON", "auth.test", fault{200, "", `<html>`}, ambry.UpstreamFailed, "not Slack"},
		{"nothing", "auth.test", fault{200, "", `{}`}, ambry.UpstreamFailed, "not Slack"},
		{"slow down", "apps.connections.open", fault{429, "30", ``}, ambry.UpstreamFailed, "slow down"},
		{"slow down somehow", "apps.connections.open", fault{429, "", ``}, ambry.UpstreamFailed, "slow down"},
		{"slow down in words", "auth.test", fault{200, "", `{"ok":false,"error":"ratelimited"}`}, ambry.UpstreamFailed, "slow down"},
		{"a redirect", "auth.test", fault{302, "", ``}, ambry.UpstreamFailed, "(HTTP 302)"},
		{"a ticket that is none", "apps.connections.open", fault{200, "", `{"ok":true,"url":"URL/link?ticket=used-up-ticket"}`}, ambry.UpstreamFailed, "does not open a connection (HTTP 403)"},
		{"an address that is none", "apps.connections.open", fault{200, "", `{"ok":true,"url":"::used-up-ticket"}`}, ambry.UpstreamFailed, "no address"},
		{"Socket Mode is off", "hello", fault{200, "", `{"type":"disconnect","reason":"link_disabled"}`}, ambry.UpstreamFailed, "switched off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t)
			if c.method == "hello" {
				s.hello = []string{c.fault.body}
			} else {
				c.fault.body = strings.ReplaceAll(c.fault.body, "URL", s.URL)
				s.fail(c.method, c.fault)
			}
			h := begin(t, s)
			h.Run()
			err := channeltest.Next(t, h.End)
			if ambry.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v (%v)", err, ambry.KindOf(err))
			}
			for e := err; e != nil; e = errors.Unwrap(e) {
				for _, secret := range []string{testApp, testBot, "used-up-ticket"} {
					if strings.Contains(e.Error(), secret) {
						t.Errorf("%q shows %q", e, secret)
					}
				}
			}
		})
	}
}

// From Slack itself, only a connection that nobody can listen to is taken.
func TestAConnectionInTheClearIsNotOpened(t *testing.T) {
	s := newServer(t)
	api := func(r *http.Request) (*http.Response, error) {
		r.URL.Scheme, r.URL.Host = "http", strings.TrimPrefix(s.URL, "http://")
		return http.DefaultTransport.RoundTrip(r)
	}
	l, err := Provider().New(channel.Access{Values: s.values(), HTTP: &http.Client{Transport: roundTripper(api)}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Check(t.Context()); ambry.KindOf(err) != ambry.UpstreamFailed {
		t.Errorf("got %v", err)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestTokensThatAreTakenBackEndIt(t *testing.T) {
	s := newServer(t)
	h := running(t, s)
	s.mu.Lock()
	s.bot = "none"
	s.mu.Unlock()
	s.cut()
	channeltest.Next(t, h.End) // the connection was lost
	h.Run()
	if err := channeltest.Next(t, h.End); ambry.KindOf(err) != ambry.Unauthorized {
		t.Errorf("got %v", err)
	}
}

func TestAnAnswerWaitsAsLongAsSlackWants(t *testing.T) {
	s := newServer(t)
	h := running(t, s)
	s.say(channeltest.Line{From: channeltest.Ann, Text: "hello"})
	m := channeltest.Next(t, h.Heard)
	s.fail("chat.postMessage", fault{429, "1", ""})
	began := time.Now()
	if err := m.Send(t.Context(), "hello Ann"); err != nil || time.Since(began) < time.Second {
		t.Errorf("got %v after %v", err, time.Since(began))
	}
	if got := channeltest.Next(t, s.sent); got.Text != "hello Ann" {
		t.Errorf("heard %+v", got)
	}
	s.fail("chat.postMessage", fault{200, "", `{"ok":false,"error":"not_in_channel"}`}, fault{200, "", `{"ok":true}`})
	for _, says := range []string{"not_in_channel", "not Slack"} {
		if err := m.Send(t.Context(), "hello Ann"); ambry.KindOf(err) != ambry.UpstreamFailed || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v", err)
		}
	}
}

func TestNamesThatMayNotBeKnownAreDoneWithout(t *testing.T) {
	s := newServer(t)
	h := running(t, s)
	s.fail("users.info", fault{200, "", `{"ok":false,"error":"missing_scope","needed":"users:read"}`})
	for range 2 {
		s.say(channeltest.Line{From: channeltest.Ann, Text: "hello"})
		if m := channeltest.Next(t, h.Heard); m.Name != "" || m.Sender != "U0ANN" {
			t.Errorf("received %+v", m.Message)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"event":{"type":"message","channel_type":"im","channel":"D1","user":"U1","ts":"1.2","text":"<@U0AMBRY> a <b> &lt; <!date^1^x|then> <mailto:a@b|a@b> <"}}`,
		`{"event":{"type":"app_mention","channel":"C1","user":"U1","ts":"99999999999999999999","thread_ts":"1","text":"<<@U0AMBRY>>"}}`,
		`{"event":[]}`, `7`, `{"event":{"type":"message","channel_type":"im","channel":"D1","user":"U1","ts":"-1","text":"<|><#|><@|x>"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, e, ok := read(data, botUser)
		if !ok {
			return
		}
		if m.Text == "" || m.Sender == "" || m.Chat == "" || m.ID == "" || m.At.IsZero() || m.Mentioned != m.Group || !utf8.ValidString(m.Text) {
			t.Errorf("read %+v", m)
		}
		if strings.ContainsAny(escape(e.Text), "<>") {
			t.Errorf("%q is not only text", escape(e.Text))
		}
		if got, _ := plain(escape(m.Text), botUser); got != m.Text {
			t.Errorf("%q is read as %q", m.Text, got)
		}
	})
}
