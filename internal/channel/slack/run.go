package slack

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/slack-go/slack"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

// Run holds a connection until ctx ends.
func (l *link) Run(ctx context.Context, h channel.Host) error {
	var line channel.Line
	defer line.Cut()
	if err := l.run(ctx, h, &line); ctx.Err() == nil {
		return err
	}
	return nil
}

// errRefresh ends a connection that Slack wants to be opened anew, as it does
// every few hours.
var errRefresh = ambry.UpstreamFailed.Errorf("Slack has ended the connection")

func (l *link) run(ctx context.Context, h channel.Host, line *channel.Line) error {
	me, err := l.me(ctx)
	if err != nil {
		return err
	}
	r := &reader{link: l, me: me, host: h, line: line, names: map[string]string{}}
	for {
		began := time.Now()
		if err := r.session(ctx); !errors.Is(err, errRefresh) || time.Since(began) < l.settled {
			return err
		}
	}
}

// reader passes on what is said over a connection.
type reader struct {
	*link
	me    channel.Identity
	host  channel.Host
	line  *channel.Line
	names map[string]string // of users, "" for those that are not told
}

// frame is what Slack sends over a connection.
type frame struct {
	Type     string          `json:"type"`
	Envelope string          `json:"envelope_id"` // what is to be confirmed
	Reason   string          `json:"reason"`      // of a disconnect
	Others   int             `json:"num_connections"`
	Payload  json.RawMessage `json:"payload"`
}

// session opens a connection, and reads it to its end.
func (r *reader) session(ctx context.Context) error {
	address, err := r.address(ctx)
	if err != nil {
		return err
	}
	socket, err := r.access.Socket(ctx, address)
	if refused, ok := errors.AsType[*channel.Refused](err); ok {
		return ambry.UpstreamFailed.Errorf("Slack does not open a connection (HTTP %d)", refused.Status)
	}
	if err != nil {
		return err
	}
	defer socket.Close()
	warned := false
	for greeted := false; ; {
		f, err := next(ctx, socket, greeted)
		if err != nil {
			if warned && ctx.Err() == nil {
				return errRefresh
			}
			return err
		}
		switch f.Type {
		case "hello":
			greeted = true
			if f.Others > 1 {
				r.log.Warn("other connections of this app get a part of what is written", "connections", f.Others)
			}
			r.host.Connected(r.me)
		case "disconnect":
			switch f.Reason {
			case "warning": // it will be ended in some seconds
				warned = true
			case "link_disabled":
				return ambry.UpstreamFailed.Errorf("Socket Mode is switched off; switch it on at api.slack.com/apps")
			default:
				return errRefresh
			}
		case "events_api":
			if err := r.take(ctx, socket, f); err != nil {
				return err
			}
			continue
		}
		if err := confirm(ctx, socket, f); err != nil {
			return err
		}
	}
}

// confirm tells Slack that a frame was taken, if it wants to know.
func confirm(ctx context.Context, socket *channel.Socket, f frame) error {
	if f.Envelope == "" {
		return nil
	}
	confirmation, err := json.Marshal(map[string]string{"envelope_id": f.Envelope})
	if err != nil {
		return err
	}
	return socket.Write(ctx, confirmation, true)
}

// next returns the next frame that can be read. The first has to come soon.
func next(ctx context.Context, socket *channel.Socket, greeted bool) (frame, error) {
	if !greeted {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, maxCall)
		defer cancel()
	}
	for {
		data, _, err := socket.Read(ctx)
		if err != nil {
			return frame{}, err
		}
		var f frame
		if json.Unmarshal(data, &f) == nil {
			return f, nil
		} // Slack sends what is not confirmed once more
	}
}

// event is what has happened. Of an event only that is read which is needed, so
// that new ones are no trouble.
type event struct {
	Type     string `json:"type"`
	Subtype  string `json:"subtype"`
	User     string `json:"user"`
	BotID    string `json:"bot_id"`
	Text     string `json:"text"`
	TS       string `json:"ts"`
	Thread   string `json:"thread_ts"`
	Channel  string `json:"channel"`
	ChanType string `json:"channel_type"`
}

