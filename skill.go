package ambry

import "time"

// SkillPart is one of the two things that are written into an agent's files.
type SkillPart string

// The parts of a connection to an agent.
const (
	SkillText SkillPart = "skill"  // texts that teach the agent to use the memory
	Plugin    SkillPart = "plugin" // hooks, the MCP server and commands
)

// SkillAction is what happens to a file.
type SkillAction string

// What can happen to a file.
const (
	FileCreated SkillAction = "create"
	FileEdited  SkillAction = "edit"
	FileDeleted SkillAction = "delete"
)

// SkillChange is what was, or would be, done to one file of an agent.
type SkillChange struct {
	Path   string      `json:"path"`
	Action SkillAction `json:"action" enum:"create,edit,delete"`
	Diff   string      `json:"diff,omitempty" doc:"Unified, with three lines around"`
}

// SkillResult answers a request to teach an agent, or to undo that.
type SkillResult struct {
	OK      bool          `json:"ok"`
	Changes []SkillChange `json:"changes" doc:"None if everything is as it should be"`
	Notes   []string      `json:"notes,omitempty" doc:"What the person has to do, such as to start the agent anew"`
}

// SkillInstall is what is kept of something written into an agent's files.
type SkillInstall struct {
	Agent string
	Part  SkillPart
	State string // belongs to the writer, as Data does
	Data  []byte
	At    time.Time
}

// SkillWritten says that an agent was taught.
type SkillWritten struct {
	SourceID string    `json:"sourceId"`
	Part     SkillPart `json:"part" enum:"skill,plugin"`
}

// Topic names the event.
func (SkillWritten) Topic() string { return "agent_source.skill_installed" }

// SkillRemoved says that what was written into an agent's files is out again.
type SkillRemoved struct {
	SourceID string    `json:"sourceId"`
	Part     SkillPart `json:"part" enum:"skill,plugin"`
}

// Topic names the event.
func (SkillRemoved) Topic() string { return "agent_source.skill_removed" }

// SkillDrifted says that an agent's files are not as they were written: somebody
// changed them, or Ambry has moved. Installing again mends it.
type SkillDrifted struct {
	SourceID string    `json:"sourceId"`
	Part     SkillPart `json:"part" enum:"skill,plugin"`
	Paths    []string  `json:"paths"`
}

// Topic names the event.
func (SkillDrifted) Topic() string { return "agent_source.skill_drifted" }
