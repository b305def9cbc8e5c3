package ambry

import "time"

// ChannelField is something that a person gives to connect a channel.
type ChannelField struct {
	Key         string `json:"key"`
	Label       string `json:"label"`
	Kind        string `json:"kind" enum:"text,secret,url" doc:"A secret is never shown again"`
	Required    bool   `json:"required"`
	Default     string `json:"default,omitempty"`
	Description string `json:"description,omitempty" doc:"Where it is found"`
}

// ChannelDefinition is a service on which people can write to Ambry.
type ChannelDefinition struct {
	ID           string         `json:"id"`
	Name         string         `json:"name"`
	AuthKind     string         `json:"authKind" enum:"form,unsupported"`
	Enabled      bool           `json:"enabled" doc:"Whether it can be connected"`
	Reason       string         `json:"reason,omitempty" doc:"Why it cannot"`
	Capabilities []string       `json:"capabilities"`
	Fields       []ChannelField `json:"fields"`
}

// ChannelDefinitions are all of them.
type ChannelDefinitions struct {
	Channels []ChannelDefinition `json:"channels"`
}

// ChannelState says how a channel is.
type ChannelState string

// The states of a channel.
const (
	ChannelDisabled    ChannelState = "disabled"    // not connected
	ChannelStarting    ChannelState = "starting"    // connecting for the first time
	ChannelConnected   ChannelState = "connected"   // people can write
	ChannelRestarting  ChannelState = "restarting"  // the connection was lost, and is tried again
	ChannelExpired     ChannelState = "expired"     // the service takes the credentials no more; connect it anew
	ChannelUnsupported ChannelState = "unsupported" // it cannot be connected
)

// ChannelPeer is somebody who was paired.
type ChannelPeer struct {
	ID       string    `json:"id" doc:"As the service knows them"`
	Name     string    `json:"name,omitempty"`
	PairedAt time.Time `json:"pairedAt"`
}

// ChannelConnection is a channel that was connected.
type ChannelConnection struct {
	ID          string        `json:"id"`
	Provider    string        `json:"provider"`
	Status      ChannelState  `json:"status" enum:"disabled,starting,connected,restarting,expired"`
	Running     bool          `json:"running"`
	DisplayName string        `json:"displayName,omitempty" doc:"Who we are there"`
	LastError   string        `json:"lastError,omitempty"`
	UpdatedAt   time.Time     `json:"updatedAt"`
	Peers       []ChannelPeer `json:"peers" doc:"Who may write; nobody else is answered"`
}

// ChannelConnections are all of them.
type ChannelConnections struct {
	Connections []ChannelConnection `json:"connections"`
}

// ChannelOpened answers a wish to connect.
type ChannelOpened struct {
	Status       ChannelState `json:"status" enum:"starting,connected,unsupported"`
	ConnectionID string       `json:"connectionId"`
	DisplayName  string       `json:"displayName,omitempty" doc:"Who we are there"`
	PairingCode  string       `json:"pairingCode,omitempty" doc:"Whoever sends it to the bot may write to it; shown to the owner alone"`
	ExpiresAt    *time.Time   `json:"pairingExpiresAt,omitempty"`
	Reason       string       `json:"reason,omitempty"`
}

// ChannelStatus is a channel among what Ambry is connected with.
type ChannelStatus struct {
	Provider     string         `json:"provider"`
	Name         string         `json:"name"`
	AuthKind     string         `json:"authKind"`
	Fields       []ChannelField `json:"fields"`
	Capabilities []string       `json:"capabilities"`
	Connected    bool           `json:"connected"`
	Status       ChannelState   `json:"status"`
}

// ChannelChanged says that a channel is in another state, or has other peers.
type ChannelChanged struct {
	Provider     string       `json:"provider"`
	ConnectionID string       `json:"connectionId"`
	Status       ChannelState `json:"status" enum:"disabled,starting,connected,restarting,expired"`
	Reason       string       `json:"reason,omitempty"`
}

// Topic names the event.
func (ChannelChanged) Topic() string { return "channel.changed" }
