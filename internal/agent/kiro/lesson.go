package kiro

import (
	"path/filepath"

	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/edit"
)

// lesson is what Kiro takes: skills, MCP servers and prompts. Its hooks belong
// to a project or to an agent that the person has made, not to all.
func lesson() agent.Lesson {
	return agent.Lesson{
		Homes: func(h agent.Home) []string { return []string{dir(h)} },
		Skill: func(t agent.Teaching) []agent.Edit { return []agent.Edit{t.SkillIn(dir(t.Home), "skills")} },
		MCP: func(t agent.Teaching) []agent.Edit {
			server := t.Server(id, "disabled", edit.Default{Value: false})
			return []agent.Edit{agent.Entry(edit.JSON, filepath.Join(dir(t.Home), "settings", "mcp.json"), server, "mcpServers", "ambry")}
		},
		Command: func(t agent.Teaching) []agent.Edit {
			return []agent.Edit{t.ResumeIn("", dir(t.Home), "prompts", "ambry-resume.md")}
		},
	}
}

func dir(h agent.Home) string { return h.DirOf("KIRO_HOME", ".kiro") }
