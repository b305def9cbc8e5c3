package ambry

import (
	"regexp"
	"strings"
	"sync"
	"time"
)

// AgentToken is what an agent proves with who it is. It opens the bridge and the
// memory, and nothing else.
type AgentToken struct {
	ID         string     `json:"id"`
	Agent      string     `json:"agent"`
	Token      string     `json:"token,omitempty" doc:"Only in the answer to its making; it cannot be shown again"`
	CreatedAt  time.Time  `json:"createdAt"`
	LastUsedAt *time.Time `json:"lastUsedAt,omitempty" doc:"To the hour"`
	RevokedAt  *time.Time `json:"revokedAt,omitempty"`
}

// AgentTokens are the tokens there are, the newest first.
type AgentTokens struct {
	Tokens []AgentToken `json:"tokens"`
}

// TokensRevoked says how many tokens are revoked now.
type TokensRevoked struct {
	OK      bool  `json:"ok"`
	Revoked int64 `json:"revoked"`
}

// NewAgentToken asks for a token.
type NewAgentToken struct {
	Agent string `json:"agent" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_.-]+$" patternDescription:"a name" doc:"Such as claude_code"`
}

// Access is something that was done with single memories or sessions.
type Access struct {
	Tool  string
	Agent string // who did it; "" is the person
	ID    string // of the memory or the session
	At    time.Time
	Took  time.Duration
	Err   error
}

// The tools that accesses are logged under; see [ToolSearch] for the others.
const (
	ToolGet     = "memory_get"
	ToolForget  = "memory_forget"
	ToolUpdate  = "memory_update"
	ToolSession = "session_read"
)

// AgentHeader is the header that says which agent asks. For one with a token of
// its own the service fills it in.
const AgentHeader = "x-app-agent"

// agentName is what an agent may be called.
var agentName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`) })

// maxSessionName is how long the name of a session may be, in bytes.
const maxSessionName = 128

// SessionName returns s if it can name a session, or a turn in one, as the
// service takes them; otherwise it is empty.
func SessionName(s string) string {
	if len(s) > maxSessionName || s == "." || s == ".." {
		return ""
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("_.:-", c) >= 0:
		default:
			return ""
		}
	}
	return s
}

// AgentName returns the name under which an agent is known here: agents write
// their own in several ways, such as "Claude Code" and "claude-code". It is empty
// if name is none.
func AgentName(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	name = strings.NewReplacer(" ", "_", "-", "_", "/", "_", "@", "").Replace(name)
	name = strings.TrimSuffix(name, "_mcp_client") // as in codex-mcp-client
	if !agentName().MatchString(name) {
		return ""
	}
	return name
}
