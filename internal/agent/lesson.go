package agent

import (
	_ "embed" // of call.js
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ambry.dev/ambry/internal/edit"
)

// Lesson is what there is to write into an agent's files so that it uses the
// memory, as data: nothing here touches a file. A nil field means that the agent
// has no such thing, or that we do not know it.
type Lesson struct {
	// Homes are the files and directories of which one is there where the agent
	// is installed.
	Homes func(h Home) []string

	Skill   func(t Teaching) []Edit // texts that say how to use the memory
	MCP     func(t Teaching) []Edit // the entry of our MCP server
	Hooks   func(t Teaching) []Edit // what calls us while it works
	Command func(t Teaching) []Edit // the command that picks up a task

	// Notes is what the person has to do afterwards, a sentence each.
	Notes []string
}

// Live is the edits for which the agent calls us: MCP, hooks and the command.
func (l Lesson) Live(t Teaching) (all []Edit) {
	for _, edits := range []func(Teaching) []Edit{l.MCP, l.Hooks, l.Command} {
		if edits != nil {
			all = append(all, edits(t)...)
		}
	}
	return all
}

// Form is how an edit changes a file.
type Form string

// The forms beside the formats of package edit.
const (
	Whole Form = "whole" // the file is ours
	Block Form = "block" // a block of the file is ours, see [edit.Markdown]
)

// Edit is a change to one file. It says what has to be there, not how to get
// there: made twice it is made once.
type Edit struct {
	Path string // absolute
	Form Form   // Whole, Block or a format of package edit

	Text string      // of Whole and Block
	Mode fs.FileMode // of a file of ours; 0 means 0600

	At    edit.Place // of the formats
	Value any        // see [edit.Object]
}

// Signature stands in each file that is ours as a whole.
const Signature = "Written by Ambry"

// File is a file of ours. The text holds [Signature].
func File(path, text string) Edit { return Edit{Path: path, Form: Whole, Text: text} }

// Paragraph is a block of ours in a file of Markdown.
func Paragraph(path, text string) Edit { return Edit{Path: path, Form: Block, Text: text} }

// Entry is a value that is ours at a path of keys.
func Entry(f edit.Format, file string, value any, path ...string) Edit {
	return Edit{Path: file, Form: Form(f), At: edit.Place{Path: path}, Value: value}
}

// ListItem is an item that is ours in the list at a path of keys. It is the one that
// has the texts mine in it.
func ListItem(f edit.Format, file string, value any, mine []string, path ...string) Edit {
	return Edit{Path: file, Form: Form(f), At: edit.Place{Path: path, Mine: mine}, Value: value}
}

// Object is an object of the given keys and values, in turn.
func Object(pairs ...any) edit.Object {
	var o edit.Object
	for i := 0; i+1 < len(pairs); i += 2 {
		o = append(o, edit.Field{Key: pairs[i].(string), Value: pairs[i+1]})
	}
	return o
}

// Teaching is what a lesson is made with.
type Teaching struct {
	Home    Home
	Program string   // path of our program, absolute
	Flags   []string // that lead it to our home, if that is not the usual one

	Skill  string // a SKILL.md
	Note   string // a paragraph for a file of instructions
	Resume string // what the command that picks up a task says; $ARGUMENTS stands for what is typed after it
}

// Args is what follows the program on a command line.
func (t Teaching) Args(args ...string) []string {
	return append(append([]string{}, t.Flags...), args...)
}

// Hook is the command line that tells us of an event, for a shell.
func (t Teaching) Hook(agentID, event string) string {
	words := append([]string{t.Program}, t.Args("hook", agentID, event)...)
	for i, word := range words {
		words[i] = Quote(word, t.Home.OS)
	}
	return strings.Join(words, " ")
}

