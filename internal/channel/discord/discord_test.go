package discord

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

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
	for _, token := range []string{"", "abc", "a.b.c", testToken + "\r\nX-A: b", testToken + " x", strings.ReplaceAll(testToken, ".", "/")} {
		_, err := Provider().New(channel.Access{Values: map[string]string{fieldToken: token}, HTTP: http.DefaultClient})
		e, ok := errors.AsType[*ambry.Error](err)
		if !ok || e.Kind != ambry.InvalidArgument || len(e.Details) != 1 || e.Details[0].Field != fieldToken {
			t.Errorf("%q answers %#v", token, err)
		}
	}
	if _, err := Provider().New(channel.Access{Values: map[string]string{fieldToken: " Bot " + testToken}, HTTP: http.DefaultClient}); err != nil {
		t.Errorf("copied with the word before it: %v", err)
	}
}

func TestWhereItIsAskedItIsAnswered(t *testing.T) {
	s := newServer(t)
	h := running(t, s)
	ann := map[string]any{"id": people[channeltest.Ann], "username": "ann", "global_name": "Ann Lee"}
	us := map[string]any{"id": botUser, "username": "ambry", "bot": true}
	for _, c := range []struct {
		name    string
		message map[string]any
		text    string
		group   bool
	}{
		{"alone", map[string]any{"content": "hello"}, "hello", false},
		{"by its name", map[string]any{"guild_id": "3", "content": "<@!" + botUser + "> when?", "mentions": []any{us}}, "when?", true},
		{"in the middle", map[string]any{"guild_id": "3", "content": "and <@" + botUser + ">, <@7> <a:wave:12> <@8>?", "mentions": []any{us, map[string]any{"id": "7", "username": "ben"}}}, "and , @ben :wave: <@8>?", true},
		{"by a reply", map[string]any{"guild_id": "3", "content": "and then?", "type": 19, "referenced_message": map[string]any{"author": us}}, "and then?", true},
		{"with a smile", map[string]any{"content": "1 < 2 <3 *bold* 😀"}, "1 < 2 <3 *bold* 😀", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.message["author"], c.message["channel_id"] = ann, "2000000000000000009"
			id := s.write(c.message)
			m := channeltest.Next(t, h.Heard)
			if m.ID != id || m.Text != c.text || m.Group != c.group || m.Mentioned != c.group || m.Chat != "2000000000000000009" || m.Name != "Ann Lee" {
				t.Errorf("received %+v", m.Message)
			}
			const answer = "# at *noon*, @everyone <@1>\n1. see https://example.com/a_b_c [here](https://example.com)"
			if err := m.Send(t.Context(), answer); err != nil {
				t.Fatal(err)
			}
			if got := channeltest.Next(t, s.sent); got.Live != "" || got.Text != answer {
				t.Errorf("heard %+v", got)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			post := s.posts[len(s.posts)-1]
			if reference, _ := post["message_reference"].(map[string]any); (reference["message_id"] == id) != c.group {
				t.Errorf("sent is %v", post)
			}
			if content, _ := post["content"].(string); !strings.Contains(content, "https://example.com/a_b_c") {
				t.Errorf("sent is %v", post)
			}
		})
	}
}

func TestOnlyWhatPeopleWriteIsPassedOn(t *testing.T) {
	s := newServer(t)
	h := running(t, s)
	for key, value := range map[string]any{
		"type": 7, "webhook_id": "9", "content": "", "channel_id": "../users/@me", "id": "x",
		"author": map[string]any{"id": "5", "bot": true}, "mentions": 7,
	} {
		m := map[string]any{"channel_id": "2", "content": "not this", "author": map[string]any{"id": "6"}}
		m[key] = value
		s.write(m)
	}
	s.write(map[string]any{"channel_id": "2", "content": "not this", "author": map[string]any{"id": "6", "system": true}})
	s.mu.Lock()
	s.tell("MESSAGE_UPDATE", map[string]any{"id": "1", "content": "not this"})
	s.tell("GUILD_CREATE", map[string]any{"id": "1"})
	s.mu.Unlock()
	s.raw("not JSON")
	s.raw(`{"op":0,"t":"MESSAGE_CREATE","d":"text"}`)
	s.raw(`{"op":77}`)
	s.say(channeltest.Line{From: channeltest.Ann, Text: "this"})
	if m := channeltest.Next(t, h.Heard); m.Text != "this" {
		t.Errorf("received %+v", m.Message)
	}
}

