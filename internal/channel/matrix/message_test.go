package matrix

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel/channeltest"
)

func TestAnswersStayInTheirThread(t *testing.T) {
	f, h := newFake(t), newHost()
	run(t, f, h, "")
	for name, c := range map[string]struct{ relates, want object }{
		"none":   {nil, object{"m.in_reply_to": object{"event_id": "$q-none"}}},
		"thread": {object{"rel_type": "m.thread", "event_id": "$root"}, object{"rel_type": "m.thread", "event_id": "$root", "is_falling_back": true, "m.in_reply_to": object{"event_id": "$q-thread"}}},
	} {
		m := text("ann", "x")
		m["event_id"] = "$q-" + name
		if c.relates != nil {
			m["content"].(object)["m.relates_to"] = c.relates
		}
		f.place(annRoom, m)
		<-h.received
		if err := (<-h.sends)(t.Context(), "an answer"); err != nil {
			t.Error(err)
		}
		<-f.heard
		f.mu.Lock()
		if !reflect.DeepEqual(f.relates, c.want) {
			t.Errorf("%s: it relates to %v, want %v", name, f.relates, c.want)
		}
		f.mu.Unlock()
	}
}

func TestAnswersArriveOnce(t *testing.T) {
	f, h := newFake(t), newHost()
	run(t, f, h, "")
	limited := func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusTooManyRequests)
		says(w, object{"errcode": "M_LIMIT_EXCEEDED", "error": "slowly", "retry_after_ms": 5})
	}
	lost := func(w http.ResponseWriter) { panic(http.ErrAbortHandler) }
	half := func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", "100")
		w.Write([]byte(`{"event`))
	}
	for name, c := range map[string]struct {
		answers []func(http.ResponseWriter)
		fails   bool
	}{
		"well":        {nil, false},
		"limited":     {[]func(http.ResponseWriter){limited, limited, limited}, false},
		"by a proxy":  {[]func(http.ResponseWriter){func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) }}, false},
		"a fault":     {[]func(http.ResponseWriter){func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }}, false},
		"lost before": {[]func(http.ResponseWriter){lost}, false},
		"lost after":  {[]func(http.ResponseWriter){nil, lost}, false},
		"half":        {[]func(http.ResponseWriter){nil, half}, false},
		"forbidden":   {[]func(http.ResponseWriter){func(w http.ResponseWriter) { fails(w, http.StatusForbidden, "M_FORBIDDEN") }}, true},
		"for an hour": {[]func(http.ResponseWriter){func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusTooManyRequests)
			says(w, object{"errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": 3600_000})
		}}, true},
		"always": {[]func(http.ResponseWriter){limited, limited, limited, limited}, true},
	} {
		t.Run(name, func(t *testing.T) {
			// What is asked is not the sync that goes on beside it.
			l := linkTo(t, f.server.URL, f.server.Client(), "")
			s, err := l.login(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			f.place(annRoom, text("ann", "x"))
			m := <-h.received
			<-h.sends
			f.place(annRoom, text("ann", "so that it waits"))
			h.texts(1)
			waits(f)
			f.next(c.answers...)
			for range 2 { // however often
				err = s.send(t.Context(), place{room: annRoom, message: eventID(m.ID)}, "an answer")
				if (err != nil) != c.fails || c.fails && ambry.KindOf(err) != ambry.UpstreamFailed {
					t.Errorf("it ends with %v", err)
				}
				if c.fails {
					break
				}
			}
			if !c.fails {
				if s := <-f.heard; s != (channeltest.Sent{In: channeltest.Ann, Text: "an answer"}) {
					t.Errorf("heard is %+v", s)
				}
			}
			if len(f.heard) != 0 {
				t.Errorf("heard is %+v", <-f.heard)
			}
		})
	}
}

func waits(f *fake) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for !f.waiting {
		f.changed.Wait()
	}
}

