package ambry

import (
	"regexp"
	"strings"
	"sync"
	"time"
)

// Upstream is an MCP server of somebody else, which the bridge offers beside our
// own tools: a program (Command) or an address (URL).
type Upstream struct {
	ID          string            `json:"id"`
	Command     string            `json:"command,omitempty"`
	Args        []string          `json:"args,omitempty"`
	Env         map[string]string `json:"env,omitempty"`     // values may be references, see [Reference]
	URL         string            `json:"url,omitempty"`     // of streamable HTTP
	Headers     map[string]string `json:"headers,omitempty"` // values may be references
	Tools       []string          `json:"tools,omitempty"`   // the only ones offered; nil means all
	PassThrough bool              `json:"passThrough,omitempty"`
	Timeout     time.Duration     `json:"timeout,omitempty"` // of silence, after which a call is given up; 0 means [UpstreamTimeout]
}

// How long an upstream may say nothing about a call: unless it is set, and at most.
const (
	UpstreamTimeout    = time.Minute
	MaxUpstreamTimeout = time.Hour
)

// Ids and names of upstreams stand in names of tools, which agents let hold
// these characters only.
var (
	upstreamID     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$`) })
	variableName   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })
	headerName     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9-]+$`) })
	reservedHeader = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(host|content-length|content-type|accept|connection|transfer-encoding|mcp-.*|last-event-id)$`)
	})
)

// Validate reports what makes u unusable, but for an address that is none: the
// language does without net/url, see docs/adr/0025. It repeats no value of Env or
// Headers.
func (u Upstream) Validate() error {
	switch {
	case !upstreamID().MatchString(u.ID):
		return InvalidArgument.Errorf("id %q must be 1 to 32 of a-z, 0-9 and -, and begin and end without -", u.ID)
	case (u.Command == "") == (u.URL == ""):
		return InvalidArgument.Errorf("%s needs either a command or a url", u.ID)
	case u.Command == "" && (u.Args != nil || u.Env != nil):
		return InvalidArgument.Errorf("%s has args or env, which only a command takes", u.ID)
	case u.URL == "" && u.Headers != nil:
		return InvalidArgument.Errorf("%s has headers, which only a url takes", u.ID)
	case u.Timeout < 0 || u.Timeout > MaxUpstreamTimeout:
		return InvalidArgument.Errorf("%s: timeout must be at most %v", u.ID, MaxUpstreamTimeout)
	case strings.ContainsRune(strings.Join(append(u.Args, u.Command), ""), 0):
		return InvalidArgument.Errorf("%s: the command holds a NUL", u.ID)
	}
	for name := range u.Env {
		if !variableName().MatchString(name) {
			return InvalidArgument.Errorf("%s: %q is no name of a variable", u.ID, name)
		}
	}
	return u.validateHeaders()
}

func (u Upstream) validateHeaders() error {
	if u.URL == "" {
		return nil
	}
	for name, value := range u.Headers {
		if !headerName().MatchString(name) || reservedHeader().MatchString(name) {
			return InvalidArgument.Errorf("%s: the header %q cannot be set", u.ID, name)
		}
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
			return InvalidArgument.Errorf("%s: the header %q must be printable ASCII", u.ID, name)
		}
	}
	return nil
}

// Reference splits a value that refers to a secret kept elsewhere into what
// stands before it, such as "Bearer ", and the reference, such as env:NAME or
// keychain:ID. The reference is empty if the value is itself.
func Reference(value string) (before, reference string) {
	i := strings.LastIndexByte(value, ' ') + 1
	if strings.HasPrefix(value[i:], "env:") || strings.HasPrefix(value[i:], "keychain:") {
		return value[:i], value[i:]
	}
	return value, ""
}

// UpstreamStatus is how an [Upstream] is.
type UpstreamStatus struct {
	ID        string      `json:"id"`
	Name      string      `json:"name" doc:"What the server calls itself; the id until it has answered"`
	Transport string      `json:"transport" enum:"stdio,http"`
	Status    HealthState `json:"status" enum:"starting,ok,unavailable,failed"`
	Reason    string      `json:"reason,omitempty" doc:"Why it is not ok"`
	Tools     []string    `json:"tools" doc:"As agents see them"`
}

// Capabilities is what Ambry is connected with.
type Capabilities struct {
	Toolkits  []string         `json:"toolkits" doc:"Ids of the MCP servers that answer"`
	Channels  []ChannelStatus  `json:"channels"`
	Upstreams []UpstreamStatus `json:"mcpUpstreams"`
}
