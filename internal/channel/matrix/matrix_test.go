package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
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

	mu     sync.Mutex
	cursor string
}

func newHost() *host {
	return &host{connected: make(chan channel.Identity, 8), received: make(chan channel.Message, 1024), sends: make(chan channel.Send, 1024)}
}

func (h *host) Connected(who channel.Identity) { h.connected <- who }

func (h *host) Receive(_ context.Context, m channel.Message, send channel.Send) error {
	h.received <- m
	h.sends <- send
	return nil
}

func (h *host) Cursor() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cursor
}

func (h *host) Keep(_ context.Context, cursor string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cursor = cursor
	return nil
}

// texts returns the texts of the next messages.
func (h *host) texts(n int) []string {
	var texts []string
	for range n {
		texts = append(texts, (<-h.received).Text)
		<-h.sends
	}
	return texts
}

func linkTo(t *testing.T, address string, client *http.Client, rooms string) *link {
	t.Helper()
	own := *client // others use it already
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	l, err := newLink(channel.Access{
		Values: map[string]string{"server": address, "token": token, "rooms": rooms},
		HTTP:   &own, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	l.pause = time.Millisecond
	return l
}

// run runs a link against a fake, and returns how it is stopped, and its end,
// which can be asked again.
func run(t *testing.T, f *fake, h *host, rooms string) (stop func(), end func() error) {
	t.Helper()
	l := linkTo(t, f.server.URL, f.server.Client(), rooms)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx, h) }()
	end = func() error {
		err := <-ended
		ended <- err
		return err
	}
	stop = func() {
		cancel()
		end()
	}
	t.Cleanup(stop)
	select {
	case who := <-h.connected:
		if who != (channel.Identity{ID: us, Name: "Harbour Bot"}) {
			t.Errorf("connected as %+v", who)
		}
	case err := <-ended:
		ended <- err
	}
	return stop, end
}

func text(from, body string, more ...object) object {
	content := object{"msgtype": "m.text", "body": body, "m.mentions": object{}}
	for _, m := range more {
		for key, value := range m {
			content[key] = value
		}
	}
	return object{"type": "m.room.message", "sender": "@" + from + ":example.org", "content": content}
}

const annRoom, harbour, den = "!ann:example.org", "!harbour:example.org", "!den:example.org"

func TestInvitationsAreAcceptedAsThePersonWants(t *testing.T) {
	for _, c := range []struct {
		rooms  string
		direct bool
		want   bool
		short  bool
	}{{"", true, true, false}, {"", true, true, true}, {"", false, false, false}, {"direct", false, false, false}, {"all", false, true, true}, {"none", true, false, false}} {
		f, h := newFake(t), newHost()
		f.rooms[den] = &fakeRoom{members: []string{"@ann:example.org"}}
		f.short = c.short
		run(t, f, h, c.rooms)
		f.place(den, text("ann", "of before", object{"m.mentions": object{"user_ids": []string{us}}}))
		f.invite("!nowhere:example.org", true) // one that cannot be accepted changes nothing
		f.place(den, object{"type": "m.room.member", "state_key": us, "sender": "@ann:example.org", "content": object{"membership": "invite"}})
		f.place(den, text("ann", "are you there?"))
		f.invite(den, c.direct)
		want := []string{"over"}
		if c.want {
			want = []string{"are you there?", "over"}
			if got := h.texts(1); got[0] != want[0] {
				t.Errorf("%+v: received %q", c, got)
			}
			want = want[1:]
		}
		f.place(annRoom, text("ann", "over"))
		if got := h.texts(1); !slices.Equal(got, want) {
			t.Errorf("%+v: received %q, want %q", c, got, want)
		}
		f.mu.Lock()
		if joined := slices.Contains(f.rooms[den].members, us); joined != c.want {
			t.Errorf("%+v: we are in the room: %v", c, joined)
		}
		f.mu.Unlock()
	}
}

