// Package converse is what is answered when somebody writes to the memory on a
// channel: a question by what the memory knows, with its sources, and a few
// commands. It knows no channel, and does not decide who may write.
package converse

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/model"
	"ambry.dev/ambry/internal/redact"
)

// Memory is what is asked of the memory.
type Memory interface {
	Search(ctx context.Context, q ambry.Query) (ambry.Answer, error)
	Get(ctx context.Context, id string) (ambry.Detail, error)
	Add(ctx context.Context, n redact.Note, key string) (ambry.Memory, error)
	Forget(ctx context.Context, id, key string) (ambry.Forgotten, error)
	Status(ctx context.Context) (ambry.MemoryHealth, error)
}

// Models makes the answers of a model. Without one it says [ambry.NotFound].
type Models interface {
	Chat(ctx context.Context, kind string, background bool, r model.Request, each func(string) error) (model.Reply, error)
}

// Line is something that was written.
type Line struct {
	Channel string // the id of the provider
	Chat    string // names the conversation
	Person  string // names who has written it
	ID      string // names the line, the same when it comes again
	Text    string
}

// Reply is what is answered.
type Reply struct {
	Text  string
	Leave bool // they want to be known no longer
}

// Conversations answers what people write. Its fields are set before it is used;
// its methods may be called at the same time.
type Conversations struct {
	// Memory returns the memory as it is asked on a channel, by the name that its
	// notes and its log have of that.
	Memory func(source string) Memory
	Models Models
	Chosen func(ctx context.Context) bool // whether there is a model to ask
	Log    *slog.Logger
	Now    func() time.Time

	mu    sync.Mutex // guards what follows
	open  map[string]*conversation
	order []string
}

// maxOpen is how many conversations are remembered: what they showed, and what
// they wait for.
const maxOpen = 500

// conversation is what is remembered of one person in one place.
type conversation struct {
	mu      sync.Mutex // held while a line is answered
	zh      bool       // the language of what was said last
	sources []source   // of the last answer that had some
	shown   map[string]bool
	added   string // what was remembered last
	pending *deletion
	last    *exchange
}

// deletion is something that is to be forgotten once that is confirmed.
type deletion struct {
	id, title string
	until     time.Time
}

// exchange is a question with its answer.
type exchange struct {
	question, answer string
	at               time.Time
}

func (l Line) key() string { return l.Channel + "\x00" + l.Chat + "\x00" + l.Person }

// drop forgets what is remembered of a line's place and person.
func (c *Conversations) drop(l Line) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, l.key())
	c.order = slices.DeleteFunc(c.order, func(key string) bool { return key == l.key() })
}

// conversation returns what is remembered of a line's place and person.
func (c *Conversations) conversation(l Line) *conversation {
	key := l.key()
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.open[key]; t != nil {
		return t
	}
	if c.open == nil {
		c.open = map[string]*conversation{}
	}
	if len(c.order) >= maxOpen {
		delete(c.open, c.order[0])
		c.order = c.order[1:]
	}
	t := &conversation{shown: map[string]bool{}}
	c.open[key], c.order = t, append(c.order, key)
	return t
}

// turn is the answering of one line.
type turn struct {
	*conversation
	all    *Conversations
	memory Memory
	line   Line // its text without secrets
	secret bool // there were some
	say    *phrases
}

// maxReply is how long an answer may be, in characters: what is read on a phone.
const maxReply = 3000

// Answer answers a line.
func (c *Conversations) Answer(ctx context.Context, l Line) Reply {
	t := &turn{conversation: c.conversation(l), all: c, memory: patient{c.Memory("channel:" + l.Channel)}, line: l}
	t.mu.Lock()
	defer t.mu.Unlock()
	clean, found := redact.Text(l.Text)
	t.line.Text, t.secret = strings.TrimSpace(clean), found > 0
	command, rest := parse(t.line.Text)
	t.zh = chinese(t.line.Text, command, t.zh)
	t.say = &english
	if t.zh {
		t.say = &mandarin
	}
	if command == leave {
		c.drop(l)
		return Reply{Text: t.say.left, Leave: true}
	}
	return Reply{Text: cut(t.reply(ctx, command, rest), maxReply)}
}

func (t *turn) reply(ctx context.Context, command, rest string) string {
	switch command {
	case "":
		return t.ask(ctx)
	case remember:
		return t.remember(ctx, rest)
	case forget:
		return t.forget(ctx, rest)
	case sources:
		return t.listSources()
	case status:
		return t.status(ctx)
	}
	return t.say.help
}

// The commands.
const (
	remember = "remember"
	forget   = "forget"
	sources  = "sources"
	status   = "status"
	help     = "help"
	leave    = "unpair"
)

// commands are their names.
var commands = map[string]string{
	remember: remember, forget: forget, sources: sources, status: status, help: help, leave: leave, "start": help,
	"记住": remember, "忘记": forget, "来源": sources, "状态": status, "帮助": help, "取消配对": leave,
}

// parse returns the command that a text is, and what is said with it; "" if it is
// a question. Apps that keep a slash for themselves let an exclamation mark pass,
// which counts only where a command is known.
func parse(text string) (command, rest string) {
	slash := strings.HasPrefix(text, "/") || strings.HasPrefix(text, "／")
	if !slash && !strings.HasPrefix(text, "!") && !strings.HasPrefix(text, "！") {
		return "", text
	}
	_, name, _ := strings.Cut(text, string([]rune(text)[0]))
	end := strings.IndexFunc(name, unicode.IsSpace)
	if end >= 0 {
		name, rest = name[:end], strings.TrimSpace(name[end:])
	}
	name, _, _ = strings.Cut(name, "@") // who is meant, in groups
	if known := commands[strings.ToLower(name)]; known != "" {
		return known, rest
	}
	// A path or a number is no command.
	if slash && name != "" && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) }) {
		return help, ""
	}
	return "", text
}

// chinese reports whether somebody is to be answered in Chinese; before says
// whether they were until now.
func chinese(text, command string, before bool) bool {
	letters := false
	for _, r := range text {
		if unicode.Is(unicode.Han, r) {
			return true
		}
		letters = letters || unicode.IsLetter(r)
	}
	if command != "" { // its name says nothing
		return before
	}
	return before && !letters
}

// cut shortens a text to so many characters.
func cut(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return strings.TrimSpace(string(runes[:most-1])) + "…"
}

// line makes one line of a text.
func line(text string, most int) string {
	return cut(strings.Join(strings.Fields(ambry.Plain(text)), " "), most)
}

// failed says that the memory cannot be asked. That says nothing about what it
// holds.
func (t *turn) failed(doing string, err error) string {
	t.all.Log.Warn("the memory was not asked", "channel", t.line.Channel, "doing", doing, "kind", string(ambry.KindOf(err)))
	return t.say.down
}