// read is a message as it is read from the wire.
func read(t *testing.T, content object) *message {
	t.Helper()
	data, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	m := &message{}
	if err := json.Unmarshal(data, m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMentionsAreSeen(t *testing.T) {
	html := func(s string) *message { return read(t, object{"formatted_body": s}) }
	modern := func(users ...string) *message { return read(t, object{"m.mentions": object{"user_ids": users}}) }
	old := &message{}
	for _, c := range []struct {
		content    *message
		text, want string
		mentioned  bool
	}{
		{modern(us), "Harbour Bot: when?", "when?", true},
		{modern(us), "@harbour, when?", "when?", true},
		{modern(us), us + " when?", "when?", true},
		{modern(us), "when, Harbour Bot?", "when, Harbour Bot?", true},
		{modern(us), "Harbour Bot", "", true},
		{modern(), "Harbour Bot: when?", "Harbour Bot: when?", false},
		{modern("@ann:example.org"), "ask " + us, "ask", true},
		{modern("@ann:example.org"), us + "x", us + "x", false},
		{old, "harbour bot when?", "when?", true},
		{old, "harbour bots when?", "harbour bots when?", false},
		{old, "the harbour bots and the Harbour Bot", "the harbour bots and the Harbour Bot", true},
		{old, "the harbour is closed", "the harbour is closed", false},
		{old, "@harbour when?", "when?", true},
		{html(`<a href="https://matrix.to/#/` + us + `">HB</a> when?`), "HB when?", "HB when?", true},
		{html(`<a href="https://matrix.to/#/` + us + `x">HB</a> when?`), "HB when?", "HB when?", false},
		{old, "İİİİ harbour", "İİİİ harbour", false},
	} {
		got, yes := mentioned(c.content, c.text, us, "Harbour Bot")
		if got != c.want || yes != c.mentioned {
			t.Errorf("%q: %q, %v; want %q, %v", c.text, got, yes, c.want, c.mentioned)
		}
	}
}

func TestAnAccountWithoutANameIsMentionedByItsID(t *testing.T) {
	content := read(t, object{"m.mentions": object{"user_ids": []string{us}}})
	if got, yes := mentioned(content, us+": when?", us, "harbour"); got != "when?" || !yes {
		t.Errorf("got %q, %v", got, yes)
	}
}

func TestOnlyWhatPeopleWriteIsRead(t *testing.T) {
	reply := object{"m.in_reply_to": object{"event_id": "$a"}}
	for name, c := range map[string]struct {
		content object
		want    string
	}{
		"text":       {object{"msgtype": "m.text", "body": " x\n"}, "x"},
		"notice":     {object{"msgtype": "m.notice", "body": "x"}, ""},
		"picture":    {object{"msgtype": "m.image", "body": "x.png"}, ""},
		"its name":   {object{"msgtype": "m.image", "body": "x.png", "filename": "x.png"}, ""},
		"caption":    {object{"msgtype": "m.image", "body": "look", "filename": "x.png"}, "look"},
		"edit":       {object{"msgtype": "m.text", "body": "* x", "m.relates_to": object{"rel_type": "m.replace", "event_id": "$a"}}, ""},
		"reply":      {object{"msgtype": "m.text", "body": "> <@a:b> said\n> more\n\nx", "m.relates_to": reply}, "x"},
		"acted":      {object{"msgtype": "m.text", "body": "> * <@a:b> waves\nx", "m.relates_to": reply}, "x"},
		"only quote": {object{"msgtype": "m.text", "body": "> <@a:b> said\n> more", "m.relates_to": reply}, ""},
		"one line":   {object{"msgtype": "m.text", "body": "> <@a:b> said", "m.relates_to": reply}, "> <@a:b> said"},
		"own quote":  {object{"msgtype": "m.text", "body": "> that\nx", "m.relates_to": reply}, "> that\nx"},
		"quote":      {object{"msgtype": "m.text", "body": "> <@a:b> said\n\nx"}, "> <@a:b> said\n\nx"},
		"redacted":   {object{}, ""},
		"from later": {object{"msgtype": "org.example.new", "body": "x"}, ""},
	} {
		if got := written(read(t, c.content)); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// What one person sends in a form of its own must not keep us from the others.
func TestEventsThatMakeNoSenseAreLeftOut(t *testing.T) {
	f, h := newFake(t), newHost()
	run(t, f, h, "")
	for n, odd := range []object{
		{"type": 7, "sender": "@ann:example.org", "content": object{}},
		{"type": "m.room.message", "sender": "@ann:example.org", "content": "x"},
		{"type": "m.room.message", "sender": "@ann:example.org", "content": object{"msgtype": "m.text", "body": []int{1}}},
		{"type": "m.room.message", "sender": "@ann:example.org", "content": object{"msgtype": "m.text", "body": "x", "m.relates_to": "y"}},
		{"type": "m.room.member", "sender": "@ann:example.org", "state_key": us, "content": nil, "unsigned": "x"},
		{"type": "m.room.member", "sender": "@ann:example.org", "state_key": "@ann:example.org", "content": object{"membership": 1}, "unsigned": object{"prev_content": 2}},
		{"type": "m.room.message", "sender": []int{}, "origin_server_ts": "then"},
	} {
		f.place(annRoom, odd)
		f.place(annRoom, text("ann", fmt.Sprint("after ", n)))
		if got := h.texts(1); got[0] != fmt.Sprint("after ", n) {
			t.Errorf("received %q after %v", got, odd)
		}
	}
}

func FuzzMentions(f *testing.F) {
	f.Add("Harbour Bot: when?", "Harbour Bot", true)
	f.Add("İ@harbour", "İ", false)
	f.Fuzz(func(t *testing.T, text, name string, modern bool) {
		content := &message{Body: text}
		if modern {
			content = read(t, object{"m.mentions": object{"user_ids": []string{us}}})
		}
		if got, yes := mentioned(content, text, us, name); modern && !yes || len(got) > len(text) {
			t.Fatalf("%q with %q is %q, %v", text, name, got, yes)
		}
	})
}