func TestASessionGoesOnWhereItWasRead(t *testing.T) {
	for name, end := range map[string]func(*server){
		"reconnect": func(s *server) { s.raw(`{"op":7,"d":null}`) },
		"invalid, to be resumed": func(s *server) {
			s.raw(`{"op":9,"d":true}`)
		},
		"going away": func(s *server) { s.drop(1001) },
		"an error":   func(s *server) { s.drop(4000) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			h := running(t, s)
			s.say(channeltest.Line{From: channeltest.Ann, Text: "one"})
			channeltest.Next(t, h.Heard)
			end(s)
			s.say(channeltest.Line{From: channeltest.Ann, Text: "two"})
			if m := channeltest.Next(t, h.Heard); m.Text != "two" {
				t.Errorf("received %+v", m.Message)
			}
			channeltest.Next(t, h.Ready)
			if got := s.beginnings(); len(got) != 2 || got[0] != "identify" || got[1] != "resume 2" {
				t.Errorf("the connections began with %q", got)
			}
		})
	}
}

func TestASessionThatIsKnownNoMoreIsBegunAnew(t *testing.T) {
	for name, end := range map[string]func(*server){
		"at once":            func(s *server) { s.lose(); s.raw(`{"op":7,"d":null}`) },
		"with a number":      func(s *server) { s.drop(4009) },
		"with a wrong count": func(s *server) { s.drop(4007) },
		"invalid":            func(s *server) { s.raw(`{"op":9,"d":false}`) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			h := running(t, s)
			end(s)
			channeltest.Next(t, h.Ready)
			s.say(channeltest.Line{From: channeltest.Ann, Text: "anew"})
			if m := channeltest.Next(t, h.Heard); m.Text != "anew" {
				t.Errorf("received %+v", m.Message)
			}
			if got := s.beginnings(); got[len(got)-1] != "identify" {
				t.Errorf("the connections began with %q", got)
			}
		})
	}
}

func TestASessionGoesOnAfterARestart(t *testing.T) {
	s := newServer(t)
	h := running(t, s)
	s.say(channeltest.Line{From: channeltest.Ann, Text: "one"})
	channeltest.Next(t, h.Heard)
	h.Refuse(errors.New("the disk is full"))
	s.say(channeltest.Line{From: channeltest.Ann, Text: "keep it"})
	if err := channeltest.Next(t, h.End); err == nil || !strings.Contains(err.Error(), "disk") {
		t.Errorf("Run ends with %v", err)
	}
	s.say(channeltest.Line{From: channeltest.Ann, Text: "and this"})
	h.Refuse(nil)
	h.Run()
	for _, text := range []string{"keep it", "and this"} {
		if m := channeltest.Next(t, h.Heard); m.Text != text {
			t.Errorf("received %+v", m.Message)
		}
	}
	channeltest.Next(t, h.Ready)
	h.Stop()
	// A session that was lost meanwhile, and what another version has kept, is no trouble.
	s.lose()
	h.Run()
	channeltest.Next(t, h.Ready)
	h.Stop()
	if err := h.Keep(t.Context(), `{"session":7}`); err != nil {
		t.Fatal(err)
	}
	h.Run()
	channeltest.Next(t, h.Ready)
}

func TestASessionGoesOnElsewhereWhenItsAddressIsGone(t *testing.T) {
	s := newServer(t)
	h := running(t, s)
	s.say(channeltest.Line{From: channeltest.Ann, Text: "one"})
	channeltest.Next(t, h.Heard)
	h.Stop()
	s.say(channeltest.Line{From: channeltest.Ann, Text: "two"})
	if err := h.Keep(t.Context(), strings.Replace(h.Cursor(), "/gateway-resume", "/nowhere", 1)); err != nil {
		t.Fatal(err)
	}
	h.Run()
	if m := channeltest.Next(t, h.Heard); m.Text != "two" {
		t.Errorf("received %+v", m.Message)
	}
}

func TestAHeartbeatThatIsNotAnsweredEndsTheConnection(t *testing.T) {
	s := newServer(t)
	s.interval, s.deaf = time.Millisecond, true
	h := channeltest.Open(t, func(a channel.Access) (channel.Link, error) {
		return newLink(a, wire{base: s.URL + "/api/v10", beat: time.Millisecond, echo: time.Millisecond})
	}, s.values())
	h.Run()
	if err := channeltest.Next(t, h.End); ambry.KindOf(err) != ambry.UpstreamFailed {
		t.Errorf("got %v", err)
	}
	s.mu.Lock()
	s.deaf = false
	s.mu.Unlock()
}

func TestHeartbeatsTellHowFarItWasRead(t *testing.T) {
	s := newServer(t)
	s.interval = time.Millisecond
	h := running(t, s)
	for range 20 {
		s.say(channeltest.Line{From: channeltest.Ann, Text: "hello"})
		channeltest.Next(t, h.Heard)
	}
	s.raw(`{"op":1,"d":null}`) // wants one at once
	for channeltest.Next(t, s.beats) != "21" {
	}
}

