package hermes

import (
	"path/filepath"

	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/edit"
)

// lesson is what Hermes takes: skills, and in one file MCP servers and hooks. A
// skill is also a command.
func lesson() agent.Lesson {
	return agent.Lesson{
		Homes: func(h agent.Home) []string { return []string{dir(h)} },
		Skill: func(t agent.Teaching) []agent.Edit {
			return []agent.Edit{t.SkillIn(dir(t.Home), "skills", "memory")}
		},
		MCP: func(t agent.Teaching) []agent.Edit {
			server := t.Server(id, "timeout", edit.Default{Value: 60})
			return []agent.Edit{agent.Entry(edit.YAML, settings(t.Home), server, "mcp_servers", "ambry")}
		},
		Hooks: func(t agent.Teaching) (all []agent.Edit) {
			for _, event := range []string{"on_session_start", "pre_llm_call", "post_llm_call", "on_session_end"} {
				hook := agent.Object("command", t.Hook(id, event), "timeout", 10)
				all = append(all, agent.ListItem(edit.YAML, settings(t.Home), hook, agent.HookMark(id, event), "hooks", event))
			}
			return all
		},
		Command: func(t agent.Teaching) []agent.Edit {
			return []agent.Edit{t.ResumeSkill(dir(t.Home), "skills", "memory")}
		},
		Notes: []string{"Hermes asks once for each hook whether it may run; a gateway has to be told with hooks_auto_accept."},
	}
}

func dir(h agent.Home) string {
	if h.OS == "windows" && h.Env("HERMES_HOME") == "" {
		return filepath.Join(h.DirOf("LOCALAPPDATA", "AppData", "Local"), "hermes")
	}
	return h.DirOf("HERMES_HOME", ".hermes")
}

func settings(h agent.Home) string { return filepath.Join(dir(h), "config.yaml") }
