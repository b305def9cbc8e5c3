// Package all lists the agents that are built in. It holds nothing else.
package all

import (
	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/agent/claudecode"
	"ambry.dev/ambry/internal/agent/cline"
	"ambry.dev/ambry/internal/agent/codex"
	"ambry.dev/ambry/internal/agent/copilot"
	"ambry.dev/ambry/internal/agent/crush"
	"ambry.dev/ambry/internal/agent/cursor"
	"ambry.dev/ambry/internal/agent/gemini"
	"ambry.dev/ambry/internal/agent/goose"
	"ambry.dev/ambry/internal/agent/hermes"
	"ambry.dev/ambry/internal/agent/kimi"
	"ambry.dev/ambry/internal/agent/kiro"
	"ambry.dev/ambry/internal/agent/openclaw"
	"ambry.dev/ambry/internal/agent/opencode"
	"ambry.dev/ambry/internal/agent/qwen"
	"ambry.dev/ambry/internal/agent/vscode"
	"ambry.dev/ambry/internal/agent/windsurf"
	"ambry.dev/ambry/internal/agent/zed"
)

// Agents returns every agent, in the order in which people see them.
func Agents() []agent.Agent {
	return []agent.Agent{
		claudecode.Agent(),
		codex.Agent(),
		cursor.Agent(),
		opencode.Agent(),
		openclaw.Agent(),
		hermes.Agent(),
		gemini.Agent(),
		copilot.Agent(),
		vscode.Agent(),
		cline.Agent(),
		crush.Agent(),
		qwen.Agent(),
		kimi.Agent(),
		goose.Agent(),
		zed.Agent(),
		kiro.Agent(),
		windsurf.Agent(),
	}
}