func TestDiscordIsNotAskedWithoutPause(t *testing.T) {
	s := newServer(t)
	h := channeltest.Open(t, func(a channel.Access) (channel.Link, error) {
		return newLink(a, wire{base: s.URL + "/api/v10", settled: time.Hour, beat: time.Millisecond, echo: time.Minute})
	}, s.values())
	h.Run()
	channeltest.Next(t, h.Ready)
	s.raw(`{"op":7,"d":null}`)
	if err := channeltest.Next(t, h.End); ambry.KindOf(err) != ambry.UpstreamFailed {
		t.Errorf("got %v", err)
	}
	s.mu.Lock()
	s.left = 0
	s.sessions = map[string]*session{}
	s.mu.Unlock()
	h.Run()
	if err := channeltest.Next(t, h.End); ambry.KindOf(err) != ambry.UpstreamFailed || !strings.Contains(err.Error(), "slow down") {
		t.Errorf("without sessions left it is %v", err)
	}
}

func TestWhatGoesWrongIsSaid(t *testing.T) {
	for _, c := range []struct {
		name, path string
		fault      fault
		kind       ambry.Kind
		says       string
	}{
		{"a token taken back", "/users/@me", fault{401, "", `{"message":"401: Unauthorized","code":0}`}, ambry.Unauthorized, "does not take the token"},
		{"a refusal", "/gateway/bot", fault{403, "", `{"message":"Missing\nAccess","code":50001}`}, ambry.UpstreamFailed, "refuses: Missing Access (HTTP 403)"},
		{"a refusal without words", "/gateway/bot", fault{403, "", `<html>`}, ambry.UpstreamFailed, "refuses (HTTP 403)"},
		{"a fault", "/users/@me", fault{502, "", `<html>`}, ambry.UpstreamFailed, "(HTTP 502)"},
		{"a redirect", "/users/@me", fault{302, "", ``}, ambry.UpstreamFailed, "(HTTP 302)"},
		{"no JSON", "/users/@me", fault{200, "", `<html>`}, ambry.UpstreamFailed, "not Discord"},
		{"no bot", "/users/@me", fault{200, "", `{"id":"1","username":"x"}`}, ambry.UpstreamFailed, "not Discord"},
		{"slow down", "/users/@me", fault{429, "", `{"message":"You are being rate limited.","retry_after":64.57,"global":false}`}, ambry.UpstreamFailed, "slow down"},
		{"slow down without words", "/users/@me", fault{429, "9", ``}, ambry.UpstreamFailed, "slow down"},
		{"no gateway", "/gateway/bot", fault{200, "", `{"url":"https://example.com"}`}, ambry.UpstreamFailed, "not Discord"},
		{"no WebSocket", "/gateway/bot", fault{200, "", `{"url":"WS/api/v10/nothing"}`}, ambry.UpstreamFailed, "does not open a connection (HTTP 401)"},
		{"no greeting", "first", fault{0, "", `{"op":0}`}, ambry.UpstreamFailed, "not Discord"},
		{"a wrong greeting", "first", fault{0, "", `{"op":10,"d":{"heartbeat_interval":-1}}`}, ambry.UpstreamFailed, "not Discord"},
		{"4004", "close", fault{4004, "", ``}, ambry.Unauthorized, "does not take the token"},
		{"4014", "close", fault{4014, "", ``}, ambry.Unauthorized, "intents"},
		{"4012", "close", fault{4012, "", ``}, ambry.UpstreamFailed, "(4012)"},
		{"4008", "close", fault{4008, "", ``}, ambry.UpstreamFailed, "slow down"},
		{"another number", "close", fault{4999, "", ``}, ambry.UpstreamFailed, "lost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t)
			h := begin(t, s)
			switch c.path {
			case "first":
				s.first = []string{c.fault.body}
				h.Run()
			case "close":
				h.Run()
				channeltest.Next(t, h.Ready)
				go s.drop(websocket.StatusCode(c.fault.status))
			default:
				c.fault.body = strings.ReplaceAll(c.fault.body, "WS", "ws"+strings.TrimPrefix(s.URL, "http"))
				s.fail(c.path, c.fault)
				h.Run()
			}
			err := channeltest.Next(t, h.End)
			if ambry.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v (%v)", err, ambry.KindOf(err))
			}
			for e := err; e != nil; e = errors.Unwrap(e) {
				if strings.Contains(e.Error(), testToken) {
					t.Errorf("%q shows the token", e)
				}
			}
		})
	}
}

