package telegram

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-telegram/bot/models"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
	"ambry.dev/ambry/internal/channel/channeltest"
)

func TestProvider(t *testing.T) {
	channeltest.Run(t, Provider(), func(t *testing.T) channeltest.World { return newServer(t).world() })
}

// begin makes a link; running runs it too.
func begin(t *testing.T, s *server) *channeltest.Ears {
	t.Helper()
	return channeltest.Open(t, s.link, map[string]string{fieldToken: testToken})
}

func running(t *testing.T, s *server) *channeltest.Ears {
	t.Helper()
	h := begin(t, s)
	h.Run()
	channeltest.Next(t, h.Ready)
	return h
}

func TestATokenThatCannotBeOneIsNamed(t *testing.T) {
	for _, token := range []string{"", "abc", "123456789", "1:" + strings.Repeat("a", 35), "123456789:../../getMe?x=aaaaaaaaaaaaaaaaaaa", testToken + "/x", testToken + " x"} {
		_, err := Provider().New(channel.Access{Values: map[string]string{fieldToken: token}, HTTP: http.DefaultClient})
		e, ok := errors.AsType[*ambry.Error](err)
		if !ok || e.Kind != ambry.InvalidArgument || len(e.Details) != 1 || e.Details[0].Field != fieldToken {
			t.Errorf("%q answers %#v", token, err)
		}
	}
	if _, err := Provider().New(channel.Access{Values: map[string]string{fieldToken: " " + testToken + "\n"}, HTTP: http.DefaultClient}); err != nil {
		t.Errorf("copied with white space: %v", err)
	}
}

func TestWhoeverIsAskedInAGroupAnswersThere(t *testing.T) {
	s := newServer(t)
	h := running(t, s)
	group := func(id int64) map[string]any {
		return map[string]any{"id": id, "type": "supergroup", "title": "harbour"}
	}
	from := map[string]any{"id": 7, "is_bot": false, "first_name": "Ann", "last_name": "Lee"}
	us := map[string]any{"id": botID, "is_bot": true, "first_name": "Ambry"}
	for _, c := range []struct {
		name      string
		message   map[string]any
		text      string
		mentioned bool
		chat      string
	}{
		{"a reply to us", map[string]any{"text": "and now?", "reply_to_message": map[string]any{"from": us}}, "and now?", true, "-100"},
		{"a reply to another", map[string]any{"text": "and you?", "reply_to_message": map[string]any{"from": from}}, "and you?", false, "-100"},
		{"a command for us", map[string]any{"text": "/status@AMBRY_bot now", "entities": []mark{{Type: "bot_command", Offset: 0, Length: 17}}}, "/status now", true, "-100"},
		{"a command for another", map[string]any{"text": "/status@other_bot", "entities": []mark{{Type: "bot_command", Offset: 0, Length: 17}}}, "/status@other_bot", false, "-100"},
		{"a command for all", map[string]any{"text": "/status", "entities": []mark{{Type: "bot_command", Offset: 0, Length: 7}}}, "/status", false, "-100"},
		{"by the name of no user name", map[string]any{"text": "😀 Ambry, when?", "entities": []mark{{Type: "text_mention", Offset: 3, Length: 6, User: &user{ID: botID}}}}, "😀  when?", true, "-100"},
		{"a mention of another", map[string]any{"text": "@other_bot when?", "entities": []mark{{Type: "mention", Offset: 0, Length: 10}}}, "@other_bot when?", false, "-100"},
		{"a mention that only looks so", map[string]any{"text": "@ambry_bot when?"}, "@ambry_bot when?", false, "-100"},
		{"below a picture", map[string]any{"caption": "@ambry_bot what is it?", "caption_entities": []mark{{Type: "mention", Offset: 0, Length: 10}}, "photo": []any{}}, "what is it?", true, "-100"},
		{"in a topic", map[string]any{"text": "@ambry_bot here?", "entities": []mark{{Type: "mention", Offset: 0, Length: 10}}, "message_thread_id": 33, "is_topic_message": true}, "here?", true, "-100/33"},
		{"in a thread of replies", map[string]any{"text": "@ambry_bot there?", "entities": []mark{{Type: "mention", Offset: 0, Length: 10}}, "message_thread_id": 34}, "there?", true, "-100"},
		{"marks outside of the text", map[string]any{"text": "short", "entities": []mark{{Type: "mention", Offset: 3, Length: 99}, {Type: "mention", Offset: -1, Length: 2}, {Type: "mention", Offset: 1 << 62, Length: 1 << 62}}}, "short", false, "-100"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.message["chat"], c.message["from"] = group(-100), from
			s.write(c.message)
			m := channeltest.Next(t, h.Heard)
			if m.Text != c.text || m.Mentioned != c.mentioned || !m.Group || m.Chat != c.chat || m.Sender != "7" || m.Name != "Ann Lee" {
				t.Errorf("received %+v", m)
			}
			if err := m.Send(t.Context(), "hello @ann and ann@example.org"); err != nil {
				t.Fatal(err)
			}
			if got := channeltest.Next(t, s.sent); got.Live != "" || got.Text != "hello @ann and ann@example.org" {
				t.Errorf("heard %+v", got)
			}
			s.mu.Lock()
			post := s.posts[len(s.posts)-1]
			s.mu.Unlock()
			if !strings.Contains(post["text"], "ann@example.org") || !strings.Contains(post["reply_parameters"], "message_id") {
				t.Errorf("sent is %v", post)
			}
			if topic := c.message["is_topic_message"] == true; topic != (post["message_thread_id"] == "33") {
				t.Errorf("sent is %v", post)
			}
		})
	}
}

