package windsurf

import (
	"path/filepath"

	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/edit"
)

// lesson is what Windsurf takes: skills, MCP servers, workflows, and hooks that
// tell us what was said but take no context.
func lesson() agent.Lesson {
	return agent.Lesson{
		Homes: func(h agent.Home) []string { return []string{dir(h)} },
		Skill: func(t agent.Teaching) []agent.Edit { return []agent.Edit{t.SkillIn(dir(t.Home), "skills")} },
		MCP: func(t agent.Teaching) []agent.Edit {
			server := t.Server(id)
			return []agent.Edit{agent.Entry(edit.JSON, filepath.Join(dir(t.Home), "mcp_config.json"), server, "mcpServers", "ambry")}
		},
		Hooks: func(t agent.Teaching) (all []agent.Edit) {
			for _, event := range []string{"pre_user_prompt", "post_cascade_response"} {
				hook := agent.Object("command", t.Hook(id, event), "show_output", false)
				all = append(all, agent.ListItem(edit.JSON, filepath.Join(dir(t.Home), "hooks.json"), hook, agent.HookMark(id, event), "hooks", event))
			}
			return all
		},
		Command: func(t agent.Teaching) []agent.Edit {
			return []agent.Edit{t.ResumeIn("", dir(t.Home), "global_workflows", "ambry-resume.md")}
		},
		Notes: []string{"Press Refresh in the list of MCP servers of Windsurf."},
	}
}

func dir(h agent.Home) string { return filepath.Join(h.Dir, ".codeium", "windsurf") }
