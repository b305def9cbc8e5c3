package codex

import (
	"path/filepath"

	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/edit"
)

// lesson is what Codex takes: skills, a file of instructions, MCP servers,
// hooks and prompts.
func lesson() agent.Lesson {
	return agent.Lesson{
		Homes: func(h agent.Home) []string { return []string{settings(h)} },
		Skill: func(t agent.Teaching) []agent.Edit {
			return []agent.Edit{t.SkillIn(settings(t.Home), "skills"), agent.Paragraph(filepath.Join(settings(t.Home), "AGENTS.md"), t.Note)}
		},
		MCP: func(t agent.Teaching) []agent.Edit {
			server := t.Server(id)
			return []agent.Edit{agent.Entry(edit.TOML, filepath.Join(settings(t.Home), "config.toml"), server, "mcp_servers", "ambry")}
		},
		Hooks: func(t agent.Teaching) []agent.Edit {
			// Hooks are on by default now; earlier versions ask for this.
			on := agent.Entry(edit.TOML, filepath.Join(settings(t.Home), "config.toml"), edit.Default{Value: true}, "features", "hooks")
			return append([]agent.Edit{on}, t.ClaudeHooks(filepath.Join(settings(t.Home), "hooks.json"), id, 10, "SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")...)
		},
		Command: func(t agent.Teaching) []agent.Edit {
			return []agent.Edit{t.ResumeIn("argument-hint: \"[what to go on with]\"", settings(t.Home), "prompts", "ambry-resume.md")}
		},
		Notes: []string{"Codex asks at its next start whether it may run the new hooks; they do nothing until you agree."},
	}
}

func settings(h agent.Home) string { return h.DirOf("CODEX_HOME", ".codex") }
