package qwen

import (
	"path/filepath"
	"strings"

	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/edit"
)

// lesson is what Qwen Code takes: skills, a file of instructions, commands, and
// in one file MCP servers and hooks, whose events are named as those of Claude
// Code.
func lesson() agent.Lesson {
	return agent.Lesson{
		Homes: func(h agent.Home) []string { return []string{dir(h)} },
		Skill: func(t agent.Teaching) []agent.Edit {
			return []agent.Edit{t.SkillIn(dir(t.Home), "skills"), agent.Paragraph(filepath.Join(dir(t.Home), "QWEN.md"), t.Note)}
		},
		MCP: func(t agent.Teaching) []agent.Edit {
			server := t.Server(id)
			return []agent.Edit{agent.Entry(edit.JSON, settings(t.Home), server, "mcpServers", "ambry")}
		},
		Hooks: func(t agent.Teaching) []agent.Edit {
			return t.ClaudeHooks(settings(t.Home), id, 10_000, "SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
		},
		Command: func(t agent.Teaching) []agent.Edit {
			e := t.ResumeIn("", dir(t.Home), "commands", "ambry-resume.md")
			e.Text = strings.ReplaceAll(e.Text, "$ARGUMENTS", "{{args}}")
			return []agent.Edit{e}
		},
		Notes: []string{"Qwen Code reads its settings at the start; begin a new session."},
	}
}

func dir(h agent.Home) string { return h.DirOf("QWEN_HOME", ".qwen") }

func settings(h agent.Home) string { return filepath.Join(dir(h), "settings.json") }
