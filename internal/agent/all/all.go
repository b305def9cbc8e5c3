// Package all lists the agents that are built in. It holds nothing else.
package all

import (
	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/agent/claudecode"
	"ambry.dev/ambry/internal/agent/codex"
	"ambry.dev/ambry/internal/agent/opencode"
)

// Agents returns every agent, in the order in which people see them.
func Agents() []agent.Agent {
	return []agent.Agent{
		claudecode.Agent(),
		codex.Agent(),
		opencode.Agent(),
	}
}