func TestWhatWasSaidBeforeWeCameIsNotAnswered(t *testing.T) {
	invited := object{"type": "m.room.member", "state_key": us, "content": object{"membership": "invite"}, "origin_server_ts": 10}
	late := text("ann", "late")
	late["origin_server_ts"] = 11
	joined := object{"type": "m.room.member", "state_key": us, "content": object{"membership": "join"}}
	renamed := object{"type": "m.room.member", "state_key": us, "content": object{"membership": "join"}, "unsigned": object{"prev_content": object{"membership": "join"}}}
	for name, c := range map[string]struct {
		events []object
		want   []string
		how    arrival
	}{
		"there":         {[]object{text("ann", "a"), text("ann", "b")}, []string{"a", "b"}, there},
		"invited":       {[]object{text("ann", "a"), invited, text("ann", "b"), joined, text("ann", "c")}, []string{"b", "c"}, came},
		"out of place":  {[]object{text("ann", "a"), late, joined, invited, text("ann", "b")}, []string{"late", "b"}, came},
		"only came":     {[]object{text("ann", "a"), joined, text("ann", "b")}, []string{"b"}, cameInvited},
		"another name":  {[]object{text("ann", "a"), renamed, text("ann", "b")}, []string{"a", "b"}, there},
		"other comes":   {[]object{text("ann", "a"), {"type": "m.room.member", "state_key": "@x:y", "content": object{"membership": "join"}}}, []string{"a"}, there},
		"nothing to it": {nil, nil, there},
	} {
		data, _ := json.Marshal(c.events)
		var events []*event
		if err := json.Unmarshal(data, &events); err != nil {
			t.Fatal(err)
		}
		f := follower{session: &session{us: us}}
		after, how := f.sinceWeCame(events)
		var got []string
		for _, e := range after {
			if e.State == nil {
				var m message
				if err := json.Unmarshal(e.Content, &m); err != nil {
					t.Fatal(err)
				}
				got = append(got, m.Body)
			}
		}
		if !slices.Equal(got, c.want) || how != c.how {
			t.Errorf("%s: %q, %v; want %q, %v", name, got, how, c.want, c.how)
		}
	}
}

