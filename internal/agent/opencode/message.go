package opencode

import (
	"bytes"
	"cmp"
	"path"
	"strings"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
)

// message is a message of a session, put together from its records.
type message struct {
	id     string
	role   ambry.Role
	at     time.Time
	model  string
	cwd    string
	texts  []string
	task   string // what a command gave to a sub-agent
	title  string // of the prompt; the first versions kept nothing else of it
	calls  []ambry.ToolCall
	files  []ambry.Attached
	tokens ambry.Tokens
	steps  ambry.Tokens // the same by the steps of the message
	asides []ambry.Message
	failed string // why the model could not answer
	parts  int
	undone *message // its parts that are undone
	broken string   // what is wrong with a record of it

	// In a tree:
	bytes  int64
	hidden bool // it is undone
}

// asked reports whether a person asks for something. OpenCode also writes
// messages of the person by itself, to go on after a compaction.
func (m *message) asked() bool { return m.role == ambry.User && (m.text() != "" || len(m.files) > 0) }

func (m *message) text() string {
	if text := strings.TrimSpace(strings.Join(m.texts, "\n\n")); text != "" || m.parts > 0 {
		return cmp.Or(text, m.task)
	}
	return m.title
}

// told returns the message, and what goes with it.
func (m *message) told() []ambry.Message {
	said := ambry.Message{
		ID: m.id, Role: m.role, Text: m.text(), At: m.at, Model: m.model, Tokens: m.tokens, Calls: m.calls, Files: m.files,
	}
	if !m.steps.IsZero() { // the message itself counts its last step only
		said.Tokens = m.steps
	}
	failed := m.failed
	if said.Text == "" && len(said.Calls) == 0 && len(said.Files) == 0 && failed != "" {
		said.Role, said.Text, failed = ambry.System, failed, ""
	}
	var all []ambry.Message
	if m.role != "" && (said.Text != "" || len(said.Calls) > 0 || len(said.Files) > 0 || !said.Tokens.IsZero()) {
		all = append(all, said)
	}
	all = append(all, m.asides...)
	if failed != "" {
		all = append(all, ambry.Message{ID: m.id + "/error", Role: ambry.System, Text: failed, At: m.at})
	}
	if m.undone != nil {
		for _, said := range m.undone.told() {
			said.Hidden = true
			all = append(all, said)
		}
	}
	return all
}

// aside keeps what OpenCode put into the conversation by itself. There is much
// of it, and most is the same each time.
func (m *message) aside(id string, role ambry.Role, text string) {
	if role != "" && strings.TrimSpace(text) != "" {
		m.asides = append(m.asides, ambry.Message{ID: id, Role: role, Text: agent.Cap(text, agent.MaxInput), Hidden: true, At: m.at})
	}
}

// undoneRest returns the message for the parts that are undone.
func (m *message) undoneRest() *message {
	if m.undone == nil {
		m.undone = &message{id: m.id + "/undone", role: m.role, at: m.at}
	}
	return m.undone
}

// stored takes a record of a message in parts: its head, or a part.
func (m *message) stored(part, _ string, v agent.Value) {
	if part == "" {
		m.head(v)
		return
	}
	m.part(part, v)
}

// head takes what a message says before its parts.
func (m *message) head(v agent.Value) {
	if v.Get("metadata", "time").Exists() {
		m.early(v)
		return
	}
	m.at = agent.Time(v.Get("time", "created"))
	switch string(v.Bytes("role")) {
	case "user":
		m.role = ambry.User
		m.title = cmp.Or(v.Text("summary", "body"), v.Text("summary", "title"))
	case "assistant":
		m.role = ambry.Assistant
		m.answer(v)
	}
}

// answer takes what is told of an answer beside what it says.
func (m *message) answer(v agent.Value) {
	if v.Bool("summary") {
		m.role = ambry.Summary
	}
	m.model = modelName(v.Text("providerID"), v.Text("modelID"))
	m.cwd = v.Text("path", "cwd")
	m.tokens = tokens(v.Get("tokens"))
	m.failed = failure(v.Get("error"))
}

