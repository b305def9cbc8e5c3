package opencode

import (
	_ "embed"
	"path/filepath"

	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/edit"
)

//go:embed plugin.js
var plugin string

// lesson is what OpenCode takes: skills, a file of instructions, MCP servers,
// commands, and a plug-in in the place of hooks.
func lesson() agent.Lesson {
	return agent.Lesson{
		Homes: func(h agent.Home) []string { return []string{config(h), data(h)} },
		Skill: func(t agent.Teaching) []agent.Edit {
			return []agent.Edit{t.SkillIn(config(t.Home), "skills"), agent.Paragraph(filepath.Join(config(t.Home), "AGENTS.md"), t.Note)}
		},
		MCP: func(t agent.Teaching) []agent.Edit {
			server := agent.Object("type", "local", "command", append([]string{t.Program}, t.Args("mcp", "--agent", id)...), "enabled", edit.Default{Value: true})
			return []agent.Edit{agent.Entry(edit.JSON, settings(t.Home), server, "mcp", "ambry")}
		},
		Hooks: func(t agent.Teaching) []agent.Edit {
			return []agent.Edit{agent.File(filepath.Join(config(t.Home), "plugins", "ambry.js"), t.Plugin(plugin, id))}
		},
		Command: func(t agent.Teaching) []agent.Edit {
			return []agent.Edit{t.ResumeIn("", config(t.Home), "commands", "ambry-resume.md")}
		},
		Notes: []string{"Start OpenCode anew."},
	}
}

// config returns the directory of what a person sets.
func config(h agent.Home) string {
	if dir := h.Env("OPENCODE_CONFIG_DIR"); filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return filepath.Join(h.Config(), "opencode")
}

// settings returns the file of settings: the one that is there, of the names that it
// may have.
func settings(h agent.Home) string {
	if named := h.Env("OPENCODE_CONFIG"); filepath.IsAbs(named) {
		return filepath.Clean(named)
	}
	return agent.FirstOf(filepath.Join(config(h), "opencode.json"), filepath.Join(config(h), "opencode.jsonc"))
}
