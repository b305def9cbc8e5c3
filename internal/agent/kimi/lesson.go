package kimi

import (
	"os"
	"path/filepath"

	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/edit"
)

// lesson is what Kimi takes: skills, MCP servers and hooks. A skill is also a
// command.
func lesson() agent.Lesson {
	return agent.Lesson{
		Homes: func(h agent.Home) []string { return []string{dir(h)} },
		Skill: func(t agent.Teaching) []agent.Edit { return []agent.Edit{t.SkillIn(dir(t.Home), "skills")} },
		MCP: func(t agent.Teaching) []agent.Edit {
			server := t.Server(id)
			return []agent.Edit{agent.Entry(edit.JSON, filepath.Join(dir(t.Home), "mcp.json"), server, "mcpServers", "ambry")}
		},
		Hooks: func(t agent.Teaching) (all []agent.Edit) {
			for _, event := range []string{"SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"} {
				hook := agent.Object("event", event, "command", t.Hook(id, event), "timeout", 10)
				all = append(all, agent.ListItem(edit.TOML, filepath.Join(dir(t.Home), "config.toml"), hook, agent.HookMark(id, event), "hooks"))
			}
			return all
		},
		Command: func(t agent.Teaching) []agent.Edit { return []agent.Edit{t.ResumeSkill(dir(t.Home), "skills")} },
		Notes:   []string{"Start Kimi anew."},
	}
}

// dir returns the directory of Kimi Code, or that of kimi-cli if only that is
// here.
func dir(h agent.Home) string {
	code, legacy := h.DirOf("KIMI_CODE_HOME", ".kimi-code"), h.DirOf("KIMI_SHARE_DIR", ".kimi")
	if _, err := os.Stat(code); err == nil {
		return code
	}
	if _, err := os.Stat(legacy); err == nil {
		return legacy
	}
	return code
}
