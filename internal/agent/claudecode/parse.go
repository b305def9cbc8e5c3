package claudecode

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
)

// parse takes one record. A type that is not known says nothing of interest.
func parse(s *state, v agent.Value, b *agent.Builder) {
	switch string(v.Bytes("type")) {
	case "user":
		s.record(v, b, s.user)
	case "assistant":
		s.record(v, b, s.assistant)
	case "attachment":
		s.record(v, b, s.attachment)
	case "system":
		s.record(v, b, s.system)
	case "summary":
		s.summary(v, b)
	case "ai-title":
		s.title(byAgent, v.Text("aiTitle"), b)
	case "custom-title":
		s.title(byPerson, v.Text("customTitle"), b)
	}
}

// row is a record of the conversation and what all of them have.
type row struct {
	agent.Value
	id     string
	at     time.Time
	inline bool // of a sub-agent, but in the file of the session that it serves
	newest bool // newer than all before it
}

// record takes a record of the conversation.
func (s *state) record(v agent.Value, b *agent.Builder, take func(row, *agent.Builder)) {
	s.envelope(v, b)
	r := row{Value: v, id: v.Text("uuid"), at: agent.Time(v.Get("timestamp")), inline: !s.Sub && v.Bool("isSidechain")}
	r.newest = r.at.After(s.Latest)
	s.follow(r)
	if r.id != "" {
		s.Leaves = [3]string{r.id, s.Leaves[0], s.Leaves[1]}
	}
	if from := v.Get("forkedFrom"); from.Exists() {
		s.forked(from, b)
		// A copy may have ids of its own; it says which ones it was made from.
		r.id = cmp.Or(from.Text("messageUuid"), r.id)
	}
	take(r, b)
}

// follow notices when records are written again, which some versions do when a
// session is resumed: they are much older than one before them, and do not
// follow the last one. They are left out until there is something new.
func (s *state) follow(r row) {
	const tolerance = time.Minute // records are not quite in the order of their times
	switch {
	case r.newest:
		s.Latest, s.Replay = r.at, false
	case r.at.IsZero():
	case r.at.Before(s.Latest.Add(-tolerance)) && !r.Is(s.Leaves[0], "parentUuid"):
		s.Replay = true
	}
}

// again reports whether a prompt has begun a turn already. If not, it is noted
// that it did now.
func (s *state) again(r row, text string) bool {
	const size, most = 4, 4096
	h := fnv.New32a()
	switch {
	case !r.at.IsZero():
		fmt.Fprint(h, r.at.UnixNano(), text) // it may have another id the second time
	case r.id != "":
		fmt.Fprint(h, r.id)
	default:
		return false
	}
	sum := h.Sum(nil)
	for i := 0; i < len(s.Begun) && !r.newest; i += size {
		if bytes.Equal(s.Begun[i:i+size], sum) {
			return true
		}
	}
	kept := s.Begun[max(0, len(s.Begun)-size*(most-1)):]
	s.Begun = append(kept[:len(kept):len(kept)], sum...)
	return false
}

// begin starts a turn with what a person, or the agent that gave the sub-agent
// its task, wrote.
func (s *state) begin(r row, m ambry.Message, b *agent.Builder) {
	s.Turn, s.Replay = r.id, false
	if !r.at.IsZero() {
		s.Latest = r.at // one that is wrong does harm in its own turn only
	}
	b.Begin(ambry.Turn{ID: r.id, At: r.at, Cwd: r.Text("cwd"), Branch: branch(r.Value)})
	b.Add(m)
}

// hide keeps what the program put into the conversation, if there is a turn for
// it to be in.
func (s *state) hide(r row, text string, b *agent.Builder) {
	if text != "" && b.Open() && !s.Replay {
		b.Add(ambry.Message{ID: r.id, Role: ambry.User, Text: text, Hidden: true, At: r.at})
	}
}

// notice keeps a message of the program itself.
func (s *state) notice(r row, text string, b *agent.Builder) {
	if text != "" && b.Open() && !s.Replay {
		b.Add(ambry.Message{ID: r.id, Role: ambry.System, Text: text, At: r.at})
	}
}

