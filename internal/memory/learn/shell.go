package learn

import (
	"encoding/json"
	"path"
	"strings"

	"ambry.dev/ambry"
)

// call is a use of a tool that runs commands or changes files.
type call struct {
	ambry.ToolCall
	nth     int    // place of its message in the turn
	command string // of a shell
	file    string // that it changes
}

// shells are tools that run commands; editors change files. In lower case.
var (
	shells = map[string]bool{
		"bash": true, "shell": true, "shell_command": true, "exec_command": true, "local_shell": true, "local_shell_call": true, "run_terminal_cmd": true, "run_terminal_command": true,
		"run_shell_command": true, "terminal": true, "execute_command": true, "container.exec": true, "run_command": true, "unified_exec": true, "runcommands": true, "execute": true, "run_in_terminal": true,
	}
	editors = map[string]bool{
		"edit": true, "write": true, "multiedit": true, "apply_patch": true, "notebookedit": true, "str_replace_editor": true, "str_replace_based_edit_tool": true, "edit_file": true, "write_file": true, "replace": true,
		"write_to_file": true, "replace_in_file": true, "patch": true, "search_replace": true, "create_file": true, "apply_diff": true, "editfile": true, "edit_file_v2": true, "update_file": true, "insert_edit_into_file": true,
	}
)

func newCall(c ambry.ToolCall, nth int) call {
	out := call{ToolCall: c, nth: nth}
	switch name := strings.ToLower(c.Name); {
	case shells[name]:
		out.command = commandIn(c.Input)
		if strings.HasPrefix(out.command, "apply_patch") {
			out.file, out.command = patched(out.command), ""
		}
	case editors[name]:
		out.file = fileIn(c.Input)
	}
	return out
}

// commandIn returns the command line of a shell tool's input.
func commandIn(input string) string {
	input = strings.TrimSpace(input)
	if !strings.HasPrefix(input, "{") {
		return input
	}
	var in struct {
		Command json.RawMessage `json:"command"`
		Cmd     json.RawMessage `json:"cmd"`
		Script  json.RawMessage `json:"script"`
	}
	if json.Unmarshal([]byte(input), &in) != nil {
		return ""
	}
	for _, raw := range []json.RawMessage{in.Command, in.Cmd, in.Script} {
		var line string
		if len(raw) > 0 && json.Unmarshal(raw, &line) == nil {
			return strings.TrimSpace(line)
		}
		var args []string
		if len(raw) > 0 && json.Unmarshal(raw, &args) == nil && len(args) > 0 {
			if n := len(args); n >= 3 && (args[n-2] == "-lc" || args[n-2] == "-c") {
				return strings.TrimSpace(args[n-1])
			}
			return strings.Join(args, " ")
		}
	}
	return ""
}

var patchFile = re(`\*\*\* (?:Update|Add|Delete) File: (\S+)`)

// fileIn returns the path that an editor's input names.
func fileIn(input string) string {
	var in map[string]json.RawMessage
	if json.Unmarshal([]byte(input), &in) != nil {
		return patched(input)
	}
	for _, name := range []string{"file_path", "filePath", "path", "target_file", "notebook_path", "filename"} {
		var file string
		if raw, ok := in[name]; ok && json.Unmarshal(raw, &file) == nil && file != "" {
			return file
		}
	}
	return patched(input)
}

func patched(text string) string {
	if m := patchFile.groups(text); m != nil {
		return m[1]
	}
	return ""
}

// ran reports how a command ended: well, badly, or that one cannot tell.
func (c *call) ran() (well, badly bool) {
	if c.command == "" || !c.Done {
		return false, false
	}
	bad := c.Failed || c.ExitCode != nil && *c.ExitCode != 0
	if bad {
		return false, true
	}
	doubt := strings.Contains(c.command, "|") || strings.Contains(c.command, "; ") || strings.HasSuffix(c.command, "&")
	if !doubt && c.ExitCode != nil {
		return true, false
	}
	// The end of a pipe says nothing of its beginning, and some agents tell no
	// exit codes; then the output has to look well.
	out := strings.ToLower(clip(c.Output, 8<<10))
	if hasAny(out, failures) {
		return false, false
	}
	return !doubt || hasAny(out, successes), false
}

var (
	failures  = []string{"fail", "error", "traceback", "panic:", "not found", "denied", "cannot", "exception", "fatal", "refused", "timed out", "exit code", "✗", "✘", "killed", "aborted", "no such"}
	successes = []string{"ok ", "pass", "success", "✓", "✔", " 0 errors", "finished", "built in", "compiled", "done"}
)

// line is a command in its plainest form.
type line struct {
	dir    string   // where it runs, if it says so
	fields []string // program and arguments
}

func (l line) String() string { return strings.Join(l.fields, " ") }

var (
	assignment = re(`^[A-Za-z_][A-Za-z0-9_]*=\S*$`)
	redirect   = re(`\s+(?:\d?>{1,2}\s*(?:&\d|/dev/null)|2>&1|&>\s*\S+|<\s*/dev/null)`)
	filterPipe = re(`\s*\|\s*(?:tail|head|grep|tee|cat|less|sed|awk|sort|wc|cut|uniq|xargs)\b[^|]*`)
)

// linesOf cuts a command line into what it runs in turn. Lines with other ways to
// go on, or with secrets, give nothing.
func linesOf(command string) []line {
	if len(command) > 300 || strings.ContainsAny(command, "\n$`<({") || strings.Contains(command, "||") || strings.Contains(command, "[REDACTED:") {
		return nil
	}
	command = filterPipe.without(redirect.without(command))
	if strings.ContainsAny(command, "|;>") || strings.HasSuffix(command, "&") {
		return nil
	}
	var out []line
	dir := ""
	for part := range strings.SplitSeq(command, "&&") {
		fields := strings.Fields(part)
		for len(fields) > 0 {
			switch f := fields[0]; {
			case f == "cd" && len(fields) == 2:
				dir, fields = fields[1], nil
				continue
			case assignment.in(f), f == "time", f == "sudo", f == "env", f == "command", f == "nice", f == "exec":
				fields = fields[1:]
				continue
			case f == "timeout" && len(fields) > 2:
				fields = fields[2:]
				continue
			}
			break
		}
		if len(fields) > 0 {
			out = append(out, line{dir, fields})
		}
	}
	return out
}

// where is the directory of a command, as seen from the project.
func (l line) where(project string) string {
	dir := strings.Trim(l.dir, `"'`)
	if dir == "" || dir == "." || dir == project {
		return ""
	}
	if rest, ok := strings.CutPrefix(dir, project+"/"); ok {
		return rest
	}
	if path.IsAbs(dir) || strings.HasPrefix(dir, "~") || strings.HasPrefix(dir, "..") {
		return "?"
	}
	return path.Clean(dir)
}