func TestOnlyWhatPeopleWriteIsPassedOn(t *testing.T) {
	s := newServer(t)
	h := running(t, s)
	ann := map[string]any{"id": 7, "is_bot": false, "username": "ann_lee"}
	private := map[string]any{"id": 7, "type": "private"}
	s.write(map[string]any{"chat": private, "from": ann, "sticker": map[string]any{"emoji": "👍"}})
	s.write(map[string]any{"chat": private, "from": ann, "text": "written by a bot", "via_bot": map[string]any{"id": 8, "is_bot": true}})
	s.write(map[string]any{"chat": private, "text": "from nobody"})
	s.write(map[string]any{"chat": map[string]any{"id": -3, "type": "channel"}, "from": ann, "text": "published"})
	s.write(map[string]any{"chat": private, "from": ann, "text": []int{1}}) // of a form that there is not
	s.mu.Lock()
	s.tell(map[string]any{"edited_message": map[string]any{"text": "edited"}})
	s.mu.Unlock()
	s.write(map[string]any{"chat": private, "from": ann, "text": "hello"})
	if m := channeltest.Next(t, h.Heard); m.Text != "hello" || m.Name != "ann_lee" || m.Group || m.Mentioned {
		t.Errorf("received %+v", m)
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
	s.mu.Lock()
	for _, p := range s.polls {
		if p.Offset != 0 || len(p.Allowed) != 1 {
			t.Errorf("asked was %+v", p)
		}
	}
	s.mu.Unlock()
	h.Refuse(nil)
	h.Run()
	if m := channeltest.Next(t, h.Heard); m.Text != "keep it" {
		t.Errorf("received %+v", m)
	}
}

func TestWhatWasTakenIsNotReadAgainAfterARestart(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		cursor string
		want   []string
	}{
		"none":                {"", []string{"one", "two"}},
		"after the first":     {cursor(870002, now), []string{"two"}},
		"of the day before":   {cursor(870002, now.Add(-25*time.Hour)), []string{"one", "two"}},
		"of tomorrow":         {cursor(870002, now.Add(25*time.Hour)), []string{"one", "two"}},
		"of another provider": {"abc", []string{"one", "two"}},
		"below zero":          {cursor(-5, now), []string{"one", "two"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			h := begin(t, s)
			for _, text := range []string{"one", "two"} {
				s.say(channeltest.Line{From: channeltest.Ann, Text: text})
			}
			if err := h.Keep(t.Context(), c.cursor); err != nil {
				t.Fatal(err)
			}
			h.Run()
			for _, text := range c.want {
				if m := channeltest.Next(t, h.Heard); m.Text != text {
					t.Errorf("received %q, want %q", m.Text, text)
				}
			}
			h.Stop()
			if got := from(h.Cursor(), now); got != 870003 {
				t.Errorf("kept is %q", h.Cursor())
			}
		})
	}
}

