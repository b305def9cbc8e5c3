package matrix

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

// unreadable is what an encrypted room is told.
const unreadable = "This room is encrypted, and I cannot read what is written here. Please write to me in a room that is not encrypted."

// event takes something that has happened in a room.
func (f *follower) event(ctx context.Context, name roomID, e *event) error {
	if e == nil || e.Sender == f.us || e.ID == "" || e.Sender == "" || e.State != nil || slices.Contains(f.last, e.ID) {
		return nil
	}
	if e.Type == typeEncrypted {
		return f.encrypted(ctx, name)
	}
	content := &message{}
	if e.Type != typeMessage || json.Unmarshal(e.Content, content) != nil {
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
		ID: string(e.ID), Chat: string(name), Sender: string(e.Sender), Name: f.names[e.Sender],
		Text: text, At: time.UnixMilli(e.At), Group: others > 1,
	}
	if m.Name == "" {
		m.Name = e.Sender.local()
	}
	m.Text, m.Mentioned = mentioned(content, text, f.us, f.name)
	if m.Text == "" {
		return nil
	}
	to := place{room: name, message: e.ID, thread: content.related("m.thread")}
	err = f.host.Receive(ctx, m, func(ctx context.Context, text string) error {
		return f.line.Send(ctx, func(ctx context.Context) error { return f.send(ctx, to, text) })
	})
	f.last = append(f.last, e.ID)
	f.last = f.last[max(0, len(f.last)-maxLast):]
	return err
}

// encrypted tells the one who writes in an encrypted room, once, that it is not
// read. Where others read along it is silent: it may be that nobody spoke to us.
func (f *follower) encrypted(ctx context.Context, name roomID) error {
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
	if err := f.put(ctx, name, digest(string(name), unreadable), map[string]any{"msgtype": "m.notice", "body": unreadable, "m.mentions": struct{}{}}); err != nil {
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
func written(content *message) string {
	if content.related("m.replace") != "" {
		return ""
	}
	text := content.Body
	switch content.Kind {
	case "m.text", "m.emote":
	case "m.image", "m.file", "m.video", "m.audio":
		if content.File == "" || content.File == content.Body {
			return "" // it has no caption
		}
	default:
		return ""
	}
	if content.Relates.Reply.Event != "" {
		text = withoutQuote(text)
	}
	return strings.TrimSpace(text)
}

// withoutQuote takes out what a reply quotes at its beginning, for programs that
// show no replies.
func withoutQuote(text string) string {
	quotes := strings.HasPrefix(text, "> <") || strings.HasPrefix(text, "> * <")
	if !quotes || !strings.Contains(text, "\n") {
		return text
	}
	for strings.HasPrefix(text, "> ") {
		_, text, _ = strings.Cut(text, "\n")
	}
	return text
}

// mentioned takes the mention of us from a text, and reports whether there is
// one. A message that says whom it mentions means nobody else by names in it, but
// for our whole id.
func mentioned(content *message, text string, us userID, name string) (string, bool) {
	named := content.Mentions != nil && slices.Contains(content.Mentions.Users, us)
	if content.Mentions == nil {
		named = word(text, name) || word(text, "@"+us.local()) || strings.Contains(content.HTML, "https://matrix.to/#/"+string(us)+`"`)
	}
	if word(text, string(us)) {
		named = true
	}
	if !named {
		return text, false
	}
	for _, mention := range []string{string(us), "@" + name, name, "@" + us.local()} {
		if rest, ok := cutWord(text, mention); ok {
			return strings.TrimSpace(strings.TrimLeft(rest, ":,：， ")), true
		}
	}
	return strings.TrimSpace(strings.ReplaceAll(text, string(us), "")), true
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
	room    roomID
	message eventID
	thread  eventID // "" if it is in none
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
		if err := s.put(ctx, to.room, digest(string(to.message), fmt.Sprint(n), part), content); err != nil {
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

func (s *session) put(ctx context.Context, room roomID, name string, content any) error {
	return s.ask(ctx, attempts, maxAsk, func(ctx context.Context) error {
		return s.api.put(ctx, room, name, content)
	})
}
