package matrix

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The ids of Matrix.
type (
	userID  string
	roomID  string
	eventID string
)

// local is the id without its sign and its homeserver: "ann" of
// "@ann:example.org".
func (u userID) local() string {
	name, _, _ := strings.Cut(string(u), ":")
	return strings.TrimPrefix(name, "@")
}

// The types of events that are read, and the errors of a homeserver that mean
// something to us.
const (
	typeMember    = "m.room.member"
	typeMessage   = "m.room.message"
	typeEncrypted = "m.room.encrypted"

	limited      = "M_LIMIT_EXCEEDED"
	unrecognized = "M_UNRECOGNIZED"
	forbidden    = "M_FORBIDDEN"
	notFound     = "M_NOT_FOUND"
)

// homeserver is one that is asked with a token. How long something may take is
// up to the context.
type homeserver struct {
	http  *http.Client
	at    string // without a slash at the end
	host  string
	token string
}

func newHomeserver(client *http.Client, at *url.URL, token string) *homeserver {
	return &homeserver{http: client, at: strings.TrimRight(at.String(), "/"), host: at.Host, token: token}
}

// refusal is why a homeserver did not answer as it should.
type refusal struct {
	host   string
	status int           // of HTTP; 0 if there was no answer
	wait   time.Duration // that it asks for
	kind   string        // such as M_FORBIDDEN, "" if it is no error of Matrix
	says   string
	broken error // why the answer did not arrive, or not to its end
}

func (r *refusal) Error() string {
	if r.broken != nil {
		return r.broken.Error()
	}
	return fmt.Sprintf("HTTP status %d %s", r.status, r.kind)
}

func (r *refusal) Unwrap() error { return r.broken }

// ask sends in as JSON, nothing if it is nil, and reads the answer into out. The
// path is that below the client's API; in each part of it everything may stand.
// Its errors are of the type *refusal.
func (h *homeserver) ask(ctx context.Context, method string, path []string, query url.Values, in, out any) error {
	address := h.at + "/_matrix/client/v3"
	for _, part := range path {
		address += "/" + url.PathEscape(part)
	}
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	var body io.Reader = http.NoBody
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return &refusal{host: h.host, broken: err}
		}
		body = bytes.NewReader(data)
	}
	r, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return &refusal{host: h.host, broken: err}
	}
	r.Header.Set("Authorization", "Bearer "+h.token)
	r.Header.Set("User-Agent", "ambry")
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := h.http.Do(r)
	if err != nil {
		return &refusal{host: h.host, broken: err}
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(http.MaxBytesReader(nil, answer.Body, maxAnswer))
	if err != nil {
		return &refusal{host: h.host, status: answer.StatusCode, broken: err}
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return refused(h.host, answer, data)
	}
	if json.Unmarshal(data, out) != nil {
		return &refusal{host: h.host, status: answer.StatusCode}
	}
	return nil
}

// refused reads the error that a homeserver answers, if it is one.
func refused(host string, answer *http.Response, data []byte) *refusal {
	var said struct {
		Kind string  `json:"errcode"`
		Says string  `json:"error"`
		Wait float64 `json:"retry_after_ms"`
	}
	_ = json.Unmarshal(data, &said) // what is no error of Matrix has no kind
	return &refusal{
		host: host, status: answer.StatusCode, kind: said.Kind, says: said.Says,
		wait: max(retryAfter(answer.Header), time.Duration(min(max(said.Wait, 0), 1e9))*time.Millisecond),
	}
}

// event is something that has happened in a room. One that makes no sense is
// empty: what one person sends must not keep us from reading the others.
type event struct {
	ID      eventID
	Type    string
	Sender  userID
	State   *string // of what the room's state says something, nil if it is none
	At      int64   // in milliseconds
	Content json.RawMessage
	Before  json.RawMessage // the content that it replaces
}

// UnmarshalJSON never fails.
func (e *event) UnmarshalJSON(data []byte) error {
	var in struct {
		ID       eventID         `json:"event_id"`
		Type     string          `json:"type"`
		Sender   userID          `json:"sender"`
		State    *string         `json:"state_key"`
		At       int64           `json:"origin_server_ts"`
		Content  json.RawMessage `json:"content"`
		Unsigned json.RawMessage `json:"unsigned"`
	}
	if json.Unmarshal(data, &in) != nil {
		*e = event{}
		return nil //nolint:nilerr // one event that is odd must not cost the others of the answer
	}
	*e = event{ID: in.ID, Type: in.Type, Sender: in.Sender, State: in.State, At: in.At, Content: in.Content}
	var unsigned struct {
		Before json.RawMessage `json:"prev_content"`
	}
	if len(in.Unsigned) > 0 && json.Unmarshal(in.Unsigned, &unsigned) == nil {
		e.Before = unsigned.Before
	}
	return nil
}

