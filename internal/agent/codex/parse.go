package codex

import (
	"strings"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
)

// record is one record with what it is about.
type record struct {
	s    *state
	b    *agent.Builder
	time time.Time
}

// parse takes one record. What it does not know is nothing to it: each version
// adds some.
func parse(s *state, v agent.Value, b *agent.Builder) {
	r := record{s, b, agent.Time(v.Get("timestamp"))}
	payload := v.Get("payload")
	switch string(v.Bytes("type")) {
	case "response_item":
		r.item(payload)
	case "event_msg":
		r.event(payload)
	case "turn_context":
		r.context(payload)
	case "session_meta":
		r.meta(payload)
	case "compacted":
		r.summary(payload.Text("message"))
	case "inter_agent_communication":
		r.letter(payload)
	default:
		r.bare(v)
	}
}

// bare takes the records of the first versions, which had no envelope: a line
// about the session and then the items, or all of it in one document.
func (r record) bare(v agent.Value) {
	switch {
	case v.Get("payload").Exists() || v.Get("record_type").Exists():
	case v.Get("session").IsObject():
		r.meta(v.Get("session"))
		for item := range v.List("items") {
			r.item(item)
		}
	case v.Get("type").Exists():
		r.item(v)
	case v.Get("id").IsText():
		r.meta(v)
	}
}

// meta takes what a record says of the session. The first one is about this
// session; another one begins the copy of the session that it names.
func (r record) meta(v agent.Value) {
	session := &r.b.Session
	named := first(v.Text("id"), v.Text("session_id"))
	if r.s.Met {
		if named != "" && named != r.s.Identity {
			r.s.Identity, r.s.Count = named, 0
		}
		return
	}
	r.s.Met = true
	if named != "" {
		session.ID = named
	}
	began := agent.Time(v.Get("timestamp"))
	r.s.Identity, r.s.Born = session.ID, bornAt(session.ID)
	r.b.Seen(began)
	session.Cwd = v.Text("cwd")
	session.Project = agent.Project(session.Cwd)
	session.Branch = v.Text("git", "branch")
	session.Version = v.Text("cli_version")
	r.s.Cwd = session.Cwd
	r.origin(v)
}

// origin takes how the session came to be.
func (r record) origin(v agent.Value) {
	session := &r.b.Session
	sub := v.Get("source", "subagent")
	fork := first(v.Text("forked_from_id"), v.Text("history_base", "thread_id"))
	parent := first(v.Text("parent_thread_id"), sub.Text("thread_spawn", "parent_thread_id"))
	switch {
	case sub.Is("review"):
		session.Relation = ambry.Review
	case sub.Exists() || parent != "" || v.Is("subagent", "thread_source"):
		session.Relation = ambry.Subagent
	case fork != "":
		session.Relation = ambry.Fork
	}
	session.Background = session.Relation == ambry.Subagent || session.Relation == ambry.Review
	if session.ParentID = first(parent, fork); session.ParentID == session.ID {
		session.ParentID = ""
	}
}

// context takes what holds from now on: Codex writes it for each turn, and
// before it had ids for turns, for each request.
func (r record) context(v agent.Value) {
	s := r.s
	if cwd := v.Text("cwd"); cwd != "" {
		s.Cwd = cwd
	}
	if model := v.Text("model"); model != "" {
		s.Model = model
	}
	native := v.Text("turn_id")
	r.in(native)
	if s.Turn.ID == "" || s.Turn.Ended {
		return
	}
	t := r.b.Turn(s.Turn.ID)
	if native != "" && native == s.Turn.Native || t.Cwd == "" {
		t.Cwd = s.Cwd
	}
	if native != "" && native == s.Turn.Native || t.Model == "" {
		t.Model = s.Model
	}
}

// summary takes what a compaction left of the conversation.
func (r record) summary(text string) {
	if strings.TrimSpace(text) != "" {
		r.note(ambry.Summary, text)
	}
}

// note adds what neither the person nor the model said.
func (r record) note(role ambry.Role, text string) {
	r.needs()
	r.b.Add(ambry.Message{ID: messageID('n', r.s.Turn.Notes), Role: role, Text: text, At: r.at()})
	r.s.Turn.Notes++
	r.s.Turn.Speaking = false
}

// hide keeps what Codex put into the conversation by itself. There is much of
// it, and most is the same each time. What comes before the first turn is of
// no turn.
func (r record) hide(role ambry.Role, text string) {
	if r.s.Turn.ID == "" || strings.TrimSpace(text) == "" {
		return
	}
	r.b.Add(ambry.Message{
		ID: messageID('h', r.s.Turn.Context), Role: role, Text: agent.Cap(text, agent.MaxInput), Hidden: true, At: r.at(),
	})
	r.s.Turn.Context++
	r.s.Turn.Speaking = false
}

// spend takes what the session cost so far, and what the last request did. It
// is told again and again, also when nothing was spent.
func (r record) spend(info agent.Value) {
	if !info.Exists() {
		return
	}
	total, last := info.Get("total_token_usage"), info.Get("last_token_usage")
	spent, now := tokens(last), tokens(total)
	if total.Exists() {
		if now == r.s.Spent {
			return
		}
		if !last.Exists() {
			spent = difference(now, r.s.Spent)
		}
		r.s.Spent = now
	}
	if !spent.IsZero() {
		r.b.Spend(spent)
		r.s.Turn.Speaking = false
	}
}

// tokens reads a count. Input includes what was cached, and output includes
// the reasoning, here as there.
func tokens(v agent.Value) ambry.Tokens {
	in, out := max(0, v.Int("input_tokens")), max(0, v.Int("output_tokens"))
	return ambry.Tokens{Input: in, Cached: min(in, max(0, v.Int("cached_input_tokens"))), Output: out}
}

// difference returns what was spent between two totals. One that is lower is
// of a count that began anew.
func difference(now, before ambry.Tokens) ambry.Tokens {
	if now.Input < before.Input || now.Output < before.Output || now.Cached < before.Cached {
		return now
	}
	in := now.Input - before.Input
	return ambry.Tokens{Input: in, Cached: min(in, now.Cached-before.Cached), Output: now.Output - before.Output}
}

func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}