// After a week without updates, Telegram takes any number for the next one, also
// a smaller one.
func TestNumbersThatBeginAnewLoseNothing(t *testing.T) {
	s := newServer(t)
	h := running(t, s)
	channeltest.Next(t, s.asked)
	channeltest.Next(t, s.asked) // it waits for what is new
	s.fail("getUpdates", fault{http.StatusOK, `{"ok":true,"result":[]}`})
	s.say(channeltest.Line{From: channeltest.Ann, Text: "before"})
	channeltest.Next(t, h.Heard)
	if p := channeltest.Next(t, s.asked); p.Offset != 0 { // the one that confirms was answered before
		t.Errorf("asked was %+v", p)
	}
	s.mu.Lock()
	s.pending, s.update = nil, 17
	s.mu.Unlock()
	s.say(channeltest.Line{From: channeltest.Ann, Text: "after"})
	if m := channeltest.Next(t, h.Heard); m.Text != "after" {
		t.Errorf("received %+v", m.Message)
	}
}

func TestAWebhookIsTakenOffByRunAlone(t *testing.T) {
	s := newServer(t)
	s.hook = "https://example.org/hook"
	h := begin(t, s)
	if _, err := h.Link.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	if s.hook == "" {
		t.Error("Check has taken it off")
	}
	s.mu.Unlock()
	s.say(channeltest.Line{From: channeltest.Ann, Text: "not delivered yet"})
	h.Run()
	if m := channeltest.Next(t, h.Heard); m.Text != "not delivered yet" {
		t.Errorf("received %+v", m)
	}
}