// membership is the content of an event of a member.
type membership struct {
	Is     string `json:"membership"`
	Name   string `json:"displayname"`
	Direct bool   `json:"is_direct"`
}

// message is the content of an event of a message.
type message struct {
	Kind     string `json:"msgtype"`
	Body     string `json:"body"`
	HTML     string `json:"formatted_body"`
	File     string `json:"filename"`
	Mentions *struct {
		Users []userID `json:"user_ids"`
	} `json:"m.mentions"`
	Relates struct {
		Type  string  `json:"rel_type"`
		Event eventID `json:"event_id"`
		Reply struct {
			Event eventID `json:"event_id"`
		} `json:"m.in_reply_to"`
	} `json:"m.relates_to"`
}

// related is the event that a message relates to in a way.
func (m *message) related(how string) eventID {
	if m.Relates.Type == how {
		return m.Relates.Event
	}
	return ""
}

// news is what a sync tells.
type news struct {
	Next  string `json:"next_batch"`
	Rooms struct {
		Join   map[roomID]*joined  `json:"join"`
		Invite map[roomID]*invited `json:"invite"`
	} `json:"rooms"`
}

type joined struct {
	Summary struct {
		Members *int `json:"m.joined_member_count"`
	} `json:"summary"`
	State struct {
		Events []*event `json:"events"`
	} `json:"state"`
	Timeline struct {
		Events  []*event `json:"events"`
		Limited bool     `json:"limited"`
		Before  string   `json:"prev_batch"`
	} `json:"timeline"`
}

type invited struct {
	State struct {
		Events []*event `json:"events"`
	} `json:"invite_state"`
}

func (h *homeserver) whoami(ctx context.Context) (userID, error) {
	var out struct {
		User userID `json:"user_id"`
	}
	err := h.ask(ctx, http.MethodGet, []string{"account", "whoami"}, nil, nil, &out)
	return out.User, err
}

func (h *homeserver) displayName(ctx context.Context, who userID) (string, error) {
	var out struct {
		Name string `json:"displayname"`
	}
	err := h.ask(ctx, http.MethodGet, []string{"profile", string(who), "displayname"}, nil, nil, &out)
	return out.Name, err
}

// sync asks what is new since a place, and waits so long for something.
func (h *homeserver) sync(ctx context.Context, since, filter string, wait time.Duration) (news, error) {
	query := url.Values{"timeout": {strconv.FormatInt(wait.Milliseconds(), 10)}, "filter": {filter}}
	if since != "" {
		query.Set("since", since)
	}
	var out news
	err := h.ask(ctx, http.MethodGet, []string{"sync"}, query, nil, &out)
	return out, err
}

func (h *homeserver) join(ctx context.Context, room roomID) error {
	return h.ask(ctx, http.MethodPost, []string{"rooms", string(room), "join"}, nil, struct{}{}, &struct{}{})
}

// messages is a page of what has happened in a room, the last first, and where
// the next one begins.
func (h *homeserver) messages(ctx context.Context, room roomID, from, to string, types []string) (page []*event, end string, err error) {
	filter, err := json.Marshal(map[string][]string{"types": types})
	if err != nil {
		return nil, "", err
	}
	query := url.Values{"dir": {"b"}, "from": {from}, "limit": {strconv.Itoa(perSync)}, "filter": {string(filter)}}
	if to != "" {
		query.Set("to", to)
	}
	var out struct {
		Chunk []*event `json:"chunk"`
		End   string   `json:"end"`
	}
	err = h.ask(ctx, http.MethodGet, []string{"rooms", string(room), "messages"}, query, nil, &out)
	return out.Chunk, out.End, err
}

// members are those in a room, with their names there.
func (h *homeserver) members(ctx context.Context, room roomID) (map[userID]string, error) {
	var out struct {
		Joined map[userID]struct {
			Name string `json:"display_name"`
		} `json:"joined"`
	}
	err := h.ask(ctx, http.MethodGet, []string{"rooms", string(room), "joined_members"}, nil, nil, &out)
	all := make(map[userID]string, len(out.Joined))
	for who, m := range out.Joined {
		all[who] = m.Name
	}
	return all, err
}

// put sends a message. One of the same name is sent once, however often.
func (h *homeserver) put(ctx context.Context, room roomID, name string, content any) error {
	return h.ask(ctx, http.MethodPut, []string{"rooms", string(room), "send", typeMessage, name}, nil, content, &struct{}{})
}
