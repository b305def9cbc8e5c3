package vscode

import (
	"path/filepath"

	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/edit"
)

// lesson is what the chat of VS Code takes: skills, which it reads where Copilot
// CLI has them, MCP servers and prompts. It also runs the hooks of Copilot CLI;
// those of its own are a preview yet.
func lesson() agent.Lesson {
	return agent.Lesson{
		Homes: func(h agent.Home) []string { return []string{filepath.Join(h.Roaming(), "Code")} },
		Skill: func(t agent.Teaching) []agent.Edit {
			return []agent.Edit{t.SkillIn(t.Home.DirOf("COPILOT_HOME", ".copilot"), "skills")}
		},
		MCP: func(t agent.Teaching) []agent.Edit {
			server := agent.Object("type", "stdio", "command", t.Program, "args", t.Args("mcp", "--agent", id))
			return []agent.Edit{agent.Entry(edit.JSON, filepath.Join(user(t.Home), "mcp.json"), server, "servers", "ambry")}
		},
		Command: func(t agent.Teaching) []agent.Edit {
			e := t.ResumeIn("agent: agent", user(t.Home), "prompts", "ambry-resume.prompt.md")
			return []agent.Edit{e}
		},
		Notes: []string{"VS Code asks whether it may start the MCP server when the chat first wants it."},
	}
}

// user returns the directory of what a person sets.
func user(h agent.Home) string { return filepath.Join(h.Roaming(), "Code", "User") }
