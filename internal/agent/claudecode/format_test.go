package claudecode_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/agent/claudecode"
)

// delexw/claude-code-trace#85, anthropics/claude-code#56064, #69927
func TestHalfOfASurrogatePairKeepsTheLine(t *testing.T) {
	line := prompt("u1", clock(10, 0, 0), "cut HERE and on")
	a := readLines(t, strings.Replace(line, "HERE", `\ud83d`, 1))
	wantTranscript(t, a, "user: cut \ufffd and on\n")
}

// nanocoai/nanoclaw#889
func TestBinaryOutputOfAToolKeepsTheLine(t *testing.T) {
	line := prompt("u2", clock(10, 0, 2), results("t1", "ELF HERE"))
	a := readLines(t,
		prompt("u1", clock(10, 0, 0), "go"),
		reply("a1", clock(10, 0, 1), "m1", calls("t1", "Bash"), [3]int{}),
		strings.Replace(line, "HERE", `\udfff\ud800x\u0000\u0001`, 1))
	wantTranscript(t, a, "user: go\nassistant:  {Bash=ELF \ufffd\ufffdx\x00\x01}\n")
}

// phiat/claude-esp#4
func TestPictureOfManyMegabytesInALine(t *testing.T) {
	data := strings.Repeat("QUJD", 3<<20)
	a := readLines(t,
		prompt("u1", clock(10, 0, 0), []any{says("What is this?"), map[string]any{"type": "image", "source": map[string]any{"type": "base64", "media_type": "image/png", "data": data}}}),
		reply("a1", clock(10, 0, 1), "m1", says("A cat."), [3]int{}))
	wantTranscript(t, a, "user: What is this?\nassistant: A cat.\n")
	if a.skipped != 0 {
		t.Errorf("%d records skipped", a.skipped)
	}
	want := []ambry.Attached{{Kind: "image", Mime: "image/png", Bytes: 9 << 20}}
	if got := a.messages()[0].Files; !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// kenn-io/agentsview#1238, #1265
func TestTagsOfTheEditorAreNoPrompt(t *testing.T) {
	const tag = "<ide_opened_file>The user opened a.go.</ide_opened_file>"
	for _, tt := range []struct {
		name    string
		content any
		want    string
	}{
		{"alone", tag, ""},
		{"glued before a prompt", tag + "Why does it fail?", "user: Why does it fail?\n(user: " + tag + ")\n"},
		{"behind a prompt", "Why does it fail?\n\n<system-reminder>Be brief.</system-reminder>", "user: Why does it fail?\n(user: <system-reminder>Be brief.</system-reminder>)\n"},
		{"in a block of its own", []any{says("<ide_selection>x := 1\n</ide_selection>"), says("Why does it fail?")}, "user: Why does it fail?\n(user: <ide_selection>x := 1\n</ide_selection>)\n"},
		{"around it", tag + "<system-reminder>a</system-reminder> Why? <system-reminder>b</system-reminder>", "user: Why?\n(user: " + tag + "\n\n<system-reminder>a</system-reminder>\n\n<system-reminder>b</system-reminder>)\n"},
		{"not closed", "<system-reminder>It goes on", ""},
		{"a tag of the person", "<div>Why is it empty?</div>", "user: <div>Why is it empty?</div>\n"},
		{"a longer name", "<command-names>x</command-names>", "user: <command-names>x</command-names>\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := readLines(t, prompt("u1", clock(10, 0, 0), tt.content))
			wantTranscript(t, a, tt.want)
			if title := a.sessions[first].Title; strings.Contains(title, "<ide") || strings.Contains(title, "<system") {
				t.Errorf("the title is %q", title)
			}
		})
	}
}

// getagentseal/codeburn#217
func TestProjectIsTheDirectoryNotItsSlug(t *testing.T) {
	for _, tt := range []struct{ slug, cwd, want string }{
		{"-home-ana-my-app", "/home/ana/my.app", "/home/ana/my.app"},
		{"C--Users-ana-my-app", `c:\Users\ana\my_app`, `C:\Users\ana\my_app`},
		{"C--Users-ana-my-app", `C:/Users/ana/my_app/`, `C:\Users\ana\my_app`},
		{"-home-ana----", "/home/ana/项目", "/home/ana/项目"},
	} {
		a := readFiles(t, map[string]string{tt.slug + "/" + first + ".jsonl": prompt("u1", clock(10, 0, 0), "go", "cwd", tt.cwd)})
		if got := a.sessions[first]; got.Project != tt.want || got.Cwd != tt.cwd {
			t.Errorf("cwd %q, project %q; want %q, %q", got.Cwd, got.Project, tt.cwd, tt.want)
		}
	}
}

