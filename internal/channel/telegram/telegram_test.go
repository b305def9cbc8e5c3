package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
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

// harness runs a link and has what it passes on.
type harness struct {
	t        *testing.T
	link     channel.Link
	client   *http.Client
	ready    chan channel.Identity
	received chan channel.Message
	end      chan error
	stop     context.CancelFunc

	mu      sync.Mutex
	sends   []channel.Send
	refuses error
}

func (h *harness) Connected(who channel.Identity) { h.ready <- who }

func (h *harness) Receive(_ context.Context, m channel.Message, send channel.Send) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refuses != nil {
		return h.refuses
	}
	h.sends = append(h.sends, send)
	h.received <- m
	return nil
}

func (h *harness) Cursor() string                     { return "" }
func (h *harness) Keep(context.Context, string) error { return errors.New("nothing is kept") }

// begin makes a link; run runs it.
func begin(t *testing.T, s *server) *harness {
	t.Helper()
	transport := &http.Transport{}
	h := &harness{
		t: t, client: &http.Client{Transport: transport},
		ready: make(chan channel.Identity, 10), received: make(chan channel.Message, 100), end: make(chan error, 1),
	}
	var err error
	h.link, err = s.link(channel.Access{Values: map[string]string{fieldToken: testToken}, HTTP: h.client, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(transport.CloseIdleConnections)
	return h
}

func (h *harness) run() {
	ctx, stop := context.WithCancel(h.t.Context())
	h.stop = stop
	go func() { h.end <- h.link.Run(ctx, h) }()
	h.t.Cleanup(stop)
}

func running(t *testing.T, s *server) *harness {
	t.Helper()
	h := begin(t, s)
	h.run()
	await(t, h.ready)
	return h
}

const patience = 20 * time.Second

func await[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("it does not come")
		panic("not reached")
	}
}

// send answers what was received n-th.
func (h *harness) send(n int, text string) error {
	h.mu.Lock()
	send := h.sends[n]
	h.mu.Unlock()
	return send(h.t.Context(), text)
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
			m := await(t, h.received)
			if m.Text != c.text || m.Mentioned != c.mentioned || !m.Group || m.Chat != c.chat || m.Sender != "7" || m.Name != "Ann Lee" {
				t.Errorf("received %+v", m)
			}
			h.mu.Lock()
			n := len(h.sends) - 1
			h.mu.Unlock()
			if err := h.send(n, "hello @ann and ann@example.org"); err != nil {
				t.Fatal(err)
			}
			if got := await(t, s.sent); got.Live != "" || got.Text != "hello @ann and ann@example.org" {
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
	if m := await(t, h.received); m.Text != "hello" || m.Name != "ann_lee" || m.Group || m.Mentioned {
		t.Errorf("received %+v", m)
	}
}

func TestNothingIsConfirmedBeforeItIsTaken(t *testing.T) {
	s := newServer(t)
	h := running(t, s)
	h.mu.Lock()
	h.refuses = errors.New("the disk is full")
	h.mu.Unlock()
	s.say(channeltest.Line{From: channeltest.Ann, Text: "keep it"})
	if err := await(t, h.end); err == nil || !strings.Contains(err.Error(), "disk") {
		t.Errorf("Run ends with %v", err)
	}
	s.mu.Lock()
	for _, p := range s.polls {
		if p.Offset != 0 || len(p.Allowed) != 1 {
			t.Errorf("asked was %+v", p)
		}
	}
	s.mu.Unlock()
	h.mu.Lock()
	h.refuses = nil
	h.mu.Unlock()
	h.run()
	if m := await(t, h.received); m.Text != "keep it" {
		t.Errorf("received %+v", m)
	}
}

// After a week without updates, Telegram takes any number for the next one, also
// a smaller one.
func TestNumbersThatBeginAnewLoseNothing(t *testing.T) {
	s := newServer(t)
	h := running(t, s)
	await(t, s.asked)
	await(t, s.asked) // it waits for what is new
	s.fail("getUpdates", fault{http.StatusOK, `{"ok":true,"result":[]}`})
	s.say(channeltest.Line{From: channeltest.Ann, Text: "before"})
	await(t, h.received)
	if p := await(t, s.asked); p.Offset != 0 { // the one that confirms was answered by the fault
		t.Errorf("asked was %+v", p)
	}
	s.mu.Lock()
	s.pending, s.update = nil, 17
	s.mu.Unlock()
	s.say(channeltest.Line{From: channeltest.Ann, Text: "after"})
	for m := await(t, h.received); m.Text != "after"; m = await(t, h.received) {
		if m.Text != "before" { // which was not confirmed, and may come again
			t.Errorf("received %+v", m)
		}
	}
}

func TestAWebhookIsTakenOffByRunAlone(t *testing.T) {
	s := newServer(t)
	s.hook = "https://example.org/hook"
	h := begin(t, s)
	if _, err := h.link.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	if s.hook == "" {
		t.Error("Check has taken it off")
	}
	s.mu.Unlock()
	s.say(channeltest.Line{From: channeltest.Ann, Text: "not delivered yet"})
	h.run()
	if m := await(t, h.received); m.Text != "not delivered yet" {
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
			h.run()
			err := await(t, h.end)
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
	await(t, h.end) // the connection was lost
	h.run()
	if err := await(t, h.end); ambry.KindOf(err) != ambry.Unauthorized {
		t.Errorf("got %v", err)
	}
}

func TestItWaitsAsLongAsTelegramWants(t *testing.T) {
	slow := fault{429, `{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 1","parameters":{"retry_after":1}}`}
	s := newServer(t)
	h := begin(t, s)
	s.fail("getUpdates", fault{200, `{"ok":true,"result":[]}`}, slow)
	h.run()
	await(t, h.ready)
	s.say(channeltest.Line{From: channeltest.Ann, Text: "hello"})
	await(t, h.received)
	s.fail("sendMessage", slow)
	began := time.Now()
	if err := h.send(0, "hello Ann"); err != nil || time.Since(began) < time.Second {
		t.Errorf("got %v after %v", err, time.Since(began))
	}
	if got := await(t, s.sent); got.Text != "hello Ann" {
		t.Errorf("heard %+v", got)
	}
}

func TestAnAnswerFollowsAGroupThatHasMoved(t *testing.T) {
	s := newServer(t)
	h := running(t, s)
	s.say(channeltest.Line{From: channeltest.Ann, In: channeltest.Harbour, Mention: true, Text: "hello"})
	await(t, h.received)
	s.mu.Lock()
	s.moved[groups[channeltest.Harbour]] = groups[channeltest.Basin]
	s.mu.Unlock()
	if err := h.send(0, "hello Ann"); err != nil {
		t.Fatal(err)
	}
	if got := await(t, s.sent); got.In != channeltest.Basin {
		t.Errorf("heard %+v", got)
	}
}

func TestAnAnswerThatIsRefusedFails(t *testing.T) {
	s := newServer(t)
	h := running(t, s)
	s.say(channeltest.Line{From: channeltest.Ann, Text: "hello"})
	await(t, h.received)
	s.fail("sendMessage", fault{403, `{"ok":false,"error_code":403,"description":"Forbidden: bot was blocked by the user"}`})
	if err := h.send(0, "hello Ann"); ambry.KindOf(err) != ambry.UpstreamFailed || !strings.Contains(err.Error(), "blocked") {
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
		h := &harness{t: t, received: make(chan channel.Message, 1)}
		r := reader{link: &link{log: slog.New(slog.DiscardHandler)}, me: &models.User{ID: botID, Username: botName}, host: h, line: &channel.Line{}}
		next, err := r.take(t.Context(), []json.RawMessage{data})
		if err == nil && next == 0 {
			t.Error("it would come again for ever")
		}
		select {
		case m := <-h.received:
			if m.Text == "" || m.Sender == "" || m.Mentioned && !m.Group || utf8.Valid(data) && !utf8.ValidString(m.Text) {
				t.Errorf("received %+v", m)
			}
		default:
		}
	})
}