func (s *state) user(r row, b *agent.Builder) {
	if r.inline && !b.Open() {
		return
	}
	c := contentOf(r.Get("message", "content"))
	for _, block := range c.results {
		if !s.Replay {
			b.Result(s.result(r, block, len(c.results) == 1))
		}
	}
	if r.Bool("isCompactSummary") || strings.HasPrefix(c.text(), preamble) {
		if !s.Replay {
			b.Add(ambry.Message{ID: r.id, Role: ambry.Summary, Text: c.text(), At: r.at})
		}
		return
	}
	if text := c.text(); strings.HasPrefix(text, interrupted) {
		s.notice(r, text, b)
		return
	}
	s.prompt(r, c, r.Bool("isMeta") || r.inline || !byHuman(r), b)
}

// How texts begin that the program writes in the name of the user.
const (
	preamble    = "This session is being continued from a previous conversation"
	interrupted = "[Request interrupted by user"
)

// byHuman reports whether a prompt was typed by somebody, or sent by a program
// in his stead, as far as the record says.
func byHuman(r row) bool {
	origin := r.Text("origin", "kind")
	return (origin == "" || origin == "human") && !r.Is("system", "promptSource")
}

// prompt takes what stands in place of a person's words. Tags that the program
// put around them or before them are split off.
func (s *state) prompt(r row, c content, injected bool, b *agent.Builder) {
	var said, hidden []string
	for _, text := range c.texts {
		own, other := split(text)
		said, hidden = append(said, own...), append(hidden, other...)
	}
	m := ambry.Message{ID: r.id, Role: ambry.User, Text: strings.Join(said, "\n\n"), At: r.at, Files: c.files}
	from := byPrompt
	if name, text := command(c.text()); name != "" {
		s.rename(name, text, b)
		m.Text, hidden, from = text, nil, byCommand
		injected = injected || local(c.text())
	}
	first := s.Sub && !b.Open() // whatever it is, it is the task
	switch {
	case first && m.Text == "":
		m.Text, hidden, from = c.text(), nil, untitled
	case injected && !first:
		s.hide(r, c.text(), b)
		return
	}
	switch {
	case m.Text == "" && len(m.Files) == 0:
		s.hide(r, strings.Join(hidden, "\n\n"), b)
		return
	case len(c.results) == 0 && s.again(r, c.text()):
		s.Replay = true
		return
	case len(c.results) == 0:
		s.begin(r, m, b)
		s.title(from, m.Text, b)
	case !s.Replay: // said beside the result of a tool
		b.Add(m)
	}
	if r.id != "" {
		r.id += "/injected"
	}
	s.hide(r, strings.Join(hidden, "\n\n"), b)
}

// rename takes the title that a person gave with a command.
func (s *state) rename(name, text string, b *agent.Builder) {
	if name == "/rename" {
		s.title(byPerson, strings.TrimPrefix(text, name), b)
	}
}

// attachment takes a prompt that was typed while the agent was at work. The
// other kinds tell the model of files, tools and reminders.
func (s *state) attachment(r row, b *agent.Builder) {
	a := row{Value: r.Get("attachment")}
	if !a.Is("queued_command", "type") || r.inline {
		return
	}
	if r.id == "" {
		r.id = a.Text("source_uuid")
	}
	if r.id == "" && !r.at.IsZero() {
		r.id = "queued:" + r.at.Format(time.RFC3339Nano) // the same one in a copy
	}
	mode := a.Text("commandMode")
	injected := a.Bool("isMeta") || r.Bool("isMeta") || mode != "" && mode != "prompt" || !byHuman(a)
	s.prompt(r, contentOf(a.Get("prompt")), injected, b)
}

func (s *state) system(r row, b *agent.Builder) {
	if r.inline {
		return
	}
	switch string(r.Bytes("subtype")) {
	case "api_error":
		s.notice(r, apiError(r.Value), b)
	case "error", "api_refusal", "model_refusal_fallback":
		s.notice(r, r.Text("content"), b)
	case "local_command":
		name, text := command(r.Text("content"))
		s.rename(name, text, b)
		s.hide(r, r.Text("content"), b)
	}
}

// apiError tells an attempt at asking the model that failed.
func apiError(v agent.Value) string {
	text := "API error"
	if status := v.Int("error", "status"); status != 0 {
		text = fmt.Sprintf("%s %d", text, status)
	}
	for _, path := range [][]string{{"content"}, {"error", "message"}, {"error", "error", "message"}, {"error", "error", "error", "message"}, {"error", "cause", "code"}} {
		if why := v.Text(path...); why != "" {
			text += ": " + why
			break
		}
	}
	if attempt := v.Int("retryAttempt"); attempt != 0 {
		text = fmt.Sprintf("%s (attempt %d of %d)", text, attempt, v.Int("maxRetries"))
	}
	return text
}
