// Package claudecode knows Claude Code: where it keeps its history and what a
// record of it means. How the files look is told in docs/formats/claude-code.md.
// It does not read files by itself; package agent does.
package claudecode

import (
	"path/filepath"
	"strings"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
)

const id = "claude_code"

// Agent returns Claude Code: the command line program, its editor plug-ins and
// the local sessions of Claude Desktop, which all write the same files.
func Agent() agent.Agent {
	files := agent.Files[state]{
		Dirs:  dirs,
		Match: match,
		Enter: enter,
		Start: start,
		Parse: parse,
	}
	return agent.Agent{
		ID:      id,
		Name:    "Claude Code",
		History: files,
		Lesson:  lesson(),
		Elsewhere: func(dir string) agent.History {
			if projects := filepath.Join(dir, "projects"); agent.Inside(dir, projects) {
				dir = projects
			}
			return files.In(dir)
		},
	}
}

// dirs returns the directories that hold a directory for each project.
func dirs(h agent.Home) []string {
	var all []string
	for _, dir := range strings.Split(h.Env("CLAUDE_CONFIG_DIR"), ",") {
		if dir = strings.TrimSpace(dir); filepath.IsAbs(dir) {
			all = append(all, filepath.Join(dir, "projects"))
		}
	}
	if len(all) == 0 {
		all = append(all, filepath.Join(h.Dir, ".claude", "projects"))
	}
	all = append(all, filepath.Join(h.Dir, ".config", "claude", "projects"))
	for _, dir := range desktop(h) {
		all = append(all, filepath.Join(dir, "local-agent-mode-sessions"))
	}
	return all
}

// desktop returns the directories in which Claude Desktop keeps its data.
func desktop(h agent.Home) []string {
	switch h.OS {
	case "darwin":
		return []string{filepath.Join(h.Dir, "Library", "Application Support", "Claude")}
	case "windows":
		roaming, local := h.Env("APPDATA"), h.Env("LOCALAPPDATA")
		if roaming == "" {
			roaming = filepath.Join(h.Dir, "AppData", "Roaming")
		}
		if local == "" {
			local = filepath.Join(h.Dir, "AppData", "Local")
		}
		// From the Store it is installed in a directory whose name has a hash.
		packages, _ := filepath.Glob(filepath.Join(local, "Packages", "*Claude_*"))
		all := []string{filepath.Join(roaming, "Claude")}
		for _, dir := range packages {
			all = append(all, filepath.Join(dir, "LocalCache", "Roaming", "Claude"))
		}
		return all
	}
	config := h.Env("XDG_CONFIG_HOME")
	if config == "" {
		config = filepath.Join(h.Dir, ".config")
	}
	return []string{filepath.Join(config, "Claude")}
}

// match takes PROJECT/SESSION.jsonl and the files of its sub-agents:
// PROJECT/SESSION/subagents/**/agent-ID.jsonl, before 2.0 PROJECT/agent-ID.jsonl.
func match(rel string) bool {
	stem, ok := strings.CutSuffix(rel[strings.LastIndexByte(rel, '/')+1:], ".jsonl")
	if !ok || stem == "" || strings.Contains(stem, ".") { // a dot is in the names of copies that people make
		return false
	}
	parts := inProjects(rel)
	switch {
	case len(parts) == 2:
		return stem != "history" && !internal(stem)
	case len(parts) >= 4 && parts[2] == "subagents":
		return strings.HasPrefix(stem, "agent-") && !internal(stem)
	}
	return false
}

// internal reports whether a sub-agent served the program itself, to compact a
// conversation or to guess the next prompt: nobody asked it for anything.
func internal(stem string) bool {
	return strings.HasPrefix(stem, "agent-acompact-") || strings.Contains(stem, "prompt_suggestion-")
}

// enter keeps out of what is large and holds no history: stored outputs of
// tools, notes, and the files that a desktop session works on.
func enter(rel string) bool {
	slash := strings.LastIndexByte(rel, '/')
	switch rel[slash+1:] {
	case "tool-results", "memory", "outputs", "uploads", "node_modules", ".git":
		return slash < 0 // a project may be called anything
	}
	return true
}

// inProjects splits a path below the directory of projects, which in the data
// of Claude Desktop is somewhere further down.
func inProjects(rel string) []string {
	parts := strings.Split(rel, "/")
	for i := len(parts) - 2; i >= 0; i-- {
		if parts[i] == "projects" {
			return parts[i+1:]
		}
	}
	return parts
}

// start tells what the path says of a session.
func start(src agent.Source, b *agent.Builder) state {
	stem := strings.TrimSuffix(filepath.Base(src.Path), ".jsonl")
	b.Session = ambry.Session{ID: stem, Agent: id, Relation: ambry.Root}
	s := state{Session: stem}
	if agentID, ok := strings.CutPrefix(stem, "agent-"); ok {
		b.Session.Relation = ambry.Subagent
		s.Sub, s.Session = true, ""
		if file := mainFile(src.Path); file != "" {
			s.Met = true
			s.serves(strings.TrimSuffix(filepath.Base(file), ".jsonl"), agentID, b)
		}
		s.sidecar(src.Path, b)
	}
	return s
}

// mainFile returns the file of the session that a sub-agent's file is below, if
// it is.
func mainFile(path string) string {
	slashed := filepath.ToSlash(path)
	end := strings.LastIndex(slashed, "/subagents/")
	if end < 0 {
		return ""
	}
	return filepath.FromSlash(slashed[:end]) + ".jsonl"
}
