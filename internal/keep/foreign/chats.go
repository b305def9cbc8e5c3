package foreign

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ambry.dev/ambry"
)

// chatGPT is the data export of ChatGPT, claudeAI that of Claude.ai: a zip, its
// folder, or the conversations.json of it.
var (
	chatGPT  = chats("chatgpt", "ChatGPT", "mapping", gptConversation)
	claudeAI = chats("claude-ai", "Claude.ai", "chat_messages", claudeConversation)
)

// chats makes a format of a list of conversations, in each of which there is a
// certain name.
func chats(id, name, mark string, parse func(json.RawMessage) (ambry.Conversation, error)) Format {
	return Format{
		ID: id, Name: name,
		Is: func(path string) bool {
			is := false
			_ = eachChat(context.Background(), path, func(raw json.RawMessage) bool {
				var named map[string]json.RawMessage
				if json.Unmarshal(raw, &named) == nil {
					_, is = named[mark]
				}
				return false
			})
			return is
		},
		Read: func(ctx context.Context, path string) iter.Seq2[Item, error] {
			return func(yield func(Item, error) bool) {
				n, stopped := 0, false
				err := eachChat(ctx, path, func(raw json.RawMessage) bool {
					n++
					c, err := parse(raw)
					if err != nil {
						err = fmt.Errorf("conversation %d cannot be read: %w", n, err)
					}
					if err == nil && len(c.Turns) == 0 {
						return true
					}
					c.Session.Agent = strings.ReplaceAll(id, "-", "_")
					stopped = !yield(Item{Conversation: &c, Key: c.Session.ID}, err)
					return !stopped
				})
				if err != nil && !stopped {
					yield(Item{}, err)
				}
			}
		},
	}
}

// maxChat is how large one conversation may be.
const maxChat = 256 << 20

// chatsName is the file of an export that has the conversations. Large exports
// of ChatGPT have several, with numbers.
func isChatsName(name string) bool {
	ok, _ := filepath.Match("conversations*.json", strings.ToLower(filepath.Base(name)))
	return ok
}

// eachChat calls do with each conversation of an export, until it returns false.
func eachChat(ctx context.Context, path string, do func(json.RawMessage) bool) error {
	switch {
	case directory(path):
		names, err := filepath.Glob(filepath.Join(path, "conversations*.json"))
		if err != nil || len(names) == 0 {
			return errors.New("there is no conversations.json")
		}
		slices.Sort(names)
		for _, name := range names {
			if goOn, err := chatsOfFile(ctx, name, do); err != nil || !goOn {
				return err
			}
		}
		return nil
	case strings.EqualFold(filepath.Ext(path), ".zip"):
		z, err := zip.OpenReader(path)
		if err != nil {
			return fmt.Errorf("open the archive: %w", err)
		}
		defer z.Close()
		found := false
		for _, f := range z.File {
			if !isChatsName(f.Name) {
				continue
			}
			found = true
			r, err := f.Open()
			if err != nil {
				return fmt.Errorf("open the archive: %w", err)
			}
			goOn, err := chatsOf(ctx, r, do)
			r.Close()
			if err != nil || !goOn {
				return err
			}
		}
		if !found {
			return errors.New("there is no conversations.json in the archive")
		}
		return nil
	case strings.EqualFold(filepath.Ext(path), ".json"):
		_, err := chatsOfFile(ctx, path, do)
		return err
	}
	return errors.New("this is no export of conversations")
}

func chatsOfFile(ctx context.Context, path string, do func(json.RawMessage) bool) (goOn bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	return chatsOf(ctx, f, do)
}

// chatsOf reads a JSON list one element at a time.
func chatsOf(ctx context.Context, r io.Reader, do func(json.RawMessage) bool) (goOn bool, err error) {
	d := json.NewDecoder(r)
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return false, errors.New("conversations.json is no list")
	}
	for d.More() {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return false, fmt.Errorf("conversations.json ends early or is no JSON: %w", err)
		}
		if len(raw) > maxChat {
			continue
		}
		if !do(raw) {
			return false, nil
		}
	}
	return true, nil
}

// gptNode is a message of ChatGPT in the tree of its conversation.
type gptNode struct {
	Parent   string   `json:"parent"`
	Children []string `json:"children"`
	Message  *struct {
		ID     string `json:"id"`
		Author struct {
			Role string `json:"role"`
			Name string `json:"name"`
		} `json:"author"`
		CreateTime float64 `json:"create_time"`
		Content    struct {
			Type  string            `json:"content_type"`
			Parts []json.RawMessage `json:"parts"`
			Text  string            `json:"text"`
		} `json:"content"`
		Metadata struct {
			Model  string `json:"model_slug"`
			Hidden bool   `json:"is_visually_hidden_from_conversation"`
		} `json:"metadata"`
	} `json:"message"`
}

