// Package server is the local API of the service: which routes there are and
// what each one does. It decides nothing about HTTP, which is package web's
// part, and nothing about memories, which the runtime answers itself.
package server

import (
	"context"
	"net/http"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/web"
)

// Document is something of the person's that there is one of.
type Document[T any] interface {
	Load(ctx context.Context) (T, error)

	// Change has edit change the document. When edit returns an error nothing
	// changes and that error comes back.
	Change(ctx context.Context, edit func(*T) error) (T, error)
}

// Scans reads histories.
type Scans interface {
	Start(r ambry.ScanRequest) (ambry.ScanStarted, error)
	Stop(ctx context.Context) error
	Status() ambry.ScanStatus
	List(ctx context.Context) []ambry.AgentSource

	// Add adds a directory to what is read; Remove takes it out again.
	Add(ctx context.Context, in ambry.NewSource) (ambry.AgentSource, error)
	Remove(ctx context.Context, sourceID string) error

	// ConsentChanged is called after the consent or the preferences changed.
	ConsentChanged()
}

// Hooks answers hooks of agents.
type Hooks interface {
	// Answer returns what an agent is told at an event, which is one JSON document or
	// nothing. An agent whose hooks the service cannot answer is not found. What was
	// long ago is memory_timeout, and so is what takes long; zero is now.
	Answer(ctx context.Context, agent, event string, at time.Time, said []byte) ([]byte, error)
}

// Skills writes into agents' files.
type Skills interface {
	Install(ctx context.Context, agentID string, part ambry.SkillPart, dryRun bool) (ambry.SkillResult, error)
	Remove(ctx context.Context, agentID string, part ambry.SkillPart, dryRun bool) (ambry.SkillResult, error)

	// Show completes a list of agents with what is written into their files.
	Show(ctx context.Context, list []ambry.AgentSource) []ambry.AgentSource
}

// Bus is told what happens.
type Bus interface {
	Publish(p ambry.Payload) ambry.Event
}

// Server answers the local API. All its fields are needed.
type Server struct {
	Version string

	AppSettings     Document[ambry.AppSettings]
	Onboarding      Document[ambry.Onboarding]
	Privacy         Document[ambry.Privacy]
	ScanPreferences Document[ambry.ScanPreferences]

	PrivacyChanged func() // called after the privacy changed, before anybody is told
	Bus            Bus

	Models   Models
	Account  Account
	Channels Channels

	Hooks  Hooks
	Scans  Scans
	Skills Skills
	Data   LocalData
	Care   MemoryCare
	Health func(ctx context.Context) ambry.Health
	Memory http.Handler // hands requests on to the memory runtime
	Events http.Handler // the event stream

	Bridge   http.Handler // speaks MCP
	MCPToken string       // opens the bridge, and nothing else

	Tokens    AgentTokens
	Upstreams func() []ambry.UpstreamStatus // the MCP servers behind the bridge
	Internal  []web.Route                   // of our own processes, which have tokens of their own
}