// take passes on what a person has written, if that is what has happened, and confirms it.
func (r *reader) take(ctx context.Context, socket *channel.Socket, f frame) error {
	m, e, ok := read(f.Payload, r.me.ID)
	if !ok {
		return confirm(ctx, socket, f)
	}
	m.Name = r.name(ctx, m.Sender)
	return r.line.Taking(func() error {
		if err := r.host.Receive(ctx, m, r.replier(e)); err != nil {
			return err
		}
		return confirm(ctx, socket, f)
	})
}

// read returns what is passed on of an event, if it is a message of a person.
func read(payload []byte, me string) (channel.Message, event, bool) {
	var in struct {
		Event event `json:"event"`
	}
	if json.Unmarshal(payload, &in) != nil {
		return channel.Message{}, event{}, false
	}
	e := in.Event
	if e.User == "" || e.User == me || e.User == "USLACKBOT" || e.BotID != "" || e.Channel == "" || e.TS == "" {
		return channel.Message{}, event{}, false
	}
	switch e.Subtype {
	case "", "file_share", "thread_broadcast":
	default: // changed, deleted, joined and so on
		return channel.Message{}, event{}, false
	}
	// A mention in a channel may come as two events. They have one time, which is
	// what a message has in place of a number.
	text, mentioned := plain(e.Text, me)
	m := channel.Message{ID: e.Channel + ":" + e.TS, Chat: e.Channel, Sender: e.User, Text: text, At: at(e.TS)}
	switch {
	case e.Type == "message" && e.ChanType == "im":
		if e.Thread != "" {
			m.Chat += "/" + e.Thread
		}
	case e.Type == "app_mention", e.Type == "message" && mentioned:
		m.Group, m.Mentioned = true, true
		m.Chat += "/" + e.thread()
	default:
		return channel.Message{}, event{}, false
	}
	return m, e, text != ""
}

// thread returns the thread in which an event is answered in a channel: its own,
// else the one that it begins.
func (e event) thread() string {
	if e.Thread != "" {
		return e.Thread
	}
	return e.TS
}

// maxNames is how many names are known at a time.
const (
	maxNames = 1000
	maxName  = 3 * time.Second // what Slack waits for a confirmation
)

// name returns how people see a user, "" if the app may not know.
func (r *reader) name(ctx context.Context, user string) string {
	if name, ok := r.names[user]; ok {
		return name
	}
	if len(r.names) >= maxNames {
		clear(r.names)
	}
	ctx, cancel := context.WithTimeout(ctx, maxName)
	defer cancel()
	name := ""
	if u, err := r.api.GetUserInfoContext(ctx, user); err == nil {
		for _, name = range []string{u.Profile.DisplayName, u.RealName, u.Name} {
			if name != "" {
				break
			}
		}
	}
	r.names[user] = name
	return name
}

// maxText is how long a message should be at most, in characters.
const maxText = 4000

// replier returns what answers an event: in a thread in channels, and where the
// question is in one.
func (r *reader) replier(e event) channel.Send {
	thread := e.Thread
	if e.ChanType != "im" {
		thread = e.thread()
	}
	return func(ctx context.Context, text string) error {
		return r.line.Send(ctx, func(ctx context.Context) error {
			for _, part := range channel.Split(text, maxText, func(s string) int { return channel.Runes(escape(s)) }) {
				if err := channel.Patiently(ctx, func(ctx context.Context) error { return r.post(ctx, e.Channel, thread, part) }); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

func (r *reader) post(ctx context.Context, in, thread, text string) error {
	ctx, cancel := context.WithTimeout(ctx, maxCall)
	defer cancel()
	options := []slack.MsgOption{
		slack.MsgOptionText(escape(text), false), slack.MsgOptionParse(false), slack.MsgOptionDisableMarkdown(),
		slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl(),
	}
	if thread != "" {
		options = append(options, slack.MsgOptionTS(thread))
	}
	_, ts, err := r.api.PostMessageContext(ctx, in, options...)
	if err != nil {
		return failed("bot token", err)
	}
	if ts == "" {
		return errNotSlack
	}
	return nil
}
