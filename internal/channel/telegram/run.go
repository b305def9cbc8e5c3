package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

// Run reads what is written to the bot until ctx ends.
func (l *link) Run(ctx context.Context, h channel.Host) error {
	var line channel.Line
	defer line.Cut()
	if err := l.run(ctx, h, &line); ctx.Err() == nil {
		return err
	}
	return nil
}

func (l *link) run(ctx context.Context, h channel.Host, line *channel.Line) error {
	me, err := l.me(ctx)
	if err != nil {
		return err
	}
	if err := l.takeOver(ctx); err != nil {
		return err
	}
	// The first question is answered at once, so that a bot that is read by somebody
	// else too is not shown as connected.
	batch, err := l.ask(ctx, from(h.Cursor(), time.Now()), 0)
	if err != nil {
		return err
	}
	h.Connected(identity(me))
	r := reader{link: l, me: me, host: h, line: line}
	for {
		next, err := r.take(ctx, batch)
		if err != nil {
			return err
		}
		// Telegram forgets what is below the number that it is asked for, and nothing
		// before. The number is told once: after a week of silence it begins anew
		// somewhere else, and what is new would be taken for old.
		batch, err = l.ask(ctx, next, l.poll)
		for wait := pause(err); wait > 0; wait = pause(err) {
			if err := channel.Pause(ctx, wait); err != nil {
				return err
			}
			batch, err = l.ask(ctx, next, l.poll)
		}
		if err != nil {
			return err
		}
	}
}

// A cursor is the number after the last update that was taken, and when that was.
func cursor(next int64, now time.Time) string { return fmt.Sprintf("%d %d", next, now.Unix()) }

// from returns the number of a cursor, 0 if there is none that tells anything:
// after a day Telegram has forgotten by itself what was not confirmed.
func from(cursor string, now time.Time) int64 {
	var next, at int64
	if _, err := fmt.Sscanf(cursor, "%d %d", &next, &at); err != nil || now.Sub(time.Unix(at, 0)).Abs() > 24*time.Hour {
		return 0
	}
	return max(0, next)
}

// pause returns how long Telegram wants not to be asked.
func pause(err error) time.Duration {
	if e, ok := errors.AsType[*ambry.Error](err); ok {
		return time.Duration(e.RetryAfter) * time.Second
	}
	return 0
}

// takeOver ends that messages are delivered to an address, which Telegram does
// in place of answering questions. What was not delivered yet is kept.
func (l *link) takeOver(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*maxCall)
	defer cancel()
	hook, err := l.bot.GetWebhookInfo(ctx)
	if err != nil {
		return l.failed(err)
	}
	if hook.URL == "" {
		return nil
	}
	l.log.Warn("the bot delivered to a webhook, which is taken off")
	if _, err := l.bot.DeleteWebhook(ctx, &bot.DeleteWebhookParams{}); err != nil {
		return l.failed(err)
	}
	return nil
}

// answer is what Telegram answers to a question for what is new.
type answer struct {
	OK          bool              `json:"ok"`
	Result      []json.RawMessage `json:"result"`
	ErrorCode   int               `json:"error_code"`
	Description string            `json:"description"`
	Parameters  struct {
		RetryAfter int `json:"retry_after"`
	} `json:"parameters"`
}

// ask asks for what is new, and waits for it a while. The library would confirm
// what it got before it is taken.
func (l *link) ask(ctx context.Context, offset int64, wait time.Duration) ([]json.RawMessage, error) {
	in := map[string]any{"timeout": int(wait.Seconds()), "allowed_updates": []string{"message"}}
	if offset != 0 {
		in["offset"] = offset
	}
	got, err := l.access.Ask(ctx, http.MethodPost, l.base+"/bot"+l.token+"/getUpdates", nil, in)
	if err != nil {
		return nil, err
	}
	var a answer
	switch err := json.Unmarshal(got.Body, &a); {
	case err != nil, a.OK && got.Status != http.StatusOK:
		if got.Status >= http.StatusInternalServerError {
			return nil, ambry.UpstreamFailed.Errorf("Telegram has a fault (HTTP %d)", got.Status)
		}
		return nil, errNotTelegram
	case a.OK:
		return a.Result, nil
	case a.ErrorCode == http.StatusTooManyRequests:
		return nil, channel.Later("Telegram", time.Duration(a.Parameters.RetryAfter)*time.Second)
	}
	return nil, l.refused(a.ErrorCode, a.Description)
}

// reader passes on what is new.
type reader struct {
	*link
	me   *models.User
	host channel.Host
	line *channel.Line
}

// update is something that has happened. Of a message only that is read which
// is needed, so that a new kind of attachment is no trouble.
type update struct {
	ID      int64    `json:"update_id"`
	Message *message `json:"message"`
}

