package matrix

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

// unreadable is what an encrypted room is told.
const unreadable = "This room is encrypted, and I cannot read what is written here. Please write to me in a room that is not encrypted."

// event takes something that has happened in a room.
func (f *follower) event(ctx context.Context, name id.RoomID, e *event.Event) error {
	if e == nil || e.Sender == f.us || e.ID == "" || e.Sender == "" || e.StateKey != nil || slices.Contains(f.last, e.ID) {
		return nil
	}
	if e.Type.Type == event.EventEncrypted.Type {
		return f.encrypted(ctx, name)
	}
	if e.Type.Type != event.EventMessage.Type {
		return nil
	}
	if err := e.Content.ParseRaw(event.EventMessage); err != nil && !errors.Is(err, event.ErrContentAlreadyParsed) {
		return nil //nolint:nilerr // it is no message then
	}
	content, ok := e.Content.Parsed.(*event.MessageEventContent)
	if !ok {
		return nil
	}
	text := written(content)
	if text == "" {
		return nil
	}
	others, err := f.others(ctx, name)
	if err != nil {
		return err
	}
	m := channel.Message{
		ID: e.ID.String(), Chat: name.String(), Sender: e.Sender.String(), Name: f.names[e.Sender],
		Text: text, At: time.UnixMilli(e.Timestamp), Group: others > 1,
	}
	if m.Name == "" {
		m.Name = e.Sender.Localpart()
	}
	m.Text, m.Mentioned = mentioned(content, text, f.us, f.name)
	if m.Text == "" {
		return nil
	}
	to := place{room: name, message: e.ID, thread: content.RelatesTo.GetThreadParent()}
	err = f.host.Receive(ctx, m, func(ctx context.Context, text string) error {
		return f.line.Send(ctx, func(ctx context.Context) error { return f.send(ctx, to, text) })
	})
	f.last = append(f.last, e.ID)
	f.last = f.last[max(0, len(f.last)-maxLast):]
	return err
}

// encrypted tells the one who writes in an encrypted room, once, that it is not
// read. Where others read along it is silent: it may be that nobody spoke to us.
func (f *follower) encrypted(ctx context.Context, name id.RoomID) error {
	if slices.Contains(f.at.Told, name) {
		return nil
	}
	others, err := f.others(ctx, name)
	if err != nil {
		return err
	}
	if others > 1 {
		return nil
	}
	if err := f.put(ctx, name, digest(name.String(), unreadable), map[string]any{"msgtype": "m.notice", "body": unreadable, "m.mentions": struct{}{}}); err != nil {
		if ambry.KindOf(err) == ambry.Unauthorized || ctx.Err() != nil {
			return err
		}
		f.Log.Warn("an encrypted Matrix room could not be told that it is not read", "err", err)
	}
	f.at.Told = append(f.at.Told, name)
	f.at.Told = f.at.Told[max(0, len(f.at.Told)-maxTold):]
	return f.keep(ctx) // of the sync that is being read nothing is said by that
}

// written returns what somebody has written, "" if it is for nobody to answer:
// what bots say, and the second version of something.
func written(content *event.MessageEventContent) string {
	if content.RelatesTo.GetReplaceID() != "" {
		return ""
	}
	text := content.Body
	switch content.MsgType {
	case event.MsgText, event.MsgEmote:
	case event.MsgImage, event.MsgFile, event.MsgVideo, event.MsgAudio:
		if content.FileName == "" || content.FileName == content.Body {
			return "" // it has no caption
		}
	default:
		return ""
	}
	if content.RelatesTo.GetReplyTo() != "" {
		text = event.TrimReplyFallbackText(text)
	}
	return strings.TrimSpace(text)
}

// mentioned takes the mention of us from a text, and reports whether there is
// one. A message that says whom it mentions means nobody else by names in it, but
// for our whole id.
func mentioned(content *event.MessageEventContent, text string, us id.UserID, name string) (string, bool) {
	named := content.Mentions != nil && content.Mentions.Has(us)
	if content.Mentions == nil {
		named = word(text, name) || word(text, "@"+us.Localpart()) || strings.Contains(content.FormattedBody, "https://matrix.to/#/"+us.String()+`"`)
	}
	if word(text, us.String()) {
		named = true
	}
	if !named {
		return text, false
	}
	for _, mention := range []string{us.String(), "@" + name, name, "@" + us.Localpart()} {
		if rest, ok := cutWord(text, mention); ok {
			return strings.TrimSpace(strings.TrimLeft(rest, ":,：， ")), true
		}
	}
	return strings.TrimSpace(strings.ReplaceAll(text, us.String(), "")), true
}

// word reports whether a text has a name in it, and not as a part of a longer
// word.
func word(text, name string) bool {
	before := ' '
	for i, r := range text {
		if !wordly(before) {
			if _, ok := cutWord(text[i:], name); ok {
				return true
			}
		}
		before = r
	}
	return false
}

// cutWord takes a name from the beginning of a text, in whatever case it is.
func cutWord(text, name string) (string, bool) {
	if name == "" || len(text) < len(name) || !strings.EqualFold(text[:len(name)], name) {
		return text, false
	}
	after, _ := utf8.DecodeRuneInString(text[len(name):])
	return text[len(name):], !wordly(after)
}

func wordly(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_')
}

// place is where an answer goes.
type place struct {
	room    id.RoomID
	message id.EventID
	thread  id.EventID // "" if it is in none
}

const maxBytes = 30_000 // of a text in JSON; Matrix takes 65,536 for the whole event

func size(text string) int {
	out, _ := json.Marshal(text) // text always can be
	return len(out)
}

// send answers a message, in parts. A notice is what bots do not answer; without
// a format it is plain text, and it mentions nobody.
func (s *session) send(ctx context.Context, to place, text string) error {
	reply := map[string]any{"m.in_reply_to": map[string]any{"event_id": to.message}}
	if to.thread != "" {
		reply["rel_type"], reply["event_id"], reply["is_falling_back"] = "m.thread", to.thread, true
	}
	for n, part := range channel.Split(text, maxBytes, size) {
		content := map[string]any{
			"msgtype": "m.notice", "body": part, "m.mentions": struct{}{}, "m.relates_to": reply,
			"com.beeper.linkpreviews": []string{}, // none are made where this is known
		}
		if err := s.put(ctx, to.room, digest(to.message.String(), fmt.Sprint(n), part), content); err != nil {
			return err
		}
	}
	return nil
}

// digest names what is sent, so that the homeserver knows it when it is sent
// again.
func digest(parts ...string) string {
	sum := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(sum, "%d:%s", len(p), p)
	}
	return "ambry-" + hex.EncodeToString(sum.Sum(nil)[:16])
}

func (s *session) put(ctx context.Context, room id.RoomID, name string, content any) error {
	return s.ask(ctx, attempts, maxAsk, func(ctx context.Context) error {
		_, err := s.api.SendMessageEvent(ctx, room, event.EventMessage, content, mautrix.ReqSendEvent{TransactionID: name})
		return err
	})
}
