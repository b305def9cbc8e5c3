package claudecode

import (
	"path/filepath"
	"strings"

	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/edit"
)

// lesson is what Claude Code takes: skills, a file of instructions, hooks,
// commands, and MCP servers, which are in another file than the rest.
func lesson() agent.Lesson {
	return agent.Lesson{
		Homes: func(h agent.Home) []string {
			dir, state := settings(h)
			return []string{dir, state}
		},
		Skill: func(t agent.Teaching) []agent.Edit {
			dir, _ := settings(t.Home)
			return []agent.Edit{t.SkillIn(dir, "skills"), agent.Paragraph(filepath.Join(dir, "CLAUDE.md"), t.Note)}
		},
		MCP: func(t agent.Teaching) []agent.Edit {
			_, state := settings(t.Home)
			server := agent.Object("type", "stdio", "command", t.Program, "args", t.Args("mcp", "--agent", id), "env", agent.Object())
			return []agent.Edit{agent.Entry(edit.JSON, state, server, "mcpServers", "ambry")}
		},
		Hooks: func(t agent.Teaching) []agent.Edit {
			dir, _ := settings(t.Home)
			return t.ClaudeHooks(filepath.Join(dir, "settings.json"), id, 10, "SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
		},
		Command: func(t agent.Teaching) []agent.Edit {
			dir, _ := settings(t.Home)
			return []agent.Edit{t.ResumeIn("argument-hint: \"[what to go on with]\"", dir, "commands", "ambry-resume.md")}
		},
		Notes: []string{"Start Claude Code anew, so that it sees the MCP server."},
	}
}

// settings returns the directory of what a person sets, and the file in which
// Claude Code keeps its state.
func settings(h agent.Home) (dir, state string) {
	for _, dir := range strings.Split(h.Env("CLAUDE_CONFIG_DIR"), ",") {
		if dir = strings.TrimSpace(dir); filepath.IsAbs(dir) {
			return filepath.Clean(dir), filepath.Join(dir, ".claude.json")
		}
	}
	return filepath.Join(h.Dir, ".claude"), filepath.Join(h.Dir, ".claude.json")
}