func TestWhatGoesWrongIsSaid(t *testing.T) {
	for _, c := range []struct {
		name, method string
		fault        fault
		kind         ambry.Kind
		says         string
	}{
		{"another reader", "getUpdates", fault{409, `{"ok":false,"error_code":409,"description":"Conflict: terminated by other getUpdates request"}`}, ambry.UpstreamFailed, "another program reads"},
		{"no token", "getUpdates", fault{401, `{"ok":false,"error_code":401,"description":"Unauthorized"}`}, ambry.Unauthorized, "does not take the token"},
		{"half a token", "getMe", fault{404, `{"ok":false,"error_code":404,"description":"Not Found"}`}, ambry.Unauthorized, "does not take the token"},
		{"a fault", "getUpdates", fault{502, `<html>bad gateway</html>`}, ambry.UpstreamFailed, "has a fault (HTTP 502)"},
		{"a fault at first", "getMe", fault{502, `<html>bad gateway</html>`}, ambry.UpstreamFailed, "does not answer as it should"},
		{"no JSON", "getUpdates", fault{200, `hello`}, ambry.UpstreamFailed, "not Telegram"},
		{"no list", "getUpdates", fault{200, `{"ok":true,"result":{"a":1}}`}, ambry.UpstreamFailed, "not Telegram"},
		{"updates without a number", "getUpdates", fault{200, `{"ok":true,"result":[{"message":7}]}`}, ambry.UpstreamFailed, "not Telegram"},
		{"no bot", "getMe", fault{200, `{"ok":true,"result":{"id":1,"is_bot":false}}`}, ambry.UpstreamFailed, "not Telegram"},
		{"a refusal", "getUpdates", fault{400, `{"ok":false,"error_code":400,"description":"Bad Request: no\nway"}`}, ambry.UpstreamFailed, "no way"},
		{"a redirect", "getMe", fault{302, ``}, ambry.UpstreamFailed, "does not answer as it should"},
		{"slow down", "getMe", fault{429, `{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":9}}`}, ambry.UpstreamFailed, "slow down"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t)
			s.fail(c.method, c.fault)
			h := begin(t, s)
			h.Run()
			err := channeltest.Next(t, h.End)
			if ambry.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) || strings.ContainsAny(err.Error(), "\n<") {
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
	s.revoke()
	channeltest.Next(t, h.End) // the connection was lost
	h.Run()
	if err := channeltest.Next(t, h.End); ambry.KindOf(err) != ambry.Unauthorized {
		t.Errorf("got %v", err)
	}
}

func TestItWaitsAsLongAsTelegramWants(t *testing.T) {
	slow := fault{429, `{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 1","parameters":{"retry_after":1}}`}
	s := newServer(t)
	h := begin(t, s)
	s.fail("getUpdates", fault{200, `{"ok":true,"result":[]}`}, slow)
	h.Run()
	channeltest.Next(t, h.Ready)
	s.say(channeltest.Line{From: channeltest.Ann, Text: "hello"})
	m := channeltest.Next(t, h.Heard)
	s.fail("sendMessage", slow)
	began := time.Now()
	if err := m.Send(t.Context(), "hello Ann"); err != nil || time.Since(began) < time.Second {
		t.Errorf("got %v after %v", err, time.Since(began))
	}
	if got := channeltest.Next(t, s.sent); got.Text != "hello Ann" {
		t.Errorf("heard %+v", got)
	}
}

func TestAnAnswerFollowsAGroupThatHasMoved(t *testing.T) {
	s := newServer(t)
	h := running(t, s)
	s.say(channeltest.Line{From: channeltest.Ann, In: channeltest.Harbour, Mention: true, Text: "hello"})
	m := channeltest.Next(t, h.Heard)
	s.mu.Lock()
	s.moved[groups[channeltest.Harbour]] = groups[channeltest.Basin]
	s.mu.Unlock()
	if err := m.Send(t.Context(), "hello Ann"); err != nil {
		t.Fatal(err)
	}
	if got := channeltest.Next(t, s.sent); got.In != channeltest.Basin {
		t.Errorf("heard %+v", got)
	}
}

func TestAnAnswerThatIsRefusedFails(t *testing.T) {
	s := newServer(t)
	h := running(t, s)
	s.say(channeltest.Line{From: channeltest.Ann, Text: "hello"})
	m := channeltest.Next(t, h.Heard)
	s.fail("sendMessage", fault{403, `{"ok":false,"error_code":403,"description":"Forbidden: bot was blocked by the user"}`})
	if err := m.Send(t.Context(), "hello Ann"); ambry.KindOf(err) != ambry.UpstreamFailed || !strings.Contains(err.Error(), "blocked") {
		t.Errorf("got %v", err)
	}
}

func FuzzUpdate(f *testing.F) {
	for _, seed := range []string{
		`{"update_id":1,"message":{"message_id":2,"from":{"id":3},"chat":{"id":4,"type":"group"},"text":"@ambry_bot 😀","entities":[{"type":"mention","offset":0,"length":10}]}}`,
		`{"update_id":1,"message":{"from":{"id":3},"chat":{"type":"private"},"text":"x","entities":[{"type":"bot_command","offset":-9223372036854775808,"length":9223372036854775807}]}}`,
		`{"update_id":1,"message":{"from":{"id":3},"chat":{"type":"supergroup"},"text":"a@ambry_bot@ambry_bot","entities":[{"type":"mention","offset":1,"length":10},{"type":"mention","offset":1,"length":10},{"type":"mention","offset":5,"length":10}]}}`,
		`{"update_id":"x"}`, `[]`, `{"update_id":5,"message":{"text":7}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h := &channeltest.Ears{Heard: make(chan channeltest.Heard, 1)}
		r := reader{link: &link{log: slog.New(slog.DiscardHandler)}, me: &models.User{ID: botID, Username: botName}, host: h, line: &channel.Line{}}
		next, err := r.take(t.Context(), []json.RawMessage{data})
		if err == nil && next == 0 {
			t.Error("it would come again for ever")
		}
		select {
		case m := <-h.Heard:
			if m.Text == "" || m.Sender == "" || m.Mentioned && !m.Group || utf8.Valid(data) && !utf8.ValidString(m.Text) {
				t.Errorf("received %+v", m)
			}
		default:
		}
	})
}
