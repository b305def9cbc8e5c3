package cline

import (
	"os"
	"path/filepath"

	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/edit"
)

// lesson is what Cline takes, the extension of VS Code and the program alike:
// skills, MCP servers, hooks, which are programs named for their event, and
// workflows.
func lesson() agent.Lesson {
	return agent.Lesson{
		Homes: func(h agent.Home) []string { return []string{dir(h), extension(h)} },
		Skill: func(t agent.Teaching) []agent.Edit { return []agent.Edit{t.SkillIn(dir(t.Home), "skills")} },
		MCP: func(t agent.Teaching) (all []agent.Edit) {
			server := t.Server(id, "disabled", edit.Default{Value: false})
			for _, file := range servers(t.Home) {
				all = append(all, agent.Entry(edit.JSON, file, server, "mcpServers", "ambry"))
			}
			return all
		},
		Hooks: func(t agent.Teaching) (all []agent.Edit) {
			if t.Home.OS == "windows" { // there it has no hooks
				return nil
			}
			for _, event := range []string{"UserPromptSubmit", "TaskComplete", "TaskCancel", "PreCompact"} {
				e := agent.File(filepath.Join(documents(t.Home), "Hooks", event), "#!/bin/sh\n# "+agent.Signature+". \"ambry disconnect cline\" removes this file.\nexec "+t.Hook(id, event)+"\n")
				e.Mode = 0o700
				all = append(all, e)
			}
			return all
		},
		Command: func(t agent.Teaching) []agent.Edit {
			return []agent.Edit{t.ResumeIn("", documents(t.Home), "Workflows", "ambry-resume.md")}
		},
		Notes: []string{"Hooks have to be switched on in the settings of Cline."},
	}
}

func dir(h agent.Home) string { return filepath.Join(h.Dir, ".cline") }

// extension returns the directory of the extension's data.
func extension(h agent.Home) string {
	return filepath.Join(h.Roaming(), "Code", "User", "globalStorage", "saoudrizwan.claude-dev")
}

func documents(h agent.Home) string { return filepath.Join(h.Dir, "Documents", "Cline") }

// servers returns the files that name MCP servers: that of the extension and
// that of the program, as far as they are here.
func servers(h agent.Home) (files []string) {
	for _, dir := range []string{extension(h), filepath.Join(dir(h), "data")} {
		if _, err := os.Stat(dir); err == nil {
			files = append(files, filepath.Join(dir, "settings", "cline_mcp_settings.json"))
		}
	}
	if len(files) == 0 {
		files = append(files, filepath.Join(dir(h), "data", "settings", "cline_mcp_settings.json"))
	}
	return files
}
