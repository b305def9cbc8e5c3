package matrix

import (
	"net/http"
	"reflect"
	"testing"

	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

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
				err = s.send(t.Context(), place{room: annRoom, message: id.EventID(m.ID)}, "an answer")
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

func TestMentionsAreSeen(t *testing.T) {
	html := func(s string) *event.MessageEventContent { return &event.MessageEventContent{FormattedBody: s} }
	modern := func(users ...id.UserID) *event.MessageEventContent {
		return &event.MessageEventContent{Mentions: &event.Mentions{UserIDs: users}}
	}
	old := &event.MessageEventContent{}
	for _, c := range []struct {
		content    *event.MessageEventContent
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
	content := &event.MessageEventContent{Mentions: &event.Mentions{UserIDs: []id.UserID{us}}}
	if got, yes := mentioned(content, us+": when?", us, "harbour"); got != "when?" || !yes {
		t.Errorf("got %q, %v", got, yes)
	}
}

func TestOnlyWhatPeopleWriteIsRead(t *testing.T) {
	reply := &event.RelatesTo{InReplyTo: &event.InReplyTo{EventID: "$a"}}
	for name, c := range map[string]struct {
		content event.MessageEventContent
		want    string
	}{
		"text":       {event.MessageEventContent{MsgType: event.MsgText, Body: " x\n"}, "x"},
		"notice":     {event.MessageEventContent{MsgType: event.MsgNotice, Body: "x"}, ""},
		"picture":    {event.MessageEventContent{MsgType: event.MsgImage, Body: "x.png"}, ""},
		"its name":   {event.MessageEventContent{MsgType: event.MsgImage, Body: "x.png", FileName: "x.png"}, ""},
		"caption":    {event.MessageEventContent{MsgType: event.MsgImage, Body: "look", FileName: "x.png"}, "look"},
		"edit":       {event.MessageEventContent{MsgType: event.MsgText, Body: "* x", RelatesTo: &event.RelatesTo{Type: event.RelReplace, EventID: "$a"}}, ""},
		"reply":      {event.MessageEventContent{MsgType: event.MsgText, Body: "> <@a:b> said\n> more\n\nx", RelatesTo: reply}, "x"},
		"quote":      {event.MessageEventContent{MsgType: event.MsgText, Body: "> <@a:b> said\n\nx"}, "> <@a:b> said\n\nx"},
		"redacted":   {event.MessageEventContent{}, ""},
		"from later": {event.MessageEventContent{MsgType: "org.example.new", Body: "x"}, ""},
	} {
		if got := written(&c.content); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func FuzzMentions(f *testing.F) {
	f.Add("Harbour Bot: when?", "Harbour Bot", true)
	f.Add("İ@harbour", "İ", false)
	f.Fuzz(func(t *testing.T, text, name string, modern bool) {
		content := &event.MessageEventContent{Body: text}
		if modern {
			content.Mentions = &event.Mentions{UserIDs: []id.UserID{us}}
		}
		if got, yes := mentioned(content, text, us, name); modern && !yes || len(got) > len(text) {
			t.Fatalf("%q with %q is %q, %v", text, name, got, yes)
		}
	})
}
