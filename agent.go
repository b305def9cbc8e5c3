package ambry

import "time"

// SourceStatus says how an agent is connected to us.
type SourceStatus string

// The states of an agent source.
const (
	NotConnected    SourceStatus = "not_connected"
	SkillInstalled  SourceStatus = "skill_installed"
	PluginInstalled SourceStatus = "plugin_installed"
	Drifted         SourceStatus = "drifted"
)

// AgentSource is an agent on this machine, as the API shows it.
type AgentSource struct {
	SourceID          string            `json:"sourceId"`
	DisplayName       string            `json:"displayName"`
	DataPath          string            `json:"dataPath" doc:"Where its history is, or would be"`
	Builtin           bool              `json:"builtin"`
	Format            string            `json:"format,omitempty" doc:"Of a source that was added: the agent that wrote it"`
	Installed         bool              `json:"installed" doc:"The agent, or something it left, is on this machine"`
	Available         bool              `json:"available" doc:"Its history exists and can be read"`
	Status            SourceStatus      `json:"status" enum:"not_connected,skill_installed,plugin_installed,drifted"`
	MessageCount      int64             `json:"messageCount" doc:"Messages read so far"`
	ConversationCount int64             `json:"conversationCount"`
	Bytes             int64             `json:"bytes" doc:"Bytes of history read so far"`
	LastScannedAt     *time.Time        `json:"lastScannedAt"`
	Capabilities      AgentCapabilities `json:"capabilities"`
	Error             string            `json:"error,omitempty" doc:"Why it cannot be read"`
}

// AgentCapabilities says what we can do with an agent.
type AgentCapabilities struct {
	History bool `json:"history"`
	Skill   bool `json:"skill"`
	Hooks   bool `json:"hooks"`
	MCP     bool `json:"mcp"`
}

// NewSource names a directory with a copy of an agent's history: from another
// machine, an old account, a backup.
type NewSource struct {
	DisplayName string `json:"displayName" minLength:"1" maxLength:"100"`
	DataPath    string `json:"dataPath" minLength:"1" maxLength:"4096" doc:"A directory below the home directory of the person; absolute"`
	Format      string `json:"format" minLength:"1" maxLength:"64" doc:"The agent that wrote it, such as claude_code"`
}

// ManualSource is a source that the person added, as it is kept.
type ManualSource struct {
	ID          string
	DisplayName string
	DataPath    string // absolute, without links
	Format      string
	AddedAt     time.Time
}
