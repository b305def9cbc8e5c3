package app

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/event"
	"ambry.dev/ambry/internal/mcp"
	"ambry.dev/ambry/internal/memory/remote"
	"ambry.dev/ambry/internal/redact"
	"ambry.dev/ambry/internal/relay"
	"ambry.dev/ambry/internal/supervise"
)

// hello is what the service tells its runtime.
type hello struct {
	Home     string `json:"home"`
	LogLevel string `json:"logLevel"`

	Embedding string `json:"embedding"` // the setting memory.embedding

	// Models are the service's models, which the runtime may use; nil if there are
	// none. See relay.New.
	Models *relay.Access `json:"models,omitempty"`
}

// address is what the runtime answers.
type address struct {
	BaseURL string `json:"baseUrl"`
	Token   string `json:"token"`
}

// migrationWait is how long the runtime may take to open its database without a
// word. After an update a large one is copied and brought to its new form.
const migrationWait = 5 * time.Minute

// memoryRuntime is the service's side of the memory runtime: a child of its
// own, or one that a person runs elsewhere.
type memoryRuntime struct {
	*remote.Client
	child    *supervise.Supervisor[address] // nil if it is elsewhere
	external address
	outgoing *outgoing
	hello    func() (hello, error) // what a child is told now
}

// newMemory makes the runtime; nothing runs yet.
func (s *service) newMemory(bus *event.Bus) (*memoryRuntime, error) {
	set := s.config.get()
	m := &memoryRuntime{external: address{BaseURL: set.Memory.URL, Token: set.Memory.Token}, outgoing: s.outgoing}
	m.Client = remote.New(m.target, s.outgoing.DialContext)
	if m.external.BaseURL != "" {
		return m, nil
	}
	level := set.Log.Level.String() // another one is in force after a restart
	m.hello = func() (hello, error) {
		access, err := s.access(context.Background())
		return hello{Home: s.home.Dir(), LogLevel: level, Embedding: set.Memory.Embedding, Models: access}, err
	}
	tell, err := m.hello()
	if err != nil {
		return nil, err
	}
	child, err := supervise.New(supervise.Config[address]{
		Name: "memory runtime", Command: s.options.Executable, Args: []string{"memory"},
		Hello:  tell,
		Probe:  func(ctx context.Context, a address) error { return m.probe(ctx, a) },
		Stderr: s.options.Stderr, Log: s.log,
		Timing: supervise.Timing{Handshake: migrationWait},
		OnState: func(state supervise.State) {
			bus.Publish(ambry.MemoryStateChanged{State: state.Health, Reason: state.Reason})
			if a, ok := m.child.Current(); ok {
				if err := s.publishRuntimeFile(a.BaseURL); err != nil {
					s.log.Error("write runtime.json", "err", err)
				}
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("prepare the memory runtime: %w", err)
	}
	m.child = child
	return m, nil
}

// lend tells the runtime which models there are now. One that is elsewhere gets
// none of ours.
func (s *service) lend(m *memoryRuntime) {
	if m == nil || m.child == nil {
		return
	}
	tell, err := m.hello()
	if err == nil {
		err = m.child.Tell(tell)
	}
	if err != nil {
		s.log.Error("tell the memory runtime of the models", "err", err)
	}
}

// ownPort reports whether one of our processes listens at a port.
func (s *service) ownPort(m *memoryRuntime, port uint16) bool {
	ours := []string{s.file.BaseURL}
	if m.child != nil {
		if a, ok := m.child.Current(); ok {
			ours = append(ours, a.BaseURL)
		}
	}
	return slices.ContainsFunc(ours, func(base string) bool { return strings.HasSuffix(base, fmt.Sprintf(":%d", port)) })
}

// notes is the memory as the bridge asks it: a note has its secrets taken out
// here, before it goes on.
type notes struct {
	*memoryRuntime
	forgets forgetting
}

// Add adds a note.
func (n notes) Add(ctx context.Context, note ambry.Note, key string) (ambry.Memory, error) {
	return n.memoryRuntime.Add(ctx, redact.CleanNote(note), key)
}

// Forget deletes a memory, also from what hooks keep.
func (n notes) Forget(ctx context.Context, id, key string) (ambry.Forgotten, error) {
	n.forgets.settle(ctx, remembered, false)
	return n.memoryRuntime.Forget(ctx, id, key)
}

// as returns the memory as an agent asks it.
func (n notes) as(agent string) mcp.Memory { return agentNotes{n.Client.As(agent), n.forgets} }

// agentNotes is the memory as one agent asks it over the bridge.
type agentNotes struct {
	*remote.Client
	forgets forgetting
}

// Forget deletes a memory, also from what hooks keep.
func (n agentNotes) Forget(ctx context.Context, id, key string) (ambry.Forgotten, error) {
	n.forgets.settle(ctx, remembered, false)
	return n.Client.Forget(ctx, id, key)
}

// Add adds a note.
func (n agentNotes) Add(ctx context.Context, note ambry.Note, key string) (ambry.Memory, error) {
	return n.Client.Add(ctx, redact.CleanNote(note), key)
}

// Run keeps the runtime running until ctx ends.
func (m *memoryRuntime) Run(ctx context.Context) error {
	if m.child == nil {
		<-ctx.Done()
		return nil
	}
	m.child.Run(ctx)
	return nil
}

// target returns where requests to the runtime go now, or why they cannot.
func (m *memoryRuntime) target() (*url.URL, string, error) {
	a := m.external
	if m.child != nil {
		current, ok := m.child.Current()
		if !ok {
			state := m.child.State()
			text := "the memory runtime is starting; try again in a moment"
			switch {
			case state.Health == ambry.HealthStarting && state.Reason != "":
				text = state.Reason + "; try again in a moment"
			case state.Health != ambry.HealthStarting:
				text = "the memory runtime is not running: " + state.Reason + `; see "ambry doctor"`
			}
			return nil, "", &ambry.Error{Kind: ambry.MemoryUnavailable, Message: text, RetryAfter: 1}
		}
		a = current
	}
	base, err := url.Parse(a.BaseURL)
	if err != nil {
		return nil, "", ambry.MemoryUnavailable.Wrap(err, "the address of the memory runtime is not a URL")
	}
	if err := m.outgoing.allows(base.Hostname()); err != nil {
		return nil, "", ambry.MemoryUnavailable.Wrap(err, "the memory runtime at memory.url is on another machine, and local-only mode is on")
	}
	return base, a.Token, nil
}

// address returns where the runtime is, or "" while it is not running.
func (m *memoryRuntime) address() string {
	base, _, err := m.target()
	if err != nil {
		return ""
	}
	return base.String()
}

// probe asks a runtime how it is.
func (m *memoryRuntime) probe(ctx context.Context, a address) error {
	base, err := url.Parse(a.BaseURL)
	if err != nil {
		return err
	}
	_, err = m.At(func() (*url.URL, string, error) { return base, a.Token, nil }).Status(ctx)
	return err
}

// externalProbe is how long bootstrap waits for a runtime that is elsewhere.
const externalProbe = time.Second

// health says how the runtime is.
func (m *memoryRuntime) health(ctx context.Context) ambry.Health {
	if m.child != nil {
		state := m.child.State()
		return ambry.Health{Memory: state.Health, MemoryReason: state.Reason, MemoryStarts: state.Restarts}
	}
	if _, _, err := m.target(); err != nil {
		return ambry.Health{Memory: ambry.HealthUnavailable, MemoryReason: err.Error()}
	}
	ctx, cancel := context.WithTimeout(ctx, externalProbe)
	defer cancel()
	if err := m.probe(ctx, m.external); err != nil {
		return ambry.Health{Memory: ambry.HealthUnavailable, MemoryReason: "the memory runtime at memory.url does not answer"}
	}
	return ambry.Health{Memory: ambry.HealthOK}
}
