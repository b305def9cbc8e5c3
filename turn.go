package ambry

import (
	"fmt"
	"time"
)

// Role says who speaks in a message.
type Role string

// The roles of a message.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	System    Role = "system"  // notices of the agent itself: errors, interruptions
	Summary   Role = "summary" // what a compaction left of earlier messages
)

// Relation says how a session came to be.
type Relation string

// The relations of a session to its parent.
const (
	Root         Relation = "root"
	Subagent     Relation = "subagent"
	Fork         Relation = "fork"
	Continuation Relation = "continuation"
	Review       Relation = "review"
)

// Session is one conversation of a person (or of an agent with its sub-agent)
// as the agent itself counts it. Agent and ID together are unique.
type Session struct {
	ID         string    `json:"id" doc:"The agent's own id of the session"`
	Agent      string    `json:"agent" doc:"Id of the agent, such as claude_code"`
	ParentID   string    `json:"parentId,omitempty" doc:"Id of the session this one came from"`
	Relation   Relation  `json:"relation,omitempty" enum:"root,subagent,fork,continuation,review"`
	Title      string    `json:"title,omitempty"`
	Cwd        string    `json:"cwd,omitempty" doc:"Working directory when it began"`
	Project    string    `json:"project,omitempty" doc:"Directory that groups sessions, normally the cwd"`
	Branch     string    `json:"branch,omitempty" doc:"Git branch when it began"`
	Model      string    `json:"model,omitempty" doc:"Model used last"`
	Version    string    `json:"version,omitempty" doc:"Version of the agent"`
	Background bool      `json:"background,omitempty" doc:"Started by the agent, not by a person"`
	Archived   bool      `json:"archived,omitempty"`
	StartedAt  time.Time `json:"startedAt,omitzero"`
	EndedAt    time.Time `json:"endedAt,omitzero"`
}

// Turn is one request of a person and all that followed until the next one.
// A turn that grows beyond the limits of one part goes on in the next part,
// which has the same ID. Agent, ID and Part together are unique; two sessions
// that hold the same turn (a resumed copy, a fork) hold one turn.
type Turn struct {
	ID       string    `json:"id" doc:"The agent's own id of the turn, or one made from what is stable in it"`
	Part     int       `json:"part,omitempty" doc:"0 for the first or only part"`
	At       time.Time `json:"at,omitzero" doc:"When it began; absent if the agent did not say"`
	Cwd      string    `json:"cwd,omitempty"`
	Branch   string    `json:"branch,omitempty"`
	Model    string    `json:"model,omitempty"`
	Tokens   Tokens    `json:"tokens,omitzero"`
	Source   Source    `json:"source,omitzero"`
	Messages []Message `json:"messages"`
}

// Source is where a turn was read: a range of bytes of a file, or a row.
type Source struct {
	Path   string `json:"path,omitempty" doc:"Absolute path of the file"`
	Line   int    `json:"line,omitempty" doc:"First line, counted from 1; 0 if the file has no lines"`
	Offset int64  `json:"offset,omitempty" doc:"First byte"`
	End    int64  `json:"end,omitempty" doc:"First byte after it"`
	Row    string `json:"row,omitempty" doc:"Key of the row, in a database"`
}

// String shows the source as people write it, path:line.
func (s Source) String() string {
	switch {
	case s.Path == "":
		return ""
	case s.Line > 0:
		return fmt.Sprintf("%s:%d", s.Path, s.Line)
	case s.Row != "":
		return s.Path + "#" + s.Row
	}
	return s.Path
}

// Message is one utterance with the tool calls it made.
type Message struct {
	ID     string     `json:"id,omitempty" doc:"The agent's own id; unique within the turn"`
	Role   Role       `json:"role" enum:"user,assistant,system,summary"`
	Text   string     `json:"text,omitempty"`
	Hidden bool       `json:"hidden,omitempty" doc:"Injected by the agent or on an abandoned branch; kept, not shown"`
	At     time.Time  `json:"at,omitzero"`
	Model  string     `json:"model,omitempty"`
	Tokens Tokens     `json:"tokens,omitzero"`
	Calls  []ToolCall `json:"calls,omitempty"`
	Files  []Attached `json:"files,omitempty"`
	Line   int        `json:"line,omitempty" doc:"Line of the source where it begins"`
	Offset int64      `json:"offset,omitempty" doc:"Byte of the source where it begins"`
}

// ToolCall is one use of a tool, paired with its result.
type ToolCall struct {
	ID       string    `json:"id,omitempty"`
	Name     string    `json:"name"`
	Input    string    `json:"input,omitempty" doc:"Arguments as the agent wrote them, size-capped"`
	Output   string    `json:"output,omitempty" doc:"Result text, size-capped"`
	Done     bool      `json:"done,omitempty" doc:"A result was seen; false for an interrupted call"`
	Failed   bool      `json:"failed,omitempty"`
	ExitCode *int      `json:"exitCode,omitempty"`
	Session  string    `json:"session,omitempty" doc:"Id of the sub-agent's session it started"`
	At       time.Time `json:"at,omitzero"`
}

// Outcome says how the call ended, "" if it simply succeeded.
func (c ToolCall) Outcome() string {
	switch {
	case !c.Done:
		return "interrupted"
	case c.ExitCode != nil && *c.ExitCode != 0:
		return fmt.Sprintf("failed with exit code %d", *c.ExitCode)
	case c.Failed:
		return "failed"
	}
	return ""
}

// Attached is a picture or document that a message carried. Its bytes are not kept.
type Attached struct {
	Kind  string `json:"kind"`
	Mime  string `json:"mime,omitempty"`
	Name  string `json:"name,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
}

// Tokens counts what a message cost. Input includes what came from a cache;
// Output includes reasoning.
type Tokens struct {
	Input  int64 `json:"input,omitempty"`
	Cached int64 `json:"cached,omitempty" doc:"Part of input that was read from a cache"`
	Output int64 `json:"output,omitempty"`
}

// IsZero reports whether nothing was counted.
func (t Tokens) IsZero() bool { return t == Tokens{} }

// Add returns the sum of t and o.
func (t Tokens) Add(o Tokens) Tokens {
	return Tokens{Input: t.Input + o.Input, Cached: t.Cached + o.Cached, Output: t.Output + o.Output}
}

// Conversation is some turns of one session, in their order. It need not be
// the whole session: a long one arrives in pieces, and adding a piece again
// changes nothing.
type Conversation struct {
	Session Session `json:"session"`
	Turns   []Turn  `json:"turns"`
}

// Validate reports what makes c unusable: a missing agent, session or turn id.
func (c Conversation) Validate() error {
	switch {
	case c.Session.Agent == "":
		return InvalidArgument.Errorf("a session needs an agent")
	case c.Session.ID == "":
		return InvalidArgument.Errorf("a session of %s needs an id", c.Session.Agent)
	}
	for i, t := range c.Turns {
		if t.ID == "" {
			return InvalidArgument.Errorf("turn %d of session %s needs an id", i, c.Session.ID)
		}
	}
	return nil
}
