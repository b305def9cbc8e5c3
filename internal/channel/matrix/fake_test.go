package matrix

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ambry.dev/ambry/internal/channel/channeltest"
)

type object = map[string]any

const us = "@harbour:example.org"

var token = "syt_" + "token_0123456789"

// fake speaks the wire of a homeserver, to one account of it.
type fake struct {
	*testing.T
	server *httptest.Server
	heard  chan channeltest.Sent

	mu      sync.Mutex
	changed *sync.Cond
	closed  bool
	down    bool
	waiting bool // a sync waits
	token   string
	kind    string // the errcode for a token that is not ours
	events  []placed
	rooms   map[string]*fakeRoom
	txns    map[string]bool
	answers []func(http.ResponseWriter) // what the next requests are answered with
	asked   []string
	relates object            // of the last message from us
	short   bool              // of a room that we come to, a sync tells only that
	hide    int               // of what a sync would tell, events that are left to /messages
	member  map[string]string // display names
}

// placed is an event in a room, or that we are invited there.
type placed struct {
	room   string
	event  object
	invite bool
}

type fakeRoom struct {
	members []string
}

func newFake(t *testing.T) *fake {
	f := &fake{
		T: t, heard: make(chan channeltest.Sent, 64), token: token, kind: "M_UNKNOWN_TOKEN", txns: map[string]bool{},
		rooms: map[string]*fakeRoom{
			"!ann:example.org":     {members: []string{us, "@ann:example.org"}},
			"!ben:example.org":     {members: []string{us, "@ben:example.org"}},
			"!harbour:example.org": {members: []string{us, "@ann:example.org", "@ben:example.org"}},
			"!basin:example.org":   {members: []string{us, "@ann:example.org", "@ben:example.org"}},
		},
		member: map[string]string{us: "Harbour Bot", "@ann:example.org": "Ann of the Gate"},
	}
	f.changed = sync.NewCond(&f.mu)
	mux := http.NewServeMux()
	const v3 = "/_matrix/client/v3"
	mux.HandleFunc("GET "+v3+"/account/whoami", f.locked(func(w http.ResponseWriter, _ *http.Request) {
		f.down = false
		says(w, object{"user_id": us, "device_id": "D"})
	}))
	mux.HandleFunc("GET "+v3+"/profile/{user}/displayname", f.locked(func(w http.ResponseWriter, r *http.Request) {
		says(w, object{"displayname": f.member[r.PathValue("user")]})
	}))
	mux.HandleFunc("GET "+v3+"/sync", f.locked(f.sync))
	mux.HandleFunc("POST "+v3+"/rooms/{room}/join", f.locked(f.join))
	mux.HandleFunc("GET "+v3+"/rooms/{room}/joined_members", f.locked(f.members))
	mux.HandleFunc("GET "+v3+"/rooms/{room}/messages", f.locked(f.messages))
	mux.HandleFunc("PUT "+v3+"/rooms/{room}/send/m.room.message/{txn}", f.locked(f.put))
	f.server = httptest.NewServer(mux)
	t.Cleanup(func() {
		f.mu.Lock()
		f.closed = true
		f.changed.Broadcast()
		f.mu.Unlock()
		f.server.CloseClientConnections()
		f.server.Close()
	})
	return f
}

func says(w http.ResponseWriter, out any) { json.NewEncoder(w).Encode(out) }

func fails(w http.ResponseWriter, status int, kind string) {
	w.WriteHeader(status)
	says(w, object{"errcode": kind, "error": "no"})
}