// entireio/cli, seen in its files: {…}{"type":"summary",…}
func TestTwoRecordsOnALine(t *testing.T) {
	a := readLines(t,
		prompt("u1", clock(10, 0, 0), "Look at the cart"),
		strings.TrimSuffix(reply("a1", clock(10, 0, 1), "m1", says("I did."), [3]int{}), "\n"),
		`{"type":"summary","summary":"A look at the cart","leafUuid":"a1"}`+"\n")
	wantTranscript(t, a, "user: Look at the cart\nassistant: I did.\n")
	if got := a.sessions[first].Title; got != "A look at the cart" {
		t.Errorf("the title is %q", got)
	}
}

// vshulcz/deja-vu#1128, junhoyeo/tokscale#346
func TestTimesOfManyKinds(t *testing.T) {
	want := at(t, clock(10, 0, 0))
	for _, stamp := range []any{"2026-08-01T10:00:00.000Z", "2026-08-01T12:00:00+02:00", "2026-08-01 10:00:00", "2026-08-01T10:00", 1785578400, 1785578400000, 1785578400.0, "1785578400"} {
		a := readLines(t, prompt("u1", clock(10, 0, 0), "go", "timestamp", stamp))
		if got := a.messages()[0].At; !got.Equal(want) {
			t.Errorf("%v: got %v", stamp, got)
		}
	}
	for _, stamp := range []any{"not a time", "9999-12-31T23:59:59Z", nil, -1, 0, map[string]any{}} {
		a := readLines(t, prompt("u1", clock(10, 0, 0), "go", "timestamp", stamp), prompt("u2", clock(10, 0, 0), "on", "timestamp", stamp))
		if got := a.messages(); len(got) != 2 || !got[0].At.IsZero() {
			t.Errorf("%v: got %+v", stamp, got)
		}
	}
}

// getagentseal/codeburn#846
func TestOtherRecordsBeforeTheFirstOfTheConversation(t *testing.T) {
	a := readLines(t, `{"type":"custom-title","customTitle":"mine","sessionId":"`+first+`"}`+"\n", `{"type":"mode","mode":"normal"}`+"\n", prompt("u1", clock(10, 0, 0), "go"))
	wantTranscript(t, a, "user: go\n")
	if got := a.sessions[first]; got.Title != "mine" || got.Cwd != "/home/ana/app" {
		t.Errorf("got %+v", got)
	}
}

// getagentseal/codeburn#441, #450, #453
func TestBadLinesCostNoOthers(t *testing.T) {
	bad := []string{"{", `{"type":`, "\x00\x00\x00", "}", "\xff\xfe", `{"type":"user","message":`, "[[[", strings.Repeat("[", 20_000)}
	lines := make([]string, 0, 2*len(bad))
	for i, line := range bad {
		lines = append(lines, line+"\n", prompt(fmt.Sprint("u", i), clock(10, 0, i), fmt.Sprint("good ", i)))
	}
	a := readLines(t, lines...)
	for i := range bad {
		if !strings.Contains(a.transcript(), fmt.Sprintf("user: good %d\n", i)) {
			t.Errorf("the record behind %q is missing", bad[i][:min(len(bad[i]), 20)])
		}
	}
}

// specstoryai/getspecstory#266
func TestRootsAreFewDirectories(t *testing.T) {
	home := write(t, map[string]string{first: conversation(first), second: conversation(second)})
	if roots := claudecode.Agent().History.Roots(home); len(roots) > 4 {
		t.Errorf("%d roots to watch: %q", len(roots), roots)
	}
}