type message struct {
	ID       int    `json:"message_id"`
	Thread   int    `json:"message_thread_id"`
	InTopic  bool   `json:"is_topic_message"`
	From     *user  `json:"from"`
	Via      *user  `json:"via_bot"`
	Chat     chat   `json:"chat"`
	Date     int64  `json:"date"`
	Text     string `json:"text"`
	Entities []mark `json:"entities"`
	Caption  string `json:"caption"`
	Captions []mark `json:"caption_entities"`
	To       *struct {
		From *user `json:"from"`
	} `json:"reply_to_message"`
}

type user struct {
	ID       int64  `json:"id"`
	IsBot    bool   `json:"is_bot"`
	First    string `json:"first_name"`
	Last     string `json:"last_name"`
	Username string `json:"username"`
}

type chat struct {
	ID   int64  `json:"id"`
	Type string `json:"type"`
}

// take passes on a batch, and returns the number after the last of it, 0 if
// there is none.
func (r *reader) take(ctx context.Context, batch []json.RawMessage) (next int64, err error) {
	for _, data := range batch {
		var u update
		if err := json.Unmarshal(data, &u); err != nil {
			// It may be of a form that is not known yet, but it has a number: what cannot be
			// read would come again for ever.
			u = update{}
			if json.Unmarshal(data, &struct {
				ID *int64 `json:"update_id"`
			}{&u.ID}) != nil || u.ID == 0 {
				return 0, errNotTelegram
			}
			r.log.Warn("a message has a form that is not known, and is left out")
		}
		if m, ok := r.read(u.Message); ok {
			err := r.line.Taking(func() error {
				if err := r.host.Receive(ctx, m, r.replier(u.Message)); err != nil {
					return err
				}
				return r.host.Keep(ctx, cursor(u.ID+1, time.Now()))
			})
			if err != nil {
				return 0, err
			}
		}
		next = max(next, u.ID+1)
	}
	return next, nil
}

// read returns what is passed on of a message, if it is one of a person.
func (r *reader) read(m *message) (channel.Message, bool) {
	if m == nil || m.From == nil || m.From.IsBot || m.Via != nil {
		return channel.Message{}, false
	}
	text, marks := m.Text, m.Entities
	if text == "" {
		text, marks = m.Caption, m.Captions
	}
	out := channel.Message{
		ID:     strconv.FormatInt(m.Chat.ID, 10) + ":" + strconv.Itoa(m.ID),
		Chat:   strconv.FormatInt(m.Chat.ID, 10),
		Sender: strconv.FormatInt(m.From.ID, 10),
		Name:   m.From.name(),
		At:     time.Unix(m.Date, 0),
	}
	switch m.Chat.Type {
	case "private":
	case "group", "supergroup":
		out.Group = true
	default:
		return channel.Message{}, false
	}
	if m.InTopic {
		out.Chat += "/" + strconv.Itoa(m.Thread)
	}
	out.Text, out.Mentioned = r.addressed(text, marks)
	if m.To != nil && m.To.From != nil && m.To.From.ID == r.me.ID {
		out.Mentioned = true
	}
	out.Mentioned = out.Mentioned && out.Group
	return out, out.Text != ""
}

func (u *user) name() string {
	switch {
	case u.First != "" && u.Last != "":
		return u.First + " " + u.Last
	case u.First != "":
		return u.First
	}
	return u.Username
}

// replier returns what answers a message, in its topic if it has one, and to
// what was asked where others read along.
func (r *reader) replier(m *message) channel.Send {
	chat, group := m.Chat.ID, m.Chat.Type != "private"
	in := bot.SendMessageParams{LinkPreviewOptions: &models.LinkPreviewOptions{IsDisabled: bot.True()}}
	if m.InTopic {
		in.MessageThreadID = m.Thread
	}
	return func(ctx context.Context, text string) error {
		return r.line.Send(ctx, func(ctx context.Context) error {
			if group {
				text = quiet(text)
			}
			chat := chat
			for i, part := range channel.Split(text, maxText, channel.Units) {
				in := in
				in.ChatID, in.Text = chat, part
				if group && i == 0 {
					in.ReplyParameters = &models.ReplyParameters{MessageID: m.ID, AllowSendingWithoutReply: true}
				}
				moved, err := r.send(ctx, in)
				if err != nil {
					return err
				}
				chat = moved
			}
			return nil
		})
	}
}

// send sends a part, and returns where the chat is.
func (r *reader) send(ctx context.Context, in bot.SendMessageParams) (chat int64, err error) {
	chat, _ = in.ChatID.(int64)
	return chat, channel.Patiently(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, maxCall)
		defer cancel()
		_, err := r.bot.SendMessage(ctx, &in)
		if moved, ok := errors.AsType[*bot.MigrateError](err); ok && chat != int64(moved.MigrateToChatID) {
			// The group has become a larger one, under another number.
			chat = int64(moved.MigrateToChatID)
			in.ChatID, in.MessageThreadID, in.ReplyParameters = chat, 0, nil
			_, err = r.bot.SendMessage(ctx, &in)
		}
		if err != nil {
			return r.failed(err)
		}
		return nil
	})
}
