package feishu

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

// event is that somebody has written.
type event struct {
	Header struct {
		Type string `json:"event_type"`
	} `json:"header"`
	Event struct {
		Sender struct {
			ID   ids    `json:"sender_id"`
			Type string `json:"sender_type"`
		} `json:"sender"`
		Message struct {
			ID       string    `json:"message_id"`
			At       string    `json:"create_time"` // milliseconds
			Chat     string    `json:"chat_id"`
			ChatType string    `json:"chat_type"` // p2p, or one of several kinds of group
			Kind     string    `json:"message_type"`
			Content  string    `json:"content"` // JSON
			Mentions []mention `json:"mentions"`
		} `json:"message"`
	} `json:"event"`
}

type ids struct {
	Open string `json:"open_id"` // of a person for one app; it never changes
}

type mention struct {
	Key  string `json:"key"` // what stands for it in the text
	ID   ids    `json:"id"`
	Name string `json:"name"`
}

// read makes a message of an event. It is false for one that is not passed on.
func (c *conn) read(payload []byte) (channel.Message, bool) {
	var e event
	if json.Unmarshal(payload, &e) != nil {
		c.link.Log.Warn("Feishu sends an event that cannot be read")
		return channel.Message{}, false
	}
	sender, message := e.Event.Sender, e.Event.Message
	if e.Header.Type != "im.message.receive_v1" || sender.Type != "user" || sender.ID.Open == "" || sender.ID.Open == c.us || message.ID == "" || message.Chat == "" {
		return channel.Message{}, false
	}
	text, mentioned := content(message.Kind, message.Content, message.Mentions, c.us)
	if text == "" {
		return channel.Message{}, false
	}
	m := channel.Message{
		ID: message.ID, Chat: message.Chat, Sender: sender.ID.Open, Text: text, At: time.Now(),
		Group: message.ChatType != "p2p", Mentioned: mentioned,
	}
	if ms, err := strconv.ParseInt(message.At, 10, 64); err == nil && ms > 0 {
		m.At = time.UnixMilli(ms)
	}
	return m, true
}

// element is a piece of a post, which is text with more than text in it.
type element struct {
	Tag  string `json:"tag"`
	Text string `json:"text"`
	User string `json:"user_id"`
	Name string `json:"user_name"`
}

// keys are what stands for mentions in texts.
var keys = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`@_user_[0-9]+`) })

// content returns the text of a message, without mentions of us, and whether
// there are any. The text is "" for kinds of message that have none.
func content(kind, content string, mentions []mention, us string) (text string, mentioned bool) {
	names := map[string]string{"@_all": "@all"}
	for _, m := range mentions {
		if names[m.Key] = "@" + m.Name; m.ID.Open == us {
			names[m.Key], mentioned = "", true
		}
	}
	switch kind {
	case "text":
		var in struct {
			Text string `json:"text"`
		}
		if json.Unmarshal([]byte(content), &in) != nil {
			return "", mentioned
		}
		text = keys().ReplaceAllStringFunc(in.Text, func(key string) string {
			if name, ok := names[key]; ok {
				return name
			}
			return key
		})
	case "post":
		var in struct {
			Title string      `json:"title"`
			Lines [][]element `json:"content"`
		}
		if json.Unmarshal([]byte(content), &in) != nil {
			return "", mentioned
		}
		lines := []string{in.Title}
		for _, elements := range in.Lines {
			var line strings.Builder
			for _, e := range elements {
				switch name, known := names[e.User]; {
				case e.Tag != "at":
					line.WriteString(e.Text)
				case known:
					line.WriteString(name)
				case e.User != us:
					line.WriteString("@" + e.Name)
				}
			}
			lines = append(lines, line.String())
		}
		text = strings.Join(lines, "\n")
	}
	return strings.TrimSpace(text), mentioned
}

const (
	maxBytes = 28_000 // of a post; Feishu documents 30 KB for the whole request
	attempts = 4
	maxPause = time.Minute
)

// post is a message of plain text. Unlike in its messages of the kind "text",
// Feishu sees neither mentions nor markup in it.
func post(text string) string {
	lines := [][]map[string]string{}
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" {
			line = " " // it is not documented that a text may be empty
		}
		lines = append(lines, []map[string]string{{"tag": "text", "text": line}})
	}
	out, _ := json.Marshal(map[string]any{"zh_cn": map[string]any{"title": "", "content": lines}}) // text always can be
	return string(out)
}

// size is how long a text is in a request: as JSON in JSON.
func size(text string) int {
	out, _ := json.Marshal(post(text)) // text always can be
	return len(out)
}

// send answers a message, in parts.
func (l *link) send(ctx context.Context, id, chat, text string) error {
	for _, part := range channel.Split(text, maxBytes, size) {
		if err := l.deliver(ctx, id, chat, part); err != nil {
			return err
		}
	}
	return nil
}

// deliver sends one message. By its name Feishu knows one that it has already
// taken, so that it is seen once however often it is sent.
func (l *link) deliver(ctx context.Context, id, chat, text string) error {
	in := map[string]string{"msg_type": "post", "content": post(text), "uuid": "ambry-" + rand.Text()}
	path := "/open-apis/im/v1/messages/" + url.PathEscape(id) + "/reply"
	for try := 1; ; try++ {
		out, err := l.with(ctx, http.MethodPost, path, in)
		switch {
		case err != nil:
			if ctx.Err() != nil || try == attempts || ambry.KindOf(err) == ambry.Unauthorized {
				return err
			}
		case out.Code == 0:
			return nil
		case out.Code == withdrawn && in["receive_id"] == "": // there is nothing to reply to
			path, in["receive_id"] = "/open-apis/im/v1/messages?receive_id_type=chat_id", chat
			continue
		case out.Code != tooFast && out.Code != tooFastHere, try == attempts, out.wait > maxPause:
			return l.refusal(out)
		}
		if err := channel.Pause(ctx, max(out.wait, time.Duration(try)*l.pause)); err != nil {
			return err
		}
	}
}
