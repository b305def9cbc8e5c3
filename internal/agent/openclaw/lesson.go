package openclaw

import (
	_ "embed"
	"path/filepath"

	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/edit"
)

//go:embed plugin.js
var plugin string

// manifest is what OpenClaw wants to know of a plug-in before it loads it.
const manifest = `{
  "id": "ambry",
  "name": "Ambry",
  "description": "` + agent.Signature + `: recalls on a prompt, and keeps what was said. \"ambry disconnect openclaw\" removes it.",
  "configSchema": {"type": "object", "additionalProperties": false, "properties": {}}
}
`

// lesson is what OpenClaw takes: skills, MCP servers, and a plug-in in the place
// of hooks.
func lesson() agent.Lesson {
	return agent.Lesson{
		Homes: func(h agent.Home) []string { return []string{dir(h)} },
		Skill: func(t agent.Teaching) []agent.Edit { return []agent.Edit{t.SkillIn(dir(t.Home), "skills")} },
		MCP: func(t agent.Teaching) []agent.Edit {
			server := t.Server(id)
			return []agent.Edit{agent.Entry(edit.JSON5, settings(t.Home), server, "mcp", "servers", "ambry")}
		},
		Hooks: func(t agent.Teaching) []agent.Edit {
			at := filepath.Join(dir(t.Home), "extensions", "ambry")
			may := agent.Object("allowPromptInjection", true, "allowConversationAccess", true)
			return []agent.Edit{
				agent.File(filepath.Join(at, "openclaw.plugin.json"), manifest),
				agent.File(filepath.Join(at, "package.json"), packageFile),
				agent.File(filepath.Join(at, "index.js"), t.Plugin(plugin, id)),
				agent.Entry(edit.JSON5, settings(t.Home), agent.Object("enabled", edit.Default{Value: true}, "hooks", may), "plugins", "entries", "ambry"),
			}
		},
		Command: func(t agent.Teaching) []agent.Edit { return []agent.Edit{t.ResumeSkill(dir(t.Home), "skills")} },
		Notes: []string{
			"Restart the gateway: openclaw gateway restart.",
			"If your settings have a list plugins.allow, add \"ambry\" to it.",
		},
	}
}

const packageFile = `{
  "name": "ambry-openclaw",
  "description": "` + agent.Signature + `.",
  "version": "1.0.0",
  "private": true,
  "type": "module",
  "main": "index.js",
  "openclaw": {"extensions": ["./index.js"]}
}
`

func dir(h agent.Home) string { return h.DirOf("OPENCLAW_STATE_DIR", ".openclaw") }

// settings returns the file of settings.
func settings(h agent.Home) string {
	if file := h.Env("OPENCLAW_CONFIG_PATH"); filepath.IsAbs(file) {
		return filepath.Clean(file)
	}
	return filepath.Join(dir(h), "openclaw.json")
}