func TestTitle(t *testing.T) {
	ask := prompt("u1", clock(10, 0, 1), "Look at\nthe cart")
	for _, tt := range []struct {
		name, lines, want string
	}{
		{"the first prompt", ask + prompt("u2", clock(10, 0, 2), "and the shop"), "Look at the cart"},
		{"not a wrapper", prompt("u0", clock(10, 0, 0), "<local-command-stdout>ok</local-command-stdout>") + prompt("u9", clock(10, 0, 0), "Caveat: x", "isMeta", true) + ask, "Look at the cart"},
		{"a prompt rather than a command", prompt("u0", clock(10, 0, 0), "<command-message>init</command-message>\n<command-name>/init</command-name>") + ask, "Look at the cart"},
		{"a command if there is no more", prompt("u0", clock(10, 0, 0), "<command-message>init</command-message>\n<command-name>/init</command-name>"), "/init"},
		{"a summary of this conversation", ask + `{"type":"summary","summary":"Cart","leafUuid":"u1"}` + "\n", "Cart"},
		{"a summary that ends before the last record", ask + prompt("u2", clock(10, 0, 2), "and the shop") + `{"type":"summary","summary":"Cart","leafUuid":"u1"}` + "\n", "Cart"},
		{"not one of another", `{"type":"summary","summary":"Shop","leafUuid":"x9"}` + "\n" + ask, "Look at the cart"},
		{"of the agent", ask + `{"type":"ai-title","aiTitle":"Old"}` + "\n" + `{"type":"ai-title","aiTitle":"Cart review"}` + "\n" + `{"type":"summary","summary":"Cart","leafUuid":"u1"}` + "\n", "Cart review"},
		{"of the person", ask + `{"type":"custom-title","customTitle":"mine"}` + "\n" + `{"type":"ai-title","aiTitle":"Cart review"}` + "\n", "mine"},
		{"renamed", ask + row("system", "s1", clock(10, 0, 3), "subtype", "local_command", "content", "<command-name>/rename</command-name><command-args>ours now</command-args>"), "ours now"},
		{"renamed by a user record", ask + prompt("u3", clock(10, 0, 3), "<command-name>/rename</command-name>\n<command-args>ours now</command-args>"), "ours now"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := readLines(t, tt.lines).sessions[first].Title; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestWhatBeginsATurn(t *testing.T) {
	for _, tt := range []struct {
		name, line, want string
	}{
		{"a prompt", prompt("u2", clock(10, 0, 2), "more"), "--\nuser: more\n"},
		{"a picture alone", prompt("u2", clock(10, 0, 2), []any{map[string]any{"type": "image", "source": map[string]any{"data": "AAAA"}}}), "--\nuser: \n"},
		{"a prompt that was queued", row("attachment", "u2", clock(10, 0, 2), "attachment", map[string]any{"type": "queued_command", "prompt": "more", "commandMode": "prompt", "origin": map[string]any{"kind": "human"}}), "--\nuser: more\n"},
		{"one without an id", row("attachment", "", clock(10, 0, 2), "attachment", map[string]any{"type": "queued_command", "prompt": []any{says("more")}}), "--\nuser: more\n"},
		{"a command for the model", prompt("u2", clock(10, 0, 2), "<command-message>fix</command-message>\n<command-name>/fix</command-name>\n<command-args>it all</command-args>"), "--\nuser: /fix it all\n"},
		{"a command of the program", prompt("u2", clock(10, 0, 2), "<command-name>/cost</command-name>\n<command-message>cost</command-message>"), "(user: <command-name>/cost</command-name>\n<command-message>cost</command-message>)\n"},
		{"its output", prompt("u2", clock(10, 0, 2), "<local-command-stdout>1 $</local-command-stdout>"), "(user: <local-command-stdout>1 $</local-command-stdout>)\n"},
		{"a shell command", prompt("u2", clock(10, 0, 2), "<bash-input>ls</bash-input>"), "(user: <bash-input>ls</bash-input>)\n"},
		{"a result", prompt("u2", clock(10, 0, 2), results("t1", "ok")), "assistant:  {=ok}\n"},
		{"words beside a result", prompt("u2", clock(10, 0, 2), append(results("t1", "ok"), says("stop there"))), "assistant:  {=ok}\nuser: stop there\n"},
		{"a reminder", prompt("u2", clock(10, 0, 2), "Remember it", "isMeta", true), "(user: Remember it)\n"},
		{"the caveat", prompt("u2", clock(10, 0, 2), "Caveat: The messages below were generated by the user while running local commands. DO NOT respond."), "(user: Caveat: The messages below were generated by the user while running local commands. DO NOT respond.)\n"},
		{"a notice of a task", prompt("u2", clock(10, 0, 2), "task b1 is done", "origin", map[string]any{"kind": "task-notification"}), "(user: task b1 is done)\n"},
		{"a notice that was queued", row("attachment", "u2", clock(10, 0, 2), "attachment", map[string]any{"type": "queued_command", "prompt": "task b1 is done", "commandMode": "task-notification"}), "(user: task b1 is done)\n"},
		{"a prompt of the program", prompt("u2", clock(10, 0, 2), "go on", "promptSource", "system"), "(user: go on)\n"},
		{"a prompt of an SDK", prompt("u2", clock(10, 0, 2), "go on", "promptSource", "sdk"), "--\nuser: go on\n"},
		{"a compaction", prompt("u2", clock(10, 0, 2), "We did it.", "isCompactSummary", true), "summary: We did it.\n"},
		{"an interruption", prompt("u2", clock(10, 0, 2), []any{says("[Request interrupted by user for tool use]")}), "system: [Request interrupted by user for tool use]\n"},
		{"the task of a sub-agent in the same file", prompt("u2", clock(10, 0, 2), "find it", "isSidechain", true), "(user: find it)\n"},
		{"other attachments", row("attachment", "u2", clock(10, 0, 2), "attachment", map[string]any{"type": "todo_reminder", "content": []any{}}), ""},
		{"an empty prompt", prompt("u2", clock(10, 0, 2), " "), ""},
		{"an error", row("assistant", "u2", clock(10, 0, 2), "isApiErrorMessage", true, "message", map[string]any{"id": "m2", "model": "<synthetic>", "content": []any{says("API Error: 500")}}), "system: API Error: 500\n"},
		{"a failed attempt", row("system", "u2", clock(10, 0, 2), "subtype", "api_error", "retryAttempt", 2, "maxRetries", 10, "error", map[string]any{"status": 529, "message": "overloaded"}), "system: API error 529: overloaded (attempt 2 of 10)\n"},
		{"a note of time", row("system", "u2", clock(10, 0, 2), "subtype", "turn_duration", "durationMs", 5), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := readLines(t, prompt("u1", clock(10, 0, 0), "go"), tt.line)
			wantTranscript(t, a, "user: go\n"+tt.want)
			for _, m := range a.messages() {
				if m.Model != "" {
					t.Errorf("a message of model %q", m.Model)
				}
			}
			if alone := readLines(t, tt.line); strings.Contains(alone.transcript(), "(") && !strings.Contains(tt.want, "--") {
				t.Errorf("without a turn to be in, it tells\n%s", alone.transcript())
			}
		})
	}
}

func TestResults(t *testing.T) {
	code := func(n int) *int { return &n }
	block := func(content any, failed bool) []any {
		return []any{map[string]any{"type": "tool_result", "tool_use_id": "t1", "content": content, "is_error": failed}}
	}
	for _, tt := range []struct {
		name       string
		content    []any
		structured any
		want       ambry.ToolCall
	}{
		{"a text", block("ok", false), nil, ambry.ToolCall{Output: "ok"}},
		{
			"blocks", block([]any{says("a"), says("b"), map[string]any{"type": "image", "source": map[string]any{"media_type": "image/png", "data": "AAAA"}}, map[string]any{"type": "tool_reference", "tool_name": "Edit"}}, false), nil,
			ambry.ToolCall{Output: "a\nb\n[image image/png, 3 bytes]\n[tool Edit]"},
		},
		{"failed", block("no such file", true), nil, ambry.ToolCall{Output: "no such file", Failed: true}},
		{"an exit code", block("Exit code 2\nusage: x", true), "Error: Exit code 2", ambry.ToolCall{Output: "Exit code 2\nusage: x", Failed: true, ExitCode: code(2)}},
		{"the words of an exit code", block("Exit code 2 means usage", false), nil, ambry.ToolCall{Output: "Exit code 2 means usage"}},
		{"only structured", block("", false), map[string]any{"stdout": "out", "stderr": "warn"}, ambry.ToolCall{Output: "out\nwarn"}},
		{"both", block("out\nwarn", false), map[string]any{"stdout": "out", "stderr": "warn"}, ambry.ToolCall{Output: "out\nwarn"}},
		{"interrupted", block("out", false), map[string]any{"stdout": "out", "interrupted": true, "exitCode": 130}, ambry.ToolCall{Output: "out", Failed: true, ExitCode: code(130)}},
		{"a sub-agent", block("found", false), map[string]any{"agentId": "a1b2", "status": "completed"}, ambry.ToolCall{Output: "found", Session: first + ":agent-a1b2"}},
		{"a list", block("ok", false), []any{1, 2}, ambry.ToolCall{Output: "ok"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := readLines(t, prompt("u1", clock(10, 0, 0), "go"), reply("a1", clock(10, 0, 1), "m1", calls("t1", "Bash"), [3]int{}),
				prompt("u2", clock(10, 0, 2), tt.content, "toolUseResult", tt.structured))
			got := a.messages()[1].Calls[0]
			tt.want.ID, tt.want.Name, tt.want.Input, tt.want.Done, tt.want.At = "t1", "Bash", `{"n":1}`, true, at(t, clock(10, 0, 1))
			if fmt.Sprintf("%+v", deref(got)) != fmt.Sprintf("%+v", deref(tt.want)) {
				t.Errorf("got %+v, want %+v", deref(got), deref(tt.want))
			}
		})
	}
}

// deref makes a call comparable.
func deref(c ambry.ToolCall) any {
	code := "none"
	if c.ExitCode != nil {
		code = fmt.Sprint(*c.ExitCode)
	}
	c.ExitCode = nil
	return struct {
		ambry.ToolCall
		Code string
	}{c, code}
}

func TestParallelCallsArePairedByID(t *testing.T) {
	a := readLines(t,
		prompt("u1", clock(10, 0, 0), "go"),
		reply("a1", clock(10, 0, 1), "m1", calls("t1", "Read"), [3]int{}),
		reply("a2", clock(10, 0, 2), "m1", calls("t2", "Grep"), [3]int{}),
		prompt("u2", clock(10, 0, 3), results("t2", "two")),
		reply("a3", clock(10, 0, 4), "m2", says("Wait."), [3]int{}),
		prompt("u3", clock(10, 0, 5), results("t1", "one")))
	wantTranscript(t, a, "user: go\nassistant:  {Read=one} {Grep=two}\nassistant: Wait.\n")
}

// Before there were files for sub-agents, one was started before any prompt.
func TestWarmUpIsNoTurn(t *testing.T) {
	side := []any{"isSidechain", true}
	a := readLines(t,
		prompt("w1", clock(9, 0, 0), "Warmup", side...),
		reply("w2", clock(9, 0, 1), "m0", calls("t0", "Read"), [3]int{1, 0, 1}, side...),
		prompt("w3", clock(9, 0, 2), results("t0", "a file"), side...),
		conversation(first))
	wantTranscript(t, a, conversationTold)
}

func TestSubagents(t *testing.T) {
	task := func(session string) string {
		return prompt("s1", clock(10, 0, 2), "Find it", "isSidechain", true, "agentId", "a1", "sessionId", session, "cwd", "/tmp/worktree") +
			reply("s2", clock(10, 0, 3), "m9", says("Found."), [3]int{1, 0, 2}, "isSidechain", true, "agentId", "a1", "sessionId", session)
	}
	for _, tt := range []struct {
		name, file, sidecar, title string
	}{
		{"beside the session", "-home-ana-app/agent-a1.jsonl", "", "Find it"},
		{"below the session", "-home-ana-app/" + first + "/subagents/agent-a1.jsonl", "", "Find it"},
		{"of a kind", "-home-ana-app/" + first + "/subagents/agent-a1.jsonl", `{"agentType":"Explore"}`, "Explore: Find it"},
		{"described", "-home-ana-app/" + first + "/subagents/agent-a1.jsonl", `{"agentType":"Explore","description":"Look around"}`, "Explore: Look around"},
		{"of a workflow", "-home-ana-app/" + first + "/subagents/workflows/wf/agent-a1.jsonl", "{", "Find it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{first: conversation(first), tt.file: task(first)}
			if tt.sidecar != "" {
				files[strings.TrimSuffix(tt.file, ".jsonl")+".meta.json"] = tt.sidecar
			}
			a := readFiles(t, files)
			got := a.sessions[first+":agent-a1"]
			if got.ParentID != first || got.Relation != ambry.Subagent || got.Title != tt.title {
				t.Errorf("got %+v", got)
			}
			if got.Project != "/home/ana/app" || got.Cwd != "/tmp/worktree" {
				t.Errorf("project %q, cwd %q: the project is the parent's", got.Project, got.Cwd)
			}
			if turn := a.turns["s1/0"]; len(turn.Messages) != 2 || turn.Messages[0].Hidden {
				t.Errorf("got %+v", turn)
			}
			if len(a.sessions) != 2 {
				t.Errorf("%d sessions", len(a.sessions))
			}
		})
	}
}

func TestWhereHistoryIs(t *testing.T) {
	env := func(pairs map[string]string) func(string) string {
		return func(name string) string { return pairs[name] }
	}
	dir := t.TempDir() // absolute on every system
	in := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	for _, tt := range []struct {
		name string
		home agent.Home
		want []string
	}{
		{"Linux", agent.Home{Dir: dir, OS: "linux"}, []string{in(".claude", "projects"), in(".config", "claude", "projects"), in(".config", "Claude", "local-agent-mode-sessions")}},
		{"macOS", agent.Home{Dir: dir, OS: "darwin"}, []string{in(".claude", "projects"), in(".config", "claude", "projects"), in("Library", "Application Support", "Claude", "local-agent-mode-sessions")}},
		{"Windows", agent.Home{Dir: dir, OS: "windows"}, []string{in(".claude", "projects"), in(".config", "claude", "projects"), in("AppData", "Roaming", "Claude", "local-agent-mode-sessions")}},
		{"configured", agent.Home{Dir: dir, OS: "linux", Getenv: env(map[string]string{"CLAUDE_CONFIG_DIR": in("a") + ", " + in("b") + ",relative,"})}, []string{in("a", "projects"), in("b", "projects"), in(".config", "claude", "projects"), in(".config", "Claude", "local-agent-mode-sessions")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := claudecode.Agent().History.Roots(tt.home); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestWhatIsHistory(t *testing.T) {
	files := map[string]bool{
		"-p/" + first + ".jsonl":                                       true,
		"-p/agent-a1.jsonl":                                            true,
		"-p/" + first + "/subagents/agent-a1.jsonl":                    true,
		"-p/" + first + "/subagents/workflows/w/agent-a2.jsonl":        true,
		"-p/" + first + "/subagents/agent-acompact-01.jsonl":           false,
		"-p/" + first + "/subagents/agent-a1prompt_suggestion-2.jsonl": false,
		"-p/" + first + "/subagents/workflows/w/journal.jsonl":         false,
		"-p/" + first + "/tool-results/agent-x.jsonl":                  false,
		"-p/" + second + ".jsonl.bak":                                  false,
		"-p/" + second + ".bak.jsonl":                                  false,
		"-p/memory/notes.jsonl":                                        false,
		"-p/history.jsonl":                                             false,
		"history.jsonl":                                                false,
		"-p/sessions-index.json":                                       false,
		"memory/" + second + ".jsonl":                                  true,
	}
	data := map[string]string{}
	for name := range files {
		data[name] = "{}\n"
	}
	home := write(t, data)
	found := map[string]bool{}
	for src, err := range claudecode.Agent().History.Sources(t.Context(), home) {
		if err != nil {
			t.Fatal(err)
		}
		rel, err := filepath.Rel(filepath.Join(home.Dir, ".claude", "projects"), src.Path)
		if err != nil {
			t.Fatal(err)
		}
		found[filepath.ToSlash(rel)] = true
	}
	for name, want := range files {
		if found[name] != want {
			t.Errorf("%s: found %v, want %v", name, found[name], want)
		}
	}
}