// locked answers who has the token, and what a test wants before that.
func (f *fake) locked(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.asked = append(f.asked, r.URL.Path)
		if r.Header.Get("Authorization") != "Bearer "+f.token {
			w.WriteHeader(http.StatusUnauthorized)
			says(w, object{"errcode": f.kind, "error": "unknown token " + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")})
			return
		}
		if f.divert(w) {
			return
		}
		answer(w, r)
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

// sync tells what is new, as soon as there is something.
func (f *fake) sync(w http.ResponseWriter, r *http.Request) {
	if f.down {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	since, err := strconv.Atoi(strings.TrimPrefix(r.URL.Query().Get("since"), "s"))
	if r.URL.Query().Get("since") == "" {
		since, err = 0, nil
	}
	var filter struct {
		Room struct{ Timeline struct{ Limit int } }
	}
	if json.Unmarshal([]byte(r.URL.Query().Get("filter")), &filter) != nil || err != nil || since > len(f.events) {
		fails(w, http.StatusBadRequest, "M_UNKNOWN")
		return
	}
	timer := time.AfterFunc(20*time.Second, f.changed.Broadcast) // only if a test hangs
	defer timer.Stop()
	gone := r.Context()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-gone.Done():
			f.mu.Lock()
			f.changed.Broadcast()
			f.mu.Unlock()
		case <-stop:
		}
	}()
	for r.URL.Query().Get("timeout") != "0" && since == len(f.events) && !f.closed && gone.Err() == nil {
		f.waiting = true
		f.changed.Broadcast()
		f.changed.Wait()
	}
	f.waiting = false
	if gone.Err() != nil {
		return
	}
	join, invite := object{}, object{}
	told := map[string][]int{} // of each room, the places of events
	for i, e := range f.events[since:] {
		room := f.rooms[e.room]
		switch {
		case e.invite:
			invite[e.room] = object{"invite_state": object{"events": []object{e.event}}}
		case room != nil && !slices.Contains(room.members, us):
		case e.event["state_key"] == us && e.event["sender"] == us && !f.short:
			// We have come: all that was said before is told, too.
			told[e.room] = nil
			for j, old := range f.events[:since+i+1] {
				if old.room == e.room && !old.invite {
					told[e.room] = append(told[e.room], j)
				}
			}
		case e.event["state_key"] == us && e.event["sender"] == us:
			told[e.room] = []int{since + i}
		default:
			told[e.room] = append(told[e.room], since+i)
		}
	}
	for room, places := range told {
		limit := filter.Room.Timeline.Limit
		if hidden := min(f.hide, len(places)); hidden > 0 {
			limit = min(limit, len(places)-hidden)
		}
		timeline := object{"limited": len(places) > limit}
		places = places[max(0, len(places)-limit):]
		timeline["prev_batch"] = "p" + strconv.Itoa(places[0])
		var events []object
		for _, i := range places {
			events = append(events, f.events[i].event)
		}
		timeline["events"] = events
		join[room] = object{"timeline": timeline, "summary": object{}, "state": object{"events": []object{
			{"type": "m.room.member", "state_key": "@ben:example.org", "sender": "@ben:example.org", "content": object{"membership": "join", "displayname": "Ben"}, "event_id": "$state"},
		}}}
	}
	says(w, object{"next_batch": "s" + strconv.Itoa(len(f.events)), "rooms": object{"join": join, "invite": invite}})
}

// messages tells what a sync has left out, in pages of two, the last ones first.
func (f *fake) messages(w http.ResponseWriter, r *http.Request) {
	room, q := r.PathValue("room"), r.URL.Query()
	limit, to := 2, 0
	if q.Get("to") == "" {
		limit, _ = strconv.Atoi(q.Get("limit"))
	} else {
		to, _ = strconv.Atoi(q.Get("to")[1:])
	}
	at, _ := strconv.Atoi(q.Get("from")[1:])
	var chunk []object
	for at > to && len(chunk) < limit {
		at--
		if e := f.events[at]; e.room == room && !e.invite {
			chunk = append(chunk, e.event)
		}
	}
	says(w, object{"chunk": chunk, "start": q.Get("from"), "end": "e" + strconv.Itoa(at)})
}

func (f *fake) join(w http.ResponseWriter, r *http.Request) {
	room := r.PathValue("room")
	if f.rooms[room] == nil {
		fails(w, http.StatusForbidden, "M_FORBIDDEN")
		return
	}
	if !slices.Contains(f.rooms[room].members, us) {
		f.rooms[room].members = append(f.rooms[room].members, us)
		f.put2(room, object{"type": "m.room.member", "state_key": us, "sender": us, "content": object{"membership": "join"}})
	}
	says(w, object{"room_id": room})
}

func (f *fake) members(w http.ResponseWriter, r *http.Request) {
	joined := object{}
	if f.rooms[r.PathValue("room")] == nil {
		fails(w, http.StatusForbidden, "M_FORBIDDEN")
		return
	}
	for _, m := range f.rooms[r.PathValue("room")].members {
		joined[m] = object{"display_name": f.member[m]}
	}
	says(w, object{"joined": joined})
}

// put takes a message from us.
func (f *fake) put(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Kind     string  `json:"msgtype"`
		Body     string  `json:"body"`
		Format   *string `json:"format"`
		HTML     *string `json:"formatted_body"`
		Mentions *object `json:"m.mentions"`
		Relates  object  `json:"m.relates_to"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		f.Error(err)
	}
	f.relates = in.Relates
	room, live := r.PathValue("room"), ""
	if in.Kind != "m.notice" || in.Format != nil || in.HTML != nil || in.Mentions == nil || len(*in.Mentions) != 0 || r.ContentLength > 60_000 {
		live = fmt.Sprintf("%+v", in)
	}
	if !f.txns[r.PathValue("txn")] {
		f.txns[r.PathValue("txn")] = true
		f.heard <- channeltest.Sent{In: strings.TrimSuffix(strings.TrimPrefix(room, "!"), ":example.org"), Text: in.Body, Live: live}
		f.put2(room, object{"type": "m.room.message", "sender": us, "content": object{"msgtype": in.Kind, "body": in.Body}})
	}
	if !f.divert(w) { // it was taken, but that does not arrive
		says(w, object{"event_id": "$answer"})
	}
}

// put2 places an event in a room, and returns it. The lock is held.
func (f *fake) put2(room string, event object) object {
	if event["event_id"] == nil {
		event["event_id"] = fmt.Sprint("$", len(f.events))
	}
	if event["origin_server_ts"] == nil {
		event["origin_server_ts"] = time.Now().UnixMilli()
	}
	f.events = append(f.events, placed{room: room, event: event})
	f.changed.Broadcast()
	return event
}

func (f *fake) place(room string, event object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put2(room, event)
}

// invite invites us.
func (f *fake) invite(room string, direct bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, placed{room: room, invite: true, event: object{
		"type": "m.room.member", "state_key": us, "sender": "@ann:example.org",
		"content": object{"membership": "invite", "is_direct": direct},
	}})
	f.changed.Broadcast()
}

func said(l channeltest.Line) (room string, event object) {
	room = "!" + l.From + ":example.org"
	content := object{"msgtype": "m.text", "body": l.Text, "m.mentions": object{}}
	if l.Bot {
		content["msgtype"] = "m.notice"
	}
	if l.In != "" {
		room = "!" + l.In + ":example.org"
		if l.Mention {
			content["body"], content["m.mentions"] = "Harbour Bot: "+l.Text, object{"user_ids": []string{us}}
			content["format"], content["formatted_body"] = "org.matrix.custom.html", `<a href="https://matrix.to/#/`+us+`">Harbour Bot</a>: x`
		}
	}
	return room, object{"type": "m.room.message", "sender": "@" + l.From + ":example.org", "content": content}
}

func (f *fake) say(l channeltest.Line) { f.place(said(l)) }

func (f *fake) hear(within time.Duration) (channeltest.Sent, bool) {
	select {
	case s := <-f.heard:
		return s, true
	case <-time.After(within):
		return channeltest.Sent{}, false
	}
}

// cut ends the connections, and is down until we begin anew: a request that was
// cut off is sent once more by itself.
func (f *fake) cut() {
	f.mu.Lock()
	f.down = true
	f.mu.Unlock()
	f.server.CloseClientConnections()
}

func open(t *testing.T) channeltest.World {
	f := newFake(t)
	return channeltest.World{
		Values: map[string]string{"server": f.server.URL + "/", "token": token},
		Wrong:  map[string]string{"server": f.server.URL, "token": "syt_" + "wrong_0123456789"},
		Say:    f.say, Hear: f.hear, Cut: f.cut,
		Again: func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			last := f.events[len(f.events)-1]
			f.put2(last.room, last.event)
		},
		Bots: true, Remembers: true, Long: 70_000,
	}
}

func TestMatrixIsAChannel(t *testing.T) { channeltest.Run(t, Provider(), open) }
