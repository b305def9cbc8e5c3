package crush

import (
	"path/filepath"

	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/edit"
)

// lesson is what Crush takes: skills, MCP servers and commands. It has hooks
// before tools only, which are of no use here.
func lesson() agent.Lesson {
	return agent.Lesson{
		Homes: func(h agent.Home) []string { return []string{dir(h), data(h)} },
		Skill: func(t agent.Teaching) []agent.Edit {
			return []agent.Edit{t.SkillIn(skills(t.Home))}
		},
		MCP: func(t agent.Teaching) []agent.Edit {
			server := agent.Object("type", "stdio", "command", t.Program, "args", t.Args("mcp", "--agent", id))
			return []agent.Edit{agent.Entry(edit.JSON, filepath.Join(dir(t.Home), "crush.json"), server, "mcp", "ambry")}
		},
		Command: func(t agent.Teaching) []agent.Edit {
			return []agent.Edit{t.ResumeIn("", dir(t.Home), "commands", "ambry-resume.md")}
		},
		Notes: []string{"Start Crush anew."},
	}
}

func dir(h agent.Home) string {
	if dir := h.Env("CRUSH_GLOBAL_CONFIG"); filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return filepath.Join(h.Config(), "crush")
}

func skills(h agent.Home) string {
	if dir := h.Env("CRUSH_SKILLS_DIR"); filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return filepath.Join(dir(h), "skills")
}

// data returns the directory in which it keeps what it knows of projects.
func data(h agent.Home) string {
	return filepath.Join(h.DirOf("XDG_DATA_HOME", ".local", "share"), "crush")
}