func TestATokenThatIsTakenBackEndsIt(t *testing.T) {
	s := newServer(t)
	h := running(t, s)
	s.mu.Lock()
	s.token = "none"
	s.mu.Unlock()
	s.raw(`{"op":9,"d":false}`) // it is begun anew, and refused
	if err := channeltest.Next(t, h.End); ambry.KindOf(err) != ambry.Unauthorized {
		t.Errorf("got %v", err)
	}
}

func TestAnAnswerWaitsAsLongAsDiscordWants(t *testing.T) {
	s := newServer(t)
	h := running(t, s)
	s.say(channeltest.Line{From: channeltest.Ann, Text: "hello"})
	m := channeltest.Next(t, h.Heard)
	path := "/channels/" + places[channeltest.Ann] + "/messages"
	s.fail(path, fault{429, "0.4", `{"message":"You are being rate limited.","retry_after":0.3,"global":false}`})
	began := time.Now()
	if err := m.Send(t.Context(), "hello Ann"); err != nil || time.Since(began) < 400*time.Millisecond {
		t.Errorf("got %v after %v", err, time.Since(began))
	}
	if got := channeltest.Next(t, s.sent); got.Text != "hello Ann" {
		t.Errorf("heard %+v", got)
	}
	s.fail(path, fault{403, "", `{"message":"Cannot send messages to this user","code":50007}`}, fault{200, "", `{}`})
	for _, says := range []string{"Cannot send", "not Discord"} {
		if err := m.Send(t.Context(), "hello Ann"); ambry.KindOf(err) != ambry.UpstreamFailed || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v", err)
		}
	}
}

// From Discord itself, only a connection that nobody can listen to is taken.
func TestAConnectionInTheClearIsNotOpened(t *testing.T) {
	l := &link{wire: wire{base: "https://discord.com/api/v10"}}
	for address, want := range map[string]bool{
		"wss://gateway.discord.gg": true, "ws://gateway.discord.gg": false, "https://gateway.discord.gg": false, "": false,
	} {
		if got := l.secure(address); got != want {
			t.Errorf("secure(%q) = %v", address, got)
		}
	}
}

func TestEscapedIsWhatPeopleRead(t *testing.T) {
	for text, want := range map[string]string{
		"plain, text.":                     "plain, text.",
		"# a\n  - b\n10. c\n> d\n-# e":     "\\# a\n  \\- b\n10\\. c\n\\> d\n\\-# e",
		"a_b *c* `d` ~~e~~ ||f|| \\g":      "a\\_b \\*c\\* \\`d\\` \\~\\~e\\~\\~ \\|\\|f\\|\\| \\\\g",
		"<@1> <#2> <t:3> [x](https://y.z)": "\\<@1> \\<#2> \\<t:3> \\[x](https://y.z)",
		"https://x.y/a_b?c=*d*":            "https://x.y/a_b?c=\\*d\\*",
		"5 - 3 = 2 # so":                   "5 - 3 = 2 # so",
	} {
		if got := escape(text); got != want {
			t.Errorf("escape(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"id":"1","channel_id":"2","author":{"id":"3"},"content":"<@1000000000000000001> hi <@4>","mentions":[{"id":"4","username":"<@5>"}],"timestamp":"2026-11-28T07:00:00.000000+00:00"}`,
		`{"id":"1","channel_id":"2","guild_id":"9","type":19,"author":{"id":"3"},"content":"x","referenced_message":{"author":{"id":"1000000000000000001"}},"timestamp":"never"}`,
		`{"id":"1","channel_id":"../..","author":{"id":"3"},"content":"x"}`, `[]`, `{"author":7}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, ok := read(data, botUser)
		if !ok {
			return
		}
		if m.Text == "" || m.Sender == "" || m.Mentioned && !m.Group || m.At.IsZero() || !number().MatchString(m.place) || !utf8.ValidString(m.Text) {
			t.Errorf("read %+v", m)
		}
	})
}

func FuzzEscape(f *testing.F) {
	for _, seed := range []string{"# a\n- b", "https://x.y/_a_ *b*", "\\\\*", "1. 2. 3)", "a\n\n > b", "http://http://[x](y)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		out := escape(text)
		if got := protected.ReplaceAllString(out, "$1"); got != text {
			t.Errorf("%q is read as %q", text, got)
		}
		if live := markup.FindString(protected.ReplaceAllString(special().ReplaceAllStringFunc(out, func(s string) string {
			if len(s) > 1 {
				return "link"
			}
			return s
		}), "x")); live != "" {
			t.Errorf("in %q, %q is markup", out, live)
		}
	})
}
