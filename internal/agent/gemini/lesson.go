package gemini

import (
	"path/filepath"
	"strings"

	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/edit"
)

// lesson is what Gemini CLI takes: skills, a file of instructions, commands, and
// in one file MCP servers and hooks.
func lesson() agent.Lesson {
	return agent.Lesson{
		Homes: func(h agent.Home) []string { return []string{dir(h)} },
		Skill: func(t agent.Teaching) []agent.Edit {
			return []agent.Edit{t.SkillIn(dir(t.Home), "skills"), agent.Paragraph(filepath.Join(dir(t.Home), "GEMINI.md"), t.Note)}
		},
		MCP: func(t agent.Teaching) []agent.Edit {
			server := t.Server(id)
			return []agent.Edit{agent.Entry(edit.JSON, settings(t.Home), server, "mcpServers", "ambry")}
		},
		Hooks: func(t agent.Teaching) []agent.Edit {
			return t.ClaudeHooks(settings(t.Home), id, 10_000, "SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd")
		},
		Command: func(t agent.Teaching) []agent.Edit {
			text := "# " + agent.Signature + ". \"ambry disconnect gemini_cli\" removes this file.\n" +
				"description = \"Pick up a task from an earlier session, with any agent\"\nprompt = '''\n" +
				strings.ReplaceAll(t.Resume, "$ARGUMENTS", "{{args}}") + "'''\n"
			return []agent.Edit{agent.File(filepath.Join(dir(t.Home), "commands", "ambry-resume.toml"), text)}
		},
		Notes: []string{"Gemini CLI reads its settings at the start; begin a new session."},
	}
}

func dir(h agent.Home) string { return filepath.Join(h.DirOf("GEMINI_CLI_HOME"), ".gemini") }

func settings(h agent.Home) string { return filepath.Join(dir(h), "settings.json") }
