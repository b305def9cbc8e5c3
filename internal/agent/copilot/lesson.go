package copilot

import (
	"path/filepath"

	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/edit"
)

// lesson is what Copilot CLI takes: skills, a file of instructions, MCP servers
// and hooks, for which it reads every file of a directory.
func lesson() agent.Lesson {
	return agent.Lesson{
		Homes: func(h agent.Home) []string { return []string{dir(h)} },
		Skill: func(t agent.Teaching) []agent.Edit {
			return []agent.Edit{t.SkillIn(dir(t.Home), "skills"), agent.Paragraph(filepath.Join(dir(t.Home), "copilot-instructions.md"), t.Note)}
		},
		MCP: func(t agent.Teaching) []agent.Edit {
			server := agent.Object("type", "local", "command", t.Program, "args", t.Args("mcp", "--agent", id), "tools", edit.Default{Value: []string{"*"}})
			return []agent.Edit{agent.Entry(edit.JSON, filepath.Join(dir(t.Home), "mcp-config.json"), server, "mcpServers", "ambry")}
		},
		Hooks: func(t agent.Teaching) []agent.Edit {
			file := filepath.Join(dir(t.Home), "hooks", "ambry.json")
			all := []agent.Edit{agent.Entry(edit.JSON, file, edit.Default{Value: 1}, "version")}
			for _, event := range []string{"sessionStart", "userPromptSubmitted", "agentStop", "sessionEnd"} {
				hook := agent.Object("type", "command", "bash", t.Hook(id, event), "powershell", "& "+t.Hook(id, event), "timeoutSec", 10)
				all = append(all, agent.ListItem(edit.JSON, file, hook, agent.HookMark(id, event), "hooks", event))
			}
			return all
		},
		Notes: []string{"Start Copilot CLI anew."},
	}
}

func dir(h agent.Home) string { return h.DirOf("COPILOT_HOME", ".copilot") }
