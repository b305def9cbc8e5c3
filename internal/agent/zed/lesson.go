package zed

import (
	"path/filepath"

	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/edit"
)

// lesson is what Zed takes: a file of instructions and MCP servers. Its skills
// are in a directory that many other agents read too, which would list ours
// twice; so it gets none.
func lesson() agent.Lesson {
	return agent.Lesson{
		Homes: func(h agent.Home) []string { return []string{dir(h)} },
		Skill: func(t agent.Teaching) []agent.Edit {
			return []agent.Edit{agent.Paragraph(filepath.Join(dir(t.Home), "AGENTS.md"), t.Note)}
		},
		MCP: func(t agent.Teaching) []agent.Edit {
			server := agent.Object("source", edit.Default{Value: "custom"}, "command", t.Program, "args", t.Args("mcp", "--agent", id), "env", edit.Default{Value: agent.Object()})
			return []agent.Edit{agent.Entry(edit.JSON, filepath.Join(dir(t.Home), "settings.json"), server, "context_servers", "ambry")}
		},
	}
}

// dir returns the directory of what a person sets.
func dir(h agent.Home) string {
	if h.OS == "windows" {
		return filepath.Join(h.Roaming(), "Zed")
	}
	return filepath.Join(h.Config(), "zed")
}