// Quote writes a word for the shell of a system, as it is if no shell sees
// anything in it. On Windows that is cmd, PowerShell or, for Claude Code, Git
// Bash, which takes a backslash for an escape: paths have slashes, which all
// three understand.
func Quote(word, os string) string {
	if os == "windows" {
		word = strings.ReplaceAll(word, `\`, "/")
	}
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%", r)
	}
	switch {
	case word != "" && strings.IndexFunc(word, func(r rune) bool { return !safe(r) }) < 0:
		return word
	case os == "windows":
		return `"` + word + `"`
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// HookMark are the texts by which a hook of ours is known among others.
func HookMark(agentID, event string) []string {
	return []string{" hook " + agentID + " " + event}
}

// Ours reports whether an entry that is called ambry is of us, by the texts in
// it: it runs a program of that name, or any with the word mcp.
func Ours(texts []string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return text == "mcp" || strings.Contains(text, "ambry") })
}

// SkillName is the name of our skill, and of its directory.
const SkillName = "ambry-memory"

// SkillIn is our skill in a directory of skills.
func (t Teaching) SkillIn(dir ...string) Edit {
	return File(filepath.Join(append(dir, SkillName, "SKILL.md")...), t.Skill)
}

// ClaudeHooks are hooks as Claude Code has them in a file of JSON, and those that
// do as it does: an item of the list of each event, with a list of commands. The
// timeout is in the agent's own unit.
func (t Teaching) ClaudeHooks(file, agentID string, timeout int, events ...string) []Edit {
	all := make([]Edit, len(events))
	for i, event := range events {
		hook := Object("hooks", []any{Object("type", "command", "command", t.Hook(agentID, event), "timeout", timeout)})
		all[i] = ListItem(edit.JSON, file, hook, HookMark(agentID, event), "hooks", event)
	}
	return all
}

// Server is our MCP server as most agents name one, with more keys and values if
// the agent wants them.
func (t Teaching) Server(agentID string, more ...any) edit.Object {
	return append(Object("command", t.Program, "args", t.Args("mcp", "--agent", agentID)), Object(more...)...)
}

// ResumeIn is the command that picks up a task, as a file of Markdown. More is
// a line for its front matter, if the agent has one.
func (t Teaching) ResumeIn(more string, file ...string) Edit {
	head := "---\ndescription: Pick up a task from an earlier session, with any agent\n"
	if more != "" {
		head += more + "\n"
	}
	return File(filepath.Join(file...), head+"---\n<!-- "+Signature+". \"ambry disconnect\" removes this file. -->\n\n"+t.Resume)
}

// ResumeSkill is that command as a skill, for agents that have no other
// commands.
func (t Teaching) ResumeSkill(dir ...string) Edit {
	file := append(dir, "ambry-resume", "SKILL.md")
	e := t.ResumeIn("name: ambry-resume", file...)
	e.Text = strings.ReplaceAll(e.Text, "$ARGUMENTS", "what was said beside the name of this skill")
	return e
}

//go:embed call.js
var callJS string

// Plugin is a plug-in in JavaScript, for agents whose hooks run no program: where
// it says /* call */, there is a function call(event, said, patience) that runs
// ours.
func (t Teaching) Plugin(text, agentID string) string {
	words := append([]string{t.Program}, t.Args("hook", agentID)...)
	for i, word := range words {
		words[i] = strconv.Quote(word)
	}
	call := strings.Replace(callJS, "/* command */", strings.Join(words, ", "), 1)
	return strings.Replace(text, "/* call */\n", call, 1)
}

// FirstOf returns the first of some files that is there, or else the first.
func FirstOf(paths ...string) string {
	for _, path := range paths {
		if _, err := os.Lstat(path); err == nil {
			return path
		}
	}
	return paths[0]
}

// DirOf returns the directory that an environment variable names, if it is
// absolute, else the one below the person's home.
func (h Home) DirOf(variable string, below ...string) string {
	if dir := h.Env(variable); filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return filepath.Join(append([]string{h.Dir}, below...)...)
}

// Config is the directory in which programs keep their settings: that of the
// XDG rules, also on macOS.
func (h Home) Config() string { return h.DirOf("XDG_CONFIG_HOME", ".config") }

// Roaming is the directory of the settings of desktop programs: %APPDATA%,
// Application Support or that of the XDG rules.
func (h Home) Roaming() string {
	switch h.OS {
	case "windows":
		return h.DirOf("APPDATA", "AppData", "Roaming")
	case "darwin":
		return filepath.Join(h.Dir, "Library", "Application Support")
	}
	return h.Config()
}