func TestEncryptedRoomsAreToldOnce(t *testing.T) {
	f, h := newFake(t), newHost()
	secret := func(from string) object {
		return object{"type": "m.room.encrypted", "sender": "@" + from + ":example.org", "content": object{"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "x"}}
	}
	stop, _ := run(t, f, h, "")
	for n := range 2 {
		f.place(harbour, secret("ann")) // others read along
		f.place(annRoom, secret("ann"))
		f.place(annRoom, secret("ann"))
		f.place("!ben:example.org", text("ben", "over"))
		h.texts(1)
		if n == 0 {
			if s := <-f.heard; s != (channeltest.Sent{In: channeltest.Ann, Text: unreadable}) {
				t.Errorf("heard is %+v", s)
			}
		}
		if len(f.heard) != 0 {
			t.Errorf("heard is %+v", <-f.heard)
		}
		stop()
		f.mu.Lock()
		clear(f.txns) // a homeserver forgets what it was sent
		f.mu.Unlock()
		stop, _ = run(t, f, h, "")
	}
}

func TestATalkThatOthersJoinIsAGroup(t *testing.T) {
	f, h := newFake(t), newHost()
	run(t, f, h, "")
	f.place(annRoom, text("ann", "alone"))
	if m := <-h.received; m.Group || m.Name != "Ann of the Gate" {
		t.Errorf("received %+v", m)
	}
	f.mu.Lock()
	f.rooms[annRoom].members = append(f.rooms[annRoom].members, "@ben:example.org")
	f.put2(annRoom, object{"type": "m.room.member", "state_key": "@ben:example.org", "sender": "@ben:example.org", "content": object{"membership": "join", "displayname": "Ben of the Basin"}})
	f.put2(annRoom, text("ben", "not alone"))
	f.mu.Unlock()
	if m := <-h.received; !m.Group || m.Mentioned || m.Name != "Ben of the Basin" {
		t.Errorf("received %+v", m)
	}
	f.mu.Lock()
	delete(f.rooms, harbour) // we are thrown out of it, while something is said
	f.put2(harbour, text("ann", "bye", object{"m.mentions": object{"user_ids": []string{us}}}))
	f.mu.Unlock()
	if m := <-h.received; !m.Group || !m.Mentioned {
		t.Errorf("received %+v", m)
	}
}

// waits returns when a sync waits for what is new: the next one to be asked is
// none.
func TestATokenThatWasRevokedEndsIt(t *testing.T) {
	for _, kind := range []string{"M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_USER_DEACTIVATED"} {
		f, h := newFake(t), newHost()
		_, end := run(t, f, h, "")
		f.mu.Lock()
		f.token, f.kind = "another", kind
		f.put2(annRoom, text("ann", "x")) // its sync is the last one
		f.mu.Unlock()
		if err := end(); ambry.KindOf(err) != ambry.Unauthorized || strings.Contains(err.Error(), token) {
			t.Errorf("%s: Run ends with %v", kind, err)
		}
	}
}

func TestWhatOneSyncDoesNotTellIsRead(t *testing.T) {
	f, h := newFake(t), newHost()
	stop, _ := run(t, f, h, "")
	f.place(annRoom, text("ann", "0"))
	h.texts(1)
	stop()
	var want []string
	for _, n := range strings.Split("1 2 3 4 5 6 7", " ") {
		f.place(annRoom, text("ann", n))
		f.place(harbour, text("ben", "h"+n, object{"msgtype": "m.notice"}))
		want = append(want, n)
	}
	f.mu.Lock()
	f.hide = 6 // all but the last one
	f.mu.Unlock()
	run(t, f, h, "")
	if got := h.texts(len(want)); !slices.Equal(got, want) {
		t.Errorf("received %q, want %q", got, want)
	}
}

func TestAHomeserverThatWasSetUpAnewIsReadFromNow(t *testing.T) {
	f, h := newFake(t), newHost()
	f.place(annRoom, text("ann", "old"))
	h.cursor = `{"since":"s77"}`
	_, end := run(t, f, h, "")
	if err := end(); ambry.KindOf(err) != ambry.UpstreamFailed {
		t.Errorf("Run ends with %v", err)
	}
	run(t, f, h, "")
	f.place(annRoom, text("ann", "new"))
	if got := h.texts(1); got[0] != "new" {
		t.Errorf("received %q", got)
	}
}

func TestHomeserversAreFoundBehindTheirNames(t *testing.T) {
	f := newFake(t)
	for name, c := range map[string]struct {
		known func(http.ResponseWriter)
		ok    bool
	}{
		"there":   {func(w http.ResponseWriter) { says(w, object{"m.homeserver": object{"base_url": f.server.URL + "/"}}) }, true},
		"nowhere": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) }, false},
		"nonsense": {func(w http.ResponseWriter) {
			says(w, object{"m.homeserver": object{"base_url": "file:///etc/passwd"}})
		}, false},
	} {
		for kind, other := range map[string]func(http.ResponseWriter, *http.Request){
			"404":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
			"unknown": func(w http.ResponseWriter, _ *http.Request) { fails(w, http.StatusNotFound, "M_UNRECOGNIZED") },
			"page":    func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>")) },
			"redirect": func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "https://evil.example/", http.StatusFound)
			},
		} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/.well-known/matrix/client" {
					c.known(w)
					return
				}
				other(w, r)
			}))
			who, err := linkTo(t, server.URL, server.Client(), "").Check(t.Context())
			if c.ok && (err != nil || who.ID != us) || !c.ok && ambry.KindOf(err) != ambry.UpstreamFailed {
				t.Errorf("%s, %s: %+v, %v", name, kind, who, err)
			}
			server.Close()
		}
	}
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/matrix/client" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		says(w, object{"m.homeserver": object{"base_url": f.server.URL}})
	}))
	defer secure.Close()
	if _, err := linkTo(t, secure.URL, secure.Client(), "").Check(t.Context()); ambry.KindOf(err) != ambry.UpstreamFailed {
		t.Errorf("the token goes over a line that others can listen to: %v", err)
	}
}

