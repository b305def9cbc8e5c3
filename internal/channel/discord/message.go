package discord

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"ambry.dev/ambry/internal/channel"
)

// event takes note of an event, and of how far the session was read.
func (r *reader) event(ctx context.Context, f frame) error {
	switch f.Type {
	case "READY":
		var ready struct {
			Session string `json:"session_id"`
			Address string `json:"resume_gateway_url"`
		}
		if json.Unmarshal(f.Data, &ready) != nil || ready.Session == "" || !r.secure(ready.Address) {
			return errNotDiscord
		}
		r.kept = kept{Session: ready.Session, Address: ready.Address}
		r.host.Connected(r.me)
	case "RESUMED":
		r.host.Connected(r.me)
	case "MESSAGE_CREATE":
		m, ok := read(f.Data, r.me.ID)
		if ok {
			if err := r.host.Receive(ctx, m.Message, r.replier(m)); err != nil {
				return err
			}
		}
	}
	if f.Seq > 0 {
		r.kept.Seq = f.Seq
	}
	if f.Type != "READY" && f.Type != "MESSAGE_CREATE" {
		return nil
	}
	cursor, err := json.Marshal(r.kept)
	if err != nil {
		return err
	}
	return r.host.Keep(ctx, string(cursor))
}

// message is what was written, and where.
type message struct {
	channel.Message
	number, place string
}

// read returns what is passed on of a message, if it is one of a person.
func read(data []byte, me string) (message, bool) {
	var in struct {
		ID       string `json:"id"`
		Channel  string `json:"channel_id"`
		Guild    string `json:"guild_id"` // "" if it was written to us alone
		Webhook  string `json:"webhook_id"`
		Type     int    `json:"type"`
		Author   user   `json:"author"`
		Content  string `json:"content"`
		At       string `json:"timestamp"`
		Mentions []user `json:"mentions"`
		To       *struct {
			Author user `json:"author"`
		} `json:"referenced_message"`
	}
	if json.Unmarshal(data, &in) != nil {
		return message{}, false
	}
	const plain, reply = 0, 19 // the others are by Discord, such as that somebody has joined
	if in.Author.Bot || in.Author.System || in.Webhook != "" || in.Author.ID == me || in.Type != plain && in.Type != reply {
		return message{}, false
	}
	if !number().MatchString(in.ID) || !number().MatchString(in.Channel) || !number().MatchString(in.Author.ID) {
		return message{}, false
	}
	mentioned := in.To != nil && in.To.Author.ID == me
	for _, u := range in.Mentions {
		mentioned = mentioned || u.ID == me
	}
	at, err := time.Parse(time.RFC3339, in.At)
	if err != nil {
		at = time.Now()
	}
	m := channel.Message{
		ID: in.ID, Chat: in.Channel, Sender: in.Author.ID, Name: in.Author.name(), Text: seen(in.Content, in.Mentions, me), At: at,
		Group: in.Guild != "", Mentioned: in.Guild != "" && mentioned,
	}
	return message{m, in.ID, in.Channel}, m.Text != ""
}

// mark is a mention or a picture of a server in a text.
var mark = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<(?:@!?([0-9]+)|a?(:[A-Za-z0-9_]+:)[0-9]+)>`) })

// seen returns what people see of a text, without the mentions of me.
func seen(text string, mentions []user, me string) string {
	return strings.TrimSpace(mark().ReplaceAllStringFunc(text, func(found string) string {
		parts := mark().FindStringSubmatch(found)
		switch id := parts[1]; id {
		case "":
			return parts[2]
		case me:
			return ""
		default:
			for _, u := range mentions {
				if u.ID == id && u.name() != "" {
					return "@" + u.name()
				}
			}
			return found
		}
	}))
}

// maxText is how long a message may be.
const maxText = 2000

// quiet are the flags of a message of which no link is shown as a picture.
const quiet = 1 << 2

// replier returns what answers a message: to it, where others read along.
func (r *reader) replier(m message) channel.Send {
	return func(ctx context.Context, text string) error {
		return r.line.Send(ctx, func(ctx context.Context) error {
			for i, part := range channel.Split(text, maxText, func(s string) int { return channel.Units(escape(s)) }) {
				out := map[string]any{
					"content": escape(part), "flags": quiet,
					"allowed_mentions": map[string]any{"parse": []string{}, "replied_user": false},
				}
				if m.Group && i == 0 {
					out["message_reference"] = map[string]any{"message_id": m.number, "fail_if_not_exists": false}
				}
				if err := channel.Patiently(ctx, func(ctx context.Context) error { return r.post(ctx, m.place, out) }); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

func (r *reader) post(ctx context.Context, place string, out any) error {
	var sent struct {
		ID string `json:"id"`
	}
	if err := r.ask(ctx, http.MethodPost, "/channels/"+place+"/messages", out, &sent); err != nil {
		return err
	}
	if sent.ID == "" {
		return errNotDiscord
	}
	return nil
}

// special is what Discord takes for markup: anywhere, and at the beginning of a
// line. Links are taken as they are.
var (
	special = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("https?://[-A-Za-z0-9._~:/?#@!$&'()+,;=%]+|[\\\\*_~`|<[]")
	})
	leading = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^([ \t]*)(?:([#>-])|([0-9]+)([.)]))`) })
)

// escape returns a text in which Discord sees no markup.
func escape(text string) string {
	text = special().ReplaceAllStringFunc(text, func(found string) string {
		if len(found) > 1 {
			return found
		}
		return `\` + found
	})
	return leading().ReplaceAllStringFunc(text, func(found string) string {
		last := len(found) - 1
		return found[:last] + `\` + found[last:]
	})
}
