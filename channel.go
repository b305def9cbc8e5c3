package ambry

import (
	"slices"
	"time"
)

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

// ChannelCode asks somebody who is to write for a code.
type ChannelCode struct {
	PairingCode string    `json:"pairingCode" doc:"Whoever sends it to the bot may write to it; shown to the owner alone, and good once"`
	ExpiresAt   time.Time `json:"pairingExpiresAt"`
}

// ChannelSetup is what was connected, without what is secret.
type ChannelSetup struct {
	Links []ChannelLink `json:"links"`
}

// Find returns the link of a provider, nil if it is not connected.
func (s *ChannelSetup) Find(provider string) *ChannelLink {
	for i := range s.Links {
		if s.Links[i].Provider == provider {
			return &s.Links[i]
		}
	}
	return nil
}

// Remove removes the link of a provider, if there is one.
func (s *ChannelSetup) Remove(provider string) {
	s.Links = slices.DeleteFunc(s.Links, func(l ChannelLink) bool { return l.Provider == provider })
}

// ChannelLink is a channel that was connected.
type ChannelLink struct {
	ID          string            `json:"id"`
	Provider    string            `json:"provider"`
	Values      map[string]string `json:"values"`           // by field, but for secrets
	Secret      string            `json:"secret,omitempty"` // under which the secrets are kept, "" if there are none
	Identity    string            `json:"identity"`         // who we are there: the service's id
	Name        string            `json:"name"`             // as people see us
	ConnectedAt time.Time         `json:"connectedAt"`
	Peers       []ChannelPeer     `json:"peers,omitempty"`
	Pairing     *ChannelPairing   `json:"pairing,omitempty"` // the code that somebody may be paired by
}

// ChannelPairing is a code by which somebody may be paired, without the code.
type ChannelPairing struct {
	Salt      string         `json:"salt"`
	Hash      string         `json:"hash"`
	ExpiresAt time.Time      `json:"expiresAt"`
	Wrong     map[string]int `json:"wrong,omitempty"` // tries by sender, whose id is hashed
}

// ChannelCursors are how far services were read, by id of the link.
type ChannelCursors map[string]string