func TestBrokenAnswersEndIt(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter){
		"null":   func(w http.ResponseWriter) { w.Write([]byte("null")) },
		"empty":  func(w http.ResponseWriter) { w.Write([]byte("{}")) },
		"broken": func(w http.ResponseWriter) { w.Write([]byte(`{"next_batch":`)) },
		"kind":   func(w http.ResponseWriter) { w.Write([]byte(`{"next_batch":7}`)) },
		"half": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "100")
			w.Write([]byte(`{`))
		},
		"fault":    func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) },
		"says why": func(w http.ResponseWriter) { fails(w, http.StatusForbidden, "M_FORBIDDEN") },
	} {
		f, h := newFake(t), newHost()
		f.next(nil, nil, answer) // after who we are, and our name
		if _, end := run(t, f, h, ""); ambry.KindOf(end()) != ambry.UpstreamFailed {
			t.Errorf("%s: Run ends with %v", name, end())
		}
		f.next(answer)
		if _, err := linkTo(t, f.server.URL, f.server.Client(), "").Check(t.Context()); ambry.KindOf(err) != ambry.UpstreamFailed {
			t.Errorf("%s: Check answers %v", name, err)
		}
	}
}

func TestValuesAreChecked(t *testing.T) {
	for _, c := range []struct{ key, server, token, rooms string }{
		{"server", "", "t", ""},
		{"server", "example.org", "t", ""},
		{"server", "ftp://example.org", "t", ""},
		{"server", "https://a:b@example.org", "t", ""},
		{"server", "https://example.org?x", "t", ""},
		{"token", "https://example.org", "", ""},
		{"token", "https://example.org", "a b", ""},
		{"rooms", "https://example.org", "t", "some"},
	} {
		_, err := Provider().New(channel.Access{Values: map[string]string{"server": c.server, "token": c.token, "rooms": c.rooms}})
		e, ok := errors.AsType[*ambry.Error](err)
		if !ok || e.Kind != ambry.InvalidArgument || len(e.Details) != 1 || e.Details[0].Field != c.key {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// closed lets nothing out.
type closed struct{}

func (closed) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("closed") }

func FuzzSyncs(f *testing.F) {
	f.Add(`{"next_batch":"s","rooms":{"join":{"!a:b":{"summary":{"m.joined_member_count":2},"state":{"events":[{"type":"m.room.member","state_key":"@x:y","content":{"membership":"join"}}]},"timeline":{"limited":true,"prev_batch":"p","events":[{"type":"m.room.message","event_id":"$1","sender":"@x:y","content":{"msgtype":"m.text","body":"@harbour hello","m.relates_to":{"m.in_reply_to":{"event_id":"$0"}}}}]}}},"invite":{"!c:d":{"invite_state":{"events":[{"type":"m.room.member","state_key":"@harbour:example.org","content":{"membership":"invite","is_direct":true}}]}}}}}`)
	f.Add(`{"rooms":{"join":{"":null,"x":{"timeline":{"events":[null,{"type":"m.room.encrypted","event_id":"$1","sender":"x"}]}}}}}`)
	l := &link{Access: channel.Access{HTTP: &http.Client{Transport: closed{}}, Log: slog.New(slog.DiscardHandler)}, rooms: "direct", pause: time.Nanosecond}
	api := newHomeserver(l.HTTP, &url.URL{Scheme: "http", Host: "example.org"}, "t")
	f.Fuzz(func(t *testing.T, data string) {
		var out news
		if json.Unmarshal([]byte(data), &out) != nil {
			return
		}
		h := newHost()
		h.received = make(chan channel.Message, 1+len(data))
		h.sends = make(chan channel.Send, 1+len(data))
		s := &session{link: l, api: api, us: us, name: "Harbour Bot"}
		fo := follower{session: s, host: h, at: cursor{Since: "s"}, rooms: map[roomID]*room{}, names: map[userID]string{}}
		_ = fo.take(t.Context(), out) // it fails, since nothing can be asked
		for range len(h.received) {
			if m := <-h.received; m.ID == "" || m.Sender == "" || m.Sender == us || strings.TrimSpace(m.Text) == "" {
				t.Fatalf("%q is %+v", data, m)
			}
		}
	})
}
