package codex_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/agent/codex"
)

const environment = "<environment_context>\n<cwd>/home/ana/shop</cwd>\n</environment_context>"

func TestWhatIsTwiceInTheFileIsToldOnce(t *testing.T) {
	said := func(texts ...string) []string { return texts }
	for name, c := range map[string]struct {
		lines []string
		want  []string
	}{
		"items first": {
			said(prompt("one"), event("user_message", "message", "one"), reply("first"), event("agent_message", "message", "first")),
			said("user: one", "assistant: first"),
		},
		"events first": {
			said(event("user_message", "message", "one"), prompt("one"), event("agent_message", "message", "first"), reply("first")),
			said("user: one", "assistant: first"),
		},
		"events only": {
			said(event("user_message", "message", "one"), event("agent_message", "message", "first")),
			said("user: one", "assistant: first"),
		},
		"items only": {
			said(prompt("one"), reply("first")),
			said("user: one", "assistant: first"),
		},
		"the same words again": {
			said(asked("yes"), answered("ok"), answered("ok"), asked("yes"), answered("ok")),
			said("user: yes", "assistant: ok", "assistant: ok", "user: yes", "assistant: ok"),
		},
		"one after the other": {
			said(prompt("one"), event("user_message", "message", "one"),
				event("agent_message", "message", "a"), event("agent_message", "message", "b"), reply("a"), reply("b")),
			said("user: one", "assistant: a", "assistant: b"),
		},
		"events of some turns only": {
			said(asked("one"), answered("first"), prompt("two"), reply("second"), event("user_message", "message", "three"), reply("third")),
			said("user: one", "assistant: first", "user: two", "assistant: second", "user: three", "assistant: third"),
		},
		"an item that no event tells": {
			said(started(turnA), prompt("<something new>injected</something new>"), asked("one"), prompt("<and more>injected"), answered("first")),
			said("user: one", "assistant: first"),
		},
		"an item that no event tells, without ids": {
			said(prompt("<something new>injected</something new>"), asked("one"), answered("first")),
			said("user: one", "assistant: first"),
		},
		"a person who steers": {
			said(started(turnA), asked("one"), answered("a"), asked("no, so"), answered("b"), ended(turnA)),
			said("user: one", "assistant: a", "user: no, so", "assistant: b"),
		},
		"the last message told at the end": {
			said(started(turnA), asked("one"), answered("a"), event("task_complete", "turn_id", turnA, "last_agent_message", "a")),
			said("user: one", "assistant: a"),
		},
		"citations": {
			said(asked("one"), event("agent_message", "message", "a."), reply("a.<oai-mem-citation>x</oai-mem-citation>")),
			said("user: one", "assistant: a."),
		},
		"a plan": {
			said(asked("one"), completed(turnA, "Plan", "id", "p", "text", "1. do"), event("agent_message", "message", "Here:"),
				reply("Here:\n<proposed_plan>\n1. do\n</proposed_plan>\n")),
			said("user: one", "assistant: 1. do", "assistant: Here:"),
		},
		"a plan that only the item tells": {
			said(asked("one"), reply("Here:\n<proposed_plan>\n1. do\n</proposed_plan>\n")),
			said("user: one", "assistant: Here:", "assistant: 1. do"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := read(t, append([]string{meta(parentID)}, c.lines...)...).said()
			for i := range got {
				got[i] = strings.TrimSpace(got[i])
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSteeringStaysInItsTurn(t *testing.T) {
	f := read(t, meta(parentID), started(turnA), asked("one"), answered("a"), asked("no, so"), ended(turnA), asked("after the end"))
	if len(f.order) != 2 || f.order[0] != turnA+"/0" || len(f.turns[turnA+"/0"].Messages) != 3 {
		t.Errorf("got %v", f.order)
	}
}

func TestInjectedContextIsHidden(t *testing.T) {
	for name, c := range map[string]struct {
		message string
		own     string
	}{
		"environment":         {environment, ""},
		"instructions":        {"<user_instructions>\nuse tabs\n</user_instructions>", ""},
		"AGENTS.md":           {"# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nuse tabs\n</INSTRUCTIONS>", ""},
		"bare instructions":   {"<INSTRUCTIONS>use tabs</INSTRUCTIONS>", ""},
		"permissions":         {"<permissions instructions>none</permissions instructions>", ""},
		"aborted":             {"<turn_aborted>\nby the user\n</turn_aborted>", ""},
		"a hook":              {`<hook_prompt hook_run_id="1">again</hook_prompt>`, ""},
		"a skill":             {"<skill>\n<name>x</name>\n</skill>", ""},
		"a shell command":     {"<user_shell_command>ls</user_shell_command>", ""},
		"a sub-agent":         {"<subagent_notification>{}</subagent_notification>", ""},
		"a warning":           {"Warning: apply_patch was requested via exec_command. Use the tool.", ""},
		"two of them":         {environment + "\n\n<skill>x</skill>\n", ""},
		"not closed":          {"<environment_context>\n<cwd>/x", ""},
		"before a prompt":     {environment + "\n\nfix it", "fix it"},
		"of the editor":       {"# Context from my IDE setup:\n\n## Open tabs: a.go\n\n## My request for Codex:\nfix it\n", "fix it"},
		"not of Codex":        {"<task>fix it</task>", "<task>fix it</task>"},
		"a name that is more": {"<skillful>fix it</skillful>", "<skillful>fix it</skillful>"},
		"in the midst":        {"what is <environment_context>?", "what is <environment_context>?"},
		"white space":         {"  fix it", "  fix it"},
	} {
		t.Run(name, func(t *testing.T) {
			for form, lines := range map[string][]string{
				"item":  {prompt(c.message)},
				"event": {event("user_message", "message", c.message)},
				"both":  {asked(c.message)},
			} {
				f := read(t, append([]string{meta(parentID), started(turnA)}, append(lines, answered("ok"))...)...)
				want := []string{"user: " + c.own, "assistant: ok"}
				if c.own == "" {
					want = want[1:]
				}
				if diff := cmp.Diff(want, f.said()); diff != "" {
					t.Errorf("%s: %s", form, diff)
				}
				if c.own != c.message && len(f.hidden()) == 0 && form == "item" {
					t.Errorf("%s: the context is not kept", form)
				}
				if title := f.sessions[parentID].Title; title != strings.TrimSpace(c.own) {
					t.Errorf("%s: the title is %q", form, title)
				}
			}
		})
	}
}

func TestOtherRolesAreHidden(t *testing.T) {
	f := read(t, meta(parentID), started(turnA), asked("one"),
		item("message", "role", "developer", "content", parts("input_text", "be good")),
		item("message", "role", "system", "content", parts("input_text", "be short")),
		item("message", "role", "assistant", "content", parts("output_text", `{"author":"/root/a","recipient":"/root","content":"done"}`)),
		line("inter_agent_communication", obj{"author": "/root/a", "recipient": "/root", "content": "done", "trigger_turn": false}),
		item("agent_message", "author", "/root/a", "recipient", "/root", "content", parts("input_text", "done")),
	)
	if diff := cmp.Diff([]string{"user: one"}, f.said()); diff != "" {
		t.Error(diff)
	}
	if got := len(f.hidden()); got != 5 {
		t.Errorf("%d are kept", got)
	}
}

func TestNoticesOfCodex(t *testing.T) {
	f := read(t, meta(parentID), started(turnA), asked("one"), answered("first"),
		line("compacted", obj{"message": "they said one", "replacement_history": []obj{with("message", "role", "user", "content", parts("input_text", "one"))}}),
		event("context_compacted"), line("compacted", obj{"message": "", "replacement_history": []obj{}}),
		event("entered_review_mode", "user_facing_hint", "current changes"), event("exited_review_mode", "review_output", nil),
		event("error", "message", "stream closed"), event("turn_aborted", "turn_id", turnA, "reason", "interrupted"),
		item("ghost_snapshot", "ghost_commit", obj{}), item("reasoning", "summary", parts("summary_text", "hm")), event("agent_reasoning", "text", "hm"),
		line("world_state", obj{"state": obj{}}), line("something_new", obj{"text": "x"}), event("something_new", "message", "x"), item("something_new", "content", "x"),
	)
	want := []string{"user: one", "assistant: first", "summary: they said one", "system: Review: current changes", "system: Error: stream closed", "system: Turn aborted: interrupted"}
	if diff := cmp.Diff(want, f.said()); diff != "" {
		t.Error(diff)
	}
}

func TestWhatWasRolledBackIsHidden(t *testing.T) {
	f := read(t, meta(parentID), started(turnA), asked("one"), answered("first"), ended(turnA),
		started(turnB), asked("two"), answered("second"), ended(turnB), event("thread_rolled_back", "num_turns", 1), asked("three"))
	if diff := cmp.Diff([]string{"user: one", "assistant: first", "user: three"}, f.said()); diff != "" {
		t.Error(diff)
	}
}

func TestTitles(t *testing.T) {
	home := t.TempDir()
	save(t, home, "session_index.jsonl",
		fmt.Sprintf(`{"id":"%s","thread_name":"old name","updated_at":"2026-08-01T10:00:00Z"}`, laterID),
		fmt.Sprintf(`{"id":"%s","thread_name":"named in the list","updated_at":"2026-08-01T10:00:00Z"}`, laterID),
		fmt.Sprintf(`{"id":"x","thread_name":"%s"}`, laterID), `{"id":`)
	save(t, home, rollout(parentID), meta(parentID), asked("the first\nprompt"), asked("another"))
	save(t, home, rollout(laterID), meta(laterID), asked("the first prompt"))
	save(t, home, rollout("other"), meta("other"), asked("the first prompt"), event("thread_name_updated", "thread_id", "other", "thread_name", "a"),
		event("thread_name_updated", "thread_id", "other", "thread_name", "named in the file"), event("thread_name_updated", "thread_id", "x", "thread_name", "of another"), asked("b"))
	f := find(t, home)
	for id, want := range map[string]string{parentID: "the first prompt", laterID: "named in the list", "other": "named in the file"} {
		if got := f.sessions[id].Title; got != want {
			t.Errorf("%s is called %q, want %q", id, got, want)
		}
	}
}

func TestACopyWithoutIDsGetsThoseOfItsParent(t *testing.T) {
	home := t.TempDir()
	turns := []string{asked("continue"), answered("a"), asked("continue"), answered("b"), asked("other"), answered("c")}
	save(t, home, rollout(parentID), append([]string{meta(parentID)}, turns...)...)
	save(t, home, rollout(laterID), append(append([]string{meta(laterID, "forked_from_id", parentID), meta(parentID)}, turns[:4]...), asked("own"), answered("d"))...)
	f := find(t, home)
	want := []string{"user: continue", "assistant: a", "user: continue", "assistant: b", "user: other", "assistant: c", "user: own", "assistant: d"}
	if diff := cmp.Diff(want, f.said()); diff != "" {
		t.Error(diff)
	}
	if f.sessions[laterID].ParentID != parentID {
		t.Errorf("got %+v", f.sessions[laterID])
	}
}

func TestSubagents(t *testing.T) {
	spawn := obj{"subagent": obj{"thread_spawn": obj{"parent_thread_id": parentID, "depth": 1}}}
	for name, c := range map[string]struct {
		meta []any
		want ambry.Session
	}{
		"spawned":      {[]any{"source", spawn}, ambry.Session{ParentID: parentID, Relation: ambry.Subagent, Background: true}},
		"forked, too":  {[]any{"source", spawn, "forked_from_id", "x"}, ambry.Session{ParentID: parentID, Relation: ambry.Subagent, Background: true}},
		"by its id":    {[]any{"parent_thread_id", parentID}, ambry.Session{ParentID: parentID, Relation: ambry.Subagent, Background: true}},
		"review":       {[]any{"source", obj{"subagent": "review"}}, ambry.Session{Relation: ambry.Review, Background: true}},
		"compaction":   {[]any{"source", obj{"subagent": "compact"}}, ambry.Session{Relation: ambry.Subagent, Background: true}},
		"other":        {[]any{"source", obj{"subagent": obj{"other": "x"}}}, ambry.Session{Relation: ambry.Subagent, Background: true}},
		"fork":         {[]any{"forked_from_id", parentID}, ambry.Session{ParentID: parentID, Relation: ambry.Fork}},
		"a person's":   {[]any{"source", "cli"}, ambry.Session{Relation: ambry.Root}},
		"fork of self": {[]any{"forked_from_id", laterID}, ambry.Session{Relation: ambry.Fork}},
	} {
		t.Run(name, func(t *testing.T) {
			got := read(t, meta(laterID, c.meta...), asked("one")).sessions[laterID]
			got = ambry.Session{ParentID: got.ParentID, Relation: got.Relation, Background: got.Background}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOddSessionMeta(t *testing.T) {
	for name, first := range map[string]string{
		"cwd is no text":      meta(parentID, "cwd", obj{"path": "/x"}, "git", "none", "timestamp", 7, "cli_version", 1.5),
		"more than a MB":      meta(parentID, "base_instructions", obj{"text": strings.Repeat("x y ", 1<<19)}),
		"only a session id":   strings.Replace(meta(parentID), `"id":`, `"session_id":`, 1),
		"none":                "",
		"torn":                meta(parentID)[:80],
		"a NUL after a crash": strings.Repeat("\x00", 4096) + meta(parentID),
		"byte order mark":     "\ufeff" + meta(parentID),
	} {
		t.Run(name, func(t *testing.T) {
			f := read(t, first, asked("one")+"\r", answered("first")+"\r")
			if diff := cmp.Diff([]string{"user: one", "assistant: first"}, f.said()); diff != "" {
				t.Error(diff)
			}
			if _, ok := f.sessions[parentID]; !ok || len(f.sessions) != 1 {
				t.Errorf("got %+v", f.sessions)
			}
		})
	}
}

func TestLongTurnsComeInParts(t *testing.T) {
	lines := []string{meta(parentID), started(turnA), asked("one")}
	for i := range 100 {
		id := fmt.Sprint(i)
		lines = append(lines, item("function_call", "name", "cat", "arguments", id, "call_id", id), item("function_call_output", "call_id", id, "output", strings.Repeat("x", 5000)))
	}
	f := read(t, append(lines, answered("done"), spent(once, once))...)
	if len(f.order) < 5 || len(f.order) > 10 {
		t.Errorf("%d parts", len(f.order))
	}
	ids, calls := map[string]bool{}, 0
	for _, turn := range f.turns {
		if turn.ID != turnA {
			t.Errorf("turn %s", turn.ID)
		}
		for _, m := range turn.Messages {
			if ids[m.ID] {
				t.Errorf("message %s comes twice", m.ID)
			}
			ids[m.ID] = true
			for _, c := range m.Calls {
				if calls++; !c.Done {
					t.Errorf("call %s has no result", c.ID)
				}
			}
		}
	}
	if calls != 100 || f.tokens().Input != 100 {
		t.Errorf("%d calls, %+v", calls, f.tokens())
	}
}

func TestRoots(t *testing.T) {
	home, other := t.TempDir(), t.TempDir()
	save(t, home, rollout(parentID), parent()...)
	env := map[string]string{}
	h := agent.Home{Dir: home, Getenv: func(name string) string { return env[name] }}
	for dir, want := range map[string]string{
		"":                            filepath.Join(home, ".codex", "sessions"),
		"relative":                    filepath.Join(home, ".codex", "sessions"),
		other:                         filepath.Join(other, "sessions"),
		filepath.Join(home, ".codex"): filepath.Join(home, ".codex", "sessions"),
	} {
		env["CODEX_HOME"] = dir
		if got := codex.Agent().History.Roots(h); got[0] != want || len(got) != 2 {
			t.Errorf("with %q: %v", dir, got)
		}
	}
	for _, name := range []string{"rollout-x.jsonl.tmp", "notes.jsonl", "rollout-x.txt", ".rollout-x.jsonl.swp"} {
		path := filepath.Join(home, ".codex", "sessions", name)
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, ok := codex.Agent().History.Locate(h, path); ok {
			t.Errorf("%s is a source", name)
		}
	}
}
