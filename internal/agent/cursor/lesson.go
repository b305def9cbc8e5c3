package cursor

import (
	"path/filepath"

	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/edit"
)

// lesson is what Cursor takes: skills, MCP servers, hooks and commands. Its
// rules for all projects are not in a file.
func lesson() agent.Lesson {
	return agent.Lesson{
		Homes: func(h agent.Home) []string { return []string{dir(h)} },
		Skill: func(t agent.Teaching) []agent.Edit { return []agent.Edit{t.SkillIn(dir(t.Home), "skills")} },
		MCP: func(t agent.Teaching) []agent.Edit {
			server := t.Server(id)
			return []agent.Edit{agent.Entry(edit.JSON, filepath.Join(dir(t.Home), "mcp.json"), server, "mcpServers", "ambry")}
		},
		Hooks: func(t agent.Teaching) []agent.Edit {
			file := filepath.Join(dir(t.Home), "hooks.json")
			all := []agent.Edit{agent.Entry(edit.JSON, file, edit.Default{Value: 1}, "version")}
			for _, event := range []string{"sessionStart", "beforeSubmitPrompt", "afterAgentResponse", "stop", "sessionEnd"} {
				hook := agent.Object("command", t.Hook(id, event), "timeout", 10)
				all = append(all, agent.ListItem(edit.JSON, file, hook, agent.HookMark(id, event), "hooks", event))
			}
			return all
		},
		Command: func(t agent.Teaching) []agent.Edit {
			return []agent.Edit{t.ResumeIn("", dir(t.Home), "commands", "ambry-resume.md")}
		},
		Notes: []string{"Start Cursor anew, and see in its settings that the MCP server is switched on."},
	}
}

// dir returns the directory of what a person sets.
func dir(h agent.Home) string { return h.DirOf("CURSOR_CONFIG_DIR", ".cursor") }
