package claudecode

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
)

// state is what is remembered of a file from one record to the next. It is
// stored, so it holds no words that anybody wrote.
type state struct {
	Session string `json:"session"`        // id of the main session: of this file, or of the one that the sub-agent serves
	Sub     bool   `json:"sub,omitempty"`  // the file is a sub-agent's
	Kind    string `json:"kind,omitempty"` // what kind of sub-agent
	Met     bool   `json:"met,omitempty"`  // a record named the session

	Titled rank      `json:"titled,omitempty"`
	Leaves [3]string `json:"leaves"` // the last records, newest first

	Turn   string    `json:"turn,omitempty"`  // the open turn
	Begun  []byte    `json:"begun,omitempty"` // hashes of the prompts that began one
	Latest time.Time `json:"latest,omitzero"` // of the records of the open turn
	Replay bool      `json:"replay,omitempty"`
	Said   said      `json:"said,omitzero"`
}

// rank orders the places that a title comes from.
type rank int

const (
	untitled rank = iota
	byCommand
	byPrompt
	bySummary
	byAgent
	byPerson
)

// said is the last message of the model. When a prompt comes in its midst it
// goes on in the next turn, where only the tokens count that are new.
type said struct {
	ID      string       `json:"id,omitempty"`
	Turn    string       `json:"turn,omitempty"`
	Most    ambry.Tokens `json:"most,omitzero"`
	Counted ambry.Tokens `json:"counted,omitzero"` // in earlier turns
}

// title keeps a title unless a better one is known. Of prompts the first one
// counts, of titles that were given the last.
func (s *state) title(from rank, text string, b *agent.Builder) {
	text = agent.Title(text)
	if text == "" || from < s.Titled || from == s.Titled && from <= byPrompt {
		return
	}
	s.Titled = from
	if s.Kind != "" {
		text = agent.Title(s.Kind + ": " + text)
	}
	b.Session.Title = text
}

// summary takes the title of the conversation that ends at a record. Most files
// begin with those of other conversations.
func (s *state) summary(v agent.Value, b *agent.Builder) {
	leaf := v.Text("leafUuid")
	if leaf != "" && slices.Contains(s.Leaves[:], leaf) {
		s.title(bySummary, v.Text("summary"), b)
	}
}

// envelope takes what every record says of its session.
func (s *state) envelope(v agent.Value, b *agent.Builder) {
	session := &b.Session
	if !s.Met {
		if named := v.Text("sessionId"); named != "" {
			s.Met = true
			s.named(named, v.Is("bg", "sessionKind"), b)
		}
	}
	if session.Cwd == "" {
		if session.Cwd = v.Text("cwd"); session.Cwd != "" {
			session.Project = agent.Project(s.root(session.Cwd, b))
		}
	}
	if session.Branch == "" {
		session.Branch = branch(v)
	}
	if version := v.Bytes("version"); len(version) > 0 && string(version) != session.Version {
		session.Version = v.Text("version")
	}
	session.Background = session.Background || v.Is("bg", "sessionKind")
}

// forked takes the session that a record was copied from.
func (s *state) forked(from agent.Value, b *agent.Builder) {
	parent := cmp.Or(from.Text("sessionId"), from.Text())
	if parent != "" && parent != b.Session.ID && b.Session.Relation != ambry.Fork && !s.Sub {
		b.Session.ParentID, b.Session.Relation = parent, ambry.Fork
	}
}

// named takes the session that the first record names. A sub-agent's records
// name the session it serves. In a session's own file another name is that of
// the session which this one copied and went on with.
func (s *state) named(name string, background bool, b *agent.Builder) {
	session := &b.Session
	switch {
	case s.Sub:
		s.serves(name, strings.TrimPrefix(session.ID, "agent-"), b)
	case name == session.ID:
	case !isUUID(session.ID): // a file that somebody renamed
		session.ID, s.Session = name, name
	default:
		session.ParentID, session.Relation = name, ambry.Continuation
		if background {
			session.Relation = ambry.Fork
		}
	}
}

// serves takes the session that a sub-agent serves.
func (s *state) serves(session, agentID string, b *agent.Builder) {
	s.Session = session
	b.Session.ID, b.Session.ParentID = subagent(session, agentID), session
}

// subagent returns the id of a sub-agent's session. The agent's own ids are
// short, and the same one is met in several sessions.
func subagent(session, agentID string) string { return session + ":agent-" + agentID }

// root returns the directory in which the main session began.
func (s *state) root(cwd string, b *agent.Builder) string {
	if !s.Sub {
		return cwd
	}
	file := mainFile(b.Path())
	if file == "" {
		file = filepath.Join(filepath.Dir(b.Path()), s.Session+".jsonl")
	}
	// A parent that is gone, or too long before it says, is not worth an error.
	_ = agent.Peek(file, 256<<10, func(v agent.Value) bool {
		found := v.Text("cwd")
		if found != "" {
			cwd = found
		}
		return found == ""
	})
	return cwd
}

// sidecar reads what the file beside a sub-agent's says of it. Not every
// version writes one.
func (s *state) sidecar(path string, b *agent.Builder) {
	_ = agent.Peek(strings.TrimSuffix(path, ".jsonl")+".meta.json", 64<<10, func(v agent.Value) bool {
		s.Kind = agent.Title(v.Text("agentType"))
		s.title(byAgent, v.Text("description"), b)
		return false
	})
}

func branch(v agent.Value) string {
	if v.Is("HEAD", "gitBranch") { // no branch, or no repository
		return ""
	}
	return v.Text("gitBranch")
}

// isUUID reports whether name has the form of the ids that Claude Code gives.
func isUUID(name string) bool {
	if len(name) != 36 {
		return false
	}
	for i, c := range []byte(name) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		hex := c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
		if dash != (c == '-') || !dash && !hex {
			return false
		}
	}
	return true
}
