package goose

import (
	"path/filepath"

	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/edit"
)

// lesson is what Goose takes: skills, a file of hints, and MCP servers, which it
// calls extensions.
func lesson() agent.Lesson {
	return agent.Lesson{
		Homes: func(h agent.Home) []string { return []string{dir(h)} },
		Skill: func(t agent.Teaching) []agent.Edit {
			return []agent.Edit{t.SkillIn(dir(t.Home), "skills"), agent.Paragraph(filepath.Join(dir(t.Home), ".goosehints"), t.Note)}
		},
		MCP: func(t agent.Teaching) []agent.Edit {
			server := agent.Object(
				"enabled", edit.Default{Value: true}, "type", "stdio", "name", "ambry", "description", "Memory across coding agents",
				"cmd", t.Program, "args", t.Args("mcp", "--agent", id), "envs", edit.Default{Value: agent.Object()}, "timeout", edit.Default{Value: 300},
			)
			return []agent.Edit{agent.Entry(edit.YAML, filepath.Join(dir(t.Home), "config.yaml"), server, "extensions", "ambry")}
		},
		Notes: []string{"Goose reads its extensions at the start of a session."},
	}
}

// dir returns the directory of what a person sets.
func dir(h agent.Home) string {
	if root := h.Env("GOOSE_PATH_ROOT"); filepath.IsAbs(root) {
		return filepath.Join(root, "config")
	}
	if h.OS == "windows" {
		return filepath.Join(h.Roaming(), "Block", "goose", "config")
	}
	return filepath.Join(h.Config(), "goose")
}