// part takes a part of a message. The thoughts of the model are not kept, and
// what is about its steps, snapshots and patches is not told.
func (m *message) part(id string, v agent.Value) {
	m.parts++
	switch string(v.Bytes("type")) {
	case "text":
		if v.Bool("synthetic") || v.Bool("ignored") {
			m.aside(id, m.role, v.Text("text"))
		} else if text := v.Text("text"); text != "" {
			m.texts = append(m.texts, text)
		}
	case "file":
		m.files = append(m.files, attached(v))
	case "subtask":
		m.task = v.Text("prompt")
	case "tool":
		state := v.Get("state")
		call := ambry.ToolCall{ID: v.Text("callID"), Name: v.Text("tool"), At: agent.Time(state.Get("time", "start"))}
		m.call(call, state)
	case "step-finish":
		m.steps = m.steps.Add(tokens(v.Get("tokens")))
	}
}

// call takes the use of a tool, which is told together with its result.
func (m *message) call(c ambry.ToolCall, state agent.Value) {
	c.Input = state.Raw(agent.MaxInput, "input")
	if text := cmp.Or(state.Text("input"), state.Text("raw")); text != "" { // not complete yet
		c.Input = text
	}
	switch string(state.Bytes("status")) {
	case "completed":
		c.Done = true
	case "error":
		c.Done, c.Failed = true, true
	}
	data := state.Get("metadata")
	if exit := data.Get("exit"); exit.Exists() {
		code := int(exit.Int())
		c.ExitCode, c.Failed = &code, c.Failed || code != 0
	}
	c.Failed = c.Failed || c.Name == "invalid"
	c.Session = cmp.Or(data.Text("sessionId"), data.Text("sessionID"))
	c.Output = m.output(state)
	m.calls = append(m.calls, c)
}

// output returns what a tool answered, and takes the files that came with it.
func (m *message) output(state agent.Value) string {
	var texts []string
	say := func(text string) {
		if text != "" {
			texts = append(texts, text)
		}
	}
	say(state.JSON(agent.MaxOutput, "output"))
	for content := range state.List("content") {
		if content.Is("file", "type") {
			m.files = append(m.files, attached(content))
			continue
		}
		say(content.Text("text"))
	}
	if len(texts) == 0 {
		say(state.Text("metadata", "output")) // of a command that was broken off
	}
	say(cmp.Or(state.Text("error"), state.Text("error", "message")))
	for file := range state.List("attachments") {
		m.files = append(m.files, attached(file))
	}
	return strings.Join(texts, "\n")
}

// attached tells of a file, whose bytes are not kept.
func attached(v agent.Value) ambry.Attached {
	f := ambry.Attached{
		Kind: "file",
		Mime: cmp.Or(v.Text("mime"), v.Text("mediaType")),
		Name: agent.Cap(cmp.Or(v.Text("filename"), v.Text("name")), agent.MaxTitle),
	}
	if strings.HasPrefix(f.Mime, "image/") {
		f.Kind = "image"
	}
	address := v.Bytes("url")
	if len(address) == 0 {
		address = v.Bytes("uri")
	}
	head, body, inline := bytes.Cut(address, []byte(","))
	switch inline = inline && bytes.HasPrefix(head, []byte("data:")); {
	case len(v.Bytes("data")) > 0:
		f.Bytes = agent.DataSize(v.Bytes("data"))
	case inline && bytes.HasSuffix(head, []byte(";base64")):
		f.Bytes = agent.DataSize(body)
	case inline:
		f.Bytes = int64(len(body))
	case f.Name == "" && len(address) > 0:
		where, _, _ := strings.Cut(strings.ToValidUTF8(string(address[:min(len(address), agent.MaxInput)]), ""), "?")
		f.Name = agent.Cap(path.Base(where), agent.MaxTitle)
	}
	return f
}

// tokens reads a count. Here input is without what came from the cache or went
// into it. Output is without reasoning in newer versions, and with it in some
// older ones: the total tells, where there is one.
func tokens(v agent.Value) ambry.Tokens {
	const most = 1 << 40 // more is a mistake
	count := func(path ...string) int64 { return min(max(0, v.Int(path...)), most) }
	cached := count("cache", "read")
	in := count("input") + cached + count("cache", "write")
	out := count("output") + count("reasoning")
	if total := count("total"); total > 0 {
		out = min(out, max(count("output"), total-in))
	}
	return ambry.Tokens{Input: in, Cached: cached, Output: out}
}

func modelName(provider, model string) string {
	if provider == "" || model == "" {
		return model
	}
	return provider + "/" + model
}

// failure returns why something failed: the message, or at least its name.
func failure(v agent.Value) string {
	return cmp.Or(v.Text("data", "message"), v.Text("message"), v.Text("name"), v.Text("type"))
}