func gptConversation(raw json.RawMessage) (ambry.Conversation, error) {
	var in struct {
		ID         string             `json:"conversation_id"`
		OtherID    string             `json:"id"`
		Title      string             `json:"title"`
		CreateTime float64            `json:"create_time"`
		UpdateTime float64            `json:"update_time"`
		Current    string             `json:"current_node"`
		Mapping    map[string]gptNode `json:"mapping"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return ambry.Conversation{}, errShape(err)
	}
	c := ambry.Conversation{Session: ambry.Session{
		ID: first(in.ID, in.OtherID), Title: in.Title, StartedAt: epoch(in.CreateTime), EndedAt: epoch(in.UpdateTime),
	}}
	if c.Session.ID == "" {
		return c, errors.New("it has no id")
	}
	b := turns{conversation: &c}
	for _, id := range gptPath(in.Mapping, in.Current) {
		n := in.Mapping[id]
		if n.Message == nil {
			continue
		}
		m := ambry.Message{ID: first(n.Message.ID, id), At: epoch(n.Message.CreateTime), Model: n.Message.Metadata.Model, Hidden: n.Message.Metadata.Hidden}
		m.Text = gptText(n.Message.Content.Parts, n.Message.Content.Text)
		switch n.Message.Author.Role {
		case "user":
			m.Role = ambry.User
		case "assistant":
			m.Role = ambry.Assistant
		case "tool":
			b.call(ambry.ToolCall{Name: first(n.Message.Author.Name, "tool"), Output: m.Text, Done: true, At: m.At})
			continue
		default:
			m.Role, m.Hidden = ambry.System, true
		}
		b.add(m)
	}
	return c, nil
}

// gptPath is the branch of a conversation that its person sees: from the current
// message up to the root, turned round. Without one it is the last children.
func gptPath(nodes map[string]gptNode, current string) []string {
	if _, ok := nodes[current]; !ok {
		current = ""
		for id, n := range nodes {
			if _, ok := nodes[n.Parent]; !ok && (current == "" || id < current) {
				current = id
			}
		}
		if _, ok := nodes[current]; !ok { // a tree without a root
			for id := range nodes {
				if current == "" || id < current {
					current = id
				}
			}
		}
		for seen := 0; seen < len(nodes); seen++ {
			children := nodes[current].Children
			if len(children) == 0 {
				break
			}
			current = children[len(children)-1]
		}
	}
	var path []string
	seen := map[string]bool{} // a tree that somebody made may go in circles
	for id := current; !seen[id]; id = nodes[id].Parent {
		if _, ok := nodes[id]; !ok {
			break
		}
		seen[id] = true
		path = append(path, id)
	}
	slices.Reverse(path)
	return path
}

// gptText joins the parts that are text, and what was spoken; sounds and
// pictures are left out.
func gptText(parts []json.RawMessage, other string) string {
	var out []string
	for _, p := range parts {
		var s string
		if json.Unmarshal(p, &s) != nil {
			var spoken struct {
				Type string `json:"content_type"`
				Text string `json:"text"`
			}
			if json.Unmarshal(p, &spoken) == nil && spoken.Type == "audio_transcription" {
				s = spoken.Text
			}
		}
		if s != "" {
			out = append(out, s)
		}
	}
	return first(strings.Join(out, "\n"), other)
}

// claudeMessage is a message of Claude.ai.
type claudeMessage struct {
	UUID        string `json:"uuid"`
	Sender      string `json:"sender"`
	Text        string `json:"text"`
	CreatedAt   string `json:"created_at"`
	Attachments []struct {
		Name    string `json:"file_name"`
		Type    string `json:"file_type"`
		Size    int64  `json:"file_size"`
		Content string `json:"extracted_content"`
	} `json:"attachments"`
	Content []struct {
		Type      string          `json:"type"`
		Text      string          `json:"text"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Input     json.RawMessage `json:"input"`
		ToolUseID string          `json:"tool_use_id"`
		Result    json.RawMessage `json:"content"`
		IsError   bool            `json:"is_error"`
	} `json:"content"`
}

