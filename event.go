package ambry

import "time"

// Event is one thing that happened, as the event stream shows it.
type Event struct {
	ID        string    `json:"id" doc:"epoch-sequence; give it back as Last-Event-ID to continue"`
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Payload   any       `json:"payload"`
}

// Payload is what an event carries. Its topic is the type of the event.
type Payload interface{ Topic() string }

// Events lists an example of every payload that can be published. The
// reference of events and the types of the panel are made from it.
var Events = []Payload{
	AppConnected{},
	AppHeartbeat{},
	AppResync{},
	ScanProgress{},
	ScanCompletion{},
	SkillWritten{},
	SkillRemoved{},
	SkillDrifted{},
	MemoryStateChanged{},
	DataProgress{},
	SettingsChanged{},
	AccountLoggedIn{},
	AccountLoggedOut{},
	AccountDeliveryFailed{},
	ChannelChanged{},
}

// AppConnected greets a new reader of the stream.
type AppConnected struct {
	ConnectedAt time.Time `json:"connectedAt"`
	Epoch       string    `json:"epoch" doc:"Changes when the service starts anew; ids of another epoch are void"`
}

// Topic names the event.
func (AppConnected) Topic() string { return "app.connected" }

// AppHeartbeat is sent every 15 seconds, so that a dead connection is noticed.
type AppHeartbeat struct {
	SentAt time.Time `json:"sentAt"`
}

// Topic names the event.
func (AppHeartbeat) Topic() string { return "app.heartbeat" }

// AppResync says that events were missed and cannot be replayed: ask for the
// state anew.
type AppResync struct {
	Reason string `json:"reason" enum:"epoch_changed,too_old,slow_reader"`
}

// Topic names the event.
func (AppResync) Topic() string { return "app.resync" }

// MemoryStateChanged says that the memory runtime came up or went down.
type MemoryStateChanged struct {
	State  HealthState `json:"state" enum:"ok,starting,unavailable,failed"`
	Reason string      `json:"reason,omitempty"`
}

// Topic names the event.
func (MemoryStateChanged) Topic() string { return "memory.state_changed" }

// SettingsChanged says that something which a person can set is not what it was.
// It holds no values: ask for them anew.
type SettingsChanged struct {
	Section string   `json:"section" enum:"app,onboarding,privacy,scan_preferences,model_config,config" doc:"A part of the bootstrap, or what models are chosen; config is config.yaml"`
	Fields  []string `json:"fields" doc:"What is different: names of fields, for config keys. None if config.yaml cannot be read any more, or again"`
	Restart []string `json:"restart,omitempty" doc:"Those of the keys that are in force after a restart only"`
}

// Topic names the event.
func (SettingsChanged) Topic() string { return "settings.changed" }