func claudeConversation(raw json.RawMessage) (ambry.Conversation, error) {
	var in struct {
		UUID      string          `json:"uuid"`
		Name      string          `json:"name"`
		CreatedAt string          `json:"created_at"`
		UpdatedAt string          `json:"updated_at"`
		Messages  []claudeMessage `json:"chat_messages"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return ambry.Conversation{}, errShape(err)
	}
	c := ambry.Conversation{Session: ambry.Session{ID: in.UUID, Title: in.Name, StartedAt: at(in.CreatedAt), EndedAt: at(in.UpdatedAt)}}
	if in.UUID == "" {
		return c, errors.New("it has no id")
	}
	b := turns{conversation: &c}
	for i, m := range in.Messages {
		b.add(m.message(i))
	}
	return c, nil
}

func (m claudeMessage) message(i int) ambry.Message {
	out := ambry.Message{ID: first(m.UUID, fmt.Sprintf("m%d", i)), Role: ambry.Assistant, At: at(m.CreatedAt)}
	if m.Sender == "human" || m.Sender == "user" {
		out.Role = ambry.User
	}
	var said []string
	for _, part := range m.Content {
		switch part.Type {
		case "text":
			said = append(said, part.Text)
		case "tool_use":
			out.Calls = append(out.Calls, ambry.ToolCall{ID: part.ID, Name: first(part.Name, "tool"), Input: compact(part.Input)})
		case "tool_result":
			i := slices.IndexFunc(out.Calls, func(c ambry.ToolCall) bool { return c.ID == part.ToolUseID })
			if i < 0 {
				out.Calls = append(out.Calls, ambry.ToolCall{ID: part.ToolUseID, Name: first(part.Name, "tool")})
				i = len(out.Calls) - 1
			}
			out.Calls[i].Output, out.Calls[i].Done, out.Calls[i].Failed = compact(part.Result), true, part.IsError
		}
	}
	out.Text = first(strings.Join(said, "\n\n"), m.Text)
	for _, a := range m.Attachments {
		out.Files = append(out.Files, ambry.Attached{Kind: "document", Mime: clip(a.Type, 64), Name: clip(a.Name, 255), Bytes: a.Size})
		if a.Content != "" {
			out.Text = join(out.Text, titled(a.Name, a.Content))
		}
	}
	return out
}

func compact(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if string(raw) == "null" {
		return ""
	}
	return string(raw)
}

// errShape says that something is not as it should be, and nothing of what it is.
func errShape(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s is a %s", first(wrong.Field, "it"), wrong.Value)
	}
	return errors.New("it is no JSON")
}

// turns puts messages together to turns: each begins with what a person says.
type turns struct{ conversation *ambry.Conversation }

func (b turns) add(m ambry.Message) {
	c := b.conversation
	if strings.TrimSpace(m.Text) == "" && len(m.Calls) == 0 && len(m.Files) == 0 {
		return
	}
	if len(c.Turns) == 0 || m.Role == ambry.User && !m.Hidden && b.spoken() {
		when := m.At
		if when.IsZero() {
			when = later(c)
		}
		c.Turns = append(c.Turns, ambry.Turn{ID: m.ID, At: when, Model: m.Model})
	}
	t := &c.Turns[len(c.Turns)-1]
	t.Model = first(m.Model, t.Model)
	t.Messages = append(t.Messages, m)
}

// spoken reports whether the last turn has more than what was there before a
// person spoke.
func (b turns) spoken() bool {
	last := b.conversation.Turns[len(b.conversation.Turns)-1]
	return slices.ContainsFunc(last.Messages, func(m ambry.Message) bool { return m.Role != ambry.System })
}

// call adds the result of a tool to the message before it.
func (b turns) call(call ambry.ToolCall) {
	if call.Output == "" {
		return
	}
	c := b.conversation
	if len(c.Turns) == 0 {
		return
	}
	t := &c.Turns[len(c.Turns)-1]
	if m := &t.Messages[len(t.Messages)-1]; m.Role == ambry.Assistant {
		m.Calls = append(m.Calls, call)
		return
	}
	t.Messages = append(t.Messages, ambry.Message{Role: ambry.Assistant, At: call.At, Calls: []ambry.ToolCall{call}})
}

// later is a time for a turn that has none: after the one before it.
func later(c *ambry.Conversation) time.Time {
	if n := len(c.Turns); n > 0 && !c.Turns[n-1].At.IsZero() {
		return c.Turns[n-1].At.Add(time.Millisecond)
	}
	return c.Session.StartedAt
}
