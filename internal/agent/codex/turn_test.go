package codex_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestACopiedTurnIsWholeWhenAnotherFollows(t *testing.T) {
	// Not every version tells that a turn is over.
	context := func(turn string) string { return line("turn_context", obj{"turn_id": turn, "cwd": "/w"}) }
	f := read(t, meta(laterID, "forked_from_id", parentID), meta(parentID),
		context(turnA), asked("one"), answered("first"),
		context(turnB), asked("two"),
		context(laterOwn), asked("three"))
	if diff := cmp.Diff([]string{"user: one", "assistant: first", "user: three"}, f.said()); diff != "" {
		t.Error(diff)
	}
}

func TestWhatComesLateOpensNoTurnAgain(t *testing.T) {
	for name, ids := range map[string][2]string{"with times in the ids": {turnA, turnB}, "without": {"turn-b", "turn-a"}} {
		f := read(t, meta(parentID), started(ids[0]), asked("one"), started(ids[1]), asked("two"),
			completed(ids[0], "AgentMessage", "id", "1", "content", parts("Text", "late")), started(ids[1]), answered("second"))
		if len(f.order) != 2 {
			t.Errorf("%s: %v", name, f.order)
		}
		if diff := cmp.Diff([]string{"user: one", "user: two", "assistant: late", "assistant: second"}, f.said()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAPromptBeforeTheIDOfItsTurn(t *testing.T) {
	context := func(turn string) string { return line("turn_context", obj{"turn_id": turn, "model": turn}) }
	f := read(t, meta(parentID), asked("one"), context("t1"), answered("first"), asked("two"), context("t2"), answered("second"))
	if len(f.order) != 2 {
		t.Errorf("%d turns: %v", len(f.order), f.order)
	}
	if diff := cmp.Diff([]string{"user: one", "assistant: first", "user: two", "assistant: second"}, f.said()); diff != "" {
		t.Error(diff)
	}
	if first := f.turns[f.order[0]]; first.Model != "t1" {
		t.Errorf("the model of the first is %q", first.Model)
	}
}

func TestWhereATurnHappened(t *testing.T) {
	f := read(t, meta(parentID, "cwd", "/home/ana/shop/"), asked("one"), answered("first"), event("task_complete"),
		line("turn_context", obj{"cwd": "/home/ana/web"}), asked("two"))
	var got []string
	for _, key := range f.order {
		got = append(got, f.turns[key].Cwd)
	}
	if diff := cmp.Diff([]string{"/home/ana/shop/", "/home/ana/web"}, got); diff != "" {
		t.Error(diff)
	}
	if s := f.sessions[parentID]; s.Project != "/home/ana/shop" || s.Cwd != "/home/ana/shop/" {
		t.Errorf("the session was in %s of %s", s.Cwd, s.Project)
	}

	f = read(t, meta(parentID, "cwd", nil), asked("one"), event("task_complete"), line("turn_context", obj{"cwd": "/later"}))
	if got := f.turns[f.order[0]].Cwd; got != "" {
		t.Errorf("a turn that was over moved to %q", got)
	}
}

func TestEachRequestIsAMessage(t *testing.T) {
	call := func(id string) string {
		return item("function_call", "name", "x", "arguments", id, "call_id", id)
	}
	end := func(id string) string {
		return event("exec_command_end", "call_id", id, "command", []string{"ls"}, "exit_code", 0)
	}
	f := read(t, meta(parentID), asked("one"), answered("a"), call("1"), call("2"),
		spent(once, once), call("3"), line("compacted", obj{"message": "short"}), call("4"), end("4"), end("5"), end("6"))
	var got []int
	for _, m := range f.turns[f.order[0]].Messages {
		got = append(got, len(m.Calls))
	}
	// prompt, a with 1 and 2, 3, summary, 4, 5, 6
	if diff := cmp.Diff([]int{0, 2, 1, 0, 1, 1, 1}, got); diff != "" {
		t.Error(diff)
	}
}

func TestIDsThatAreNotUniqueAreMadeSo(t *testing.T) {
	home := t.TempDir()
	turns := []string{started("1"), asked("one"), answered("first"), ended("1"), started("2"), asked("two"), answered("second"), ended("2")}
	save(t, home, rollout(parentID), append([]string{meta(parentID)}, turns...)...)
	save(t, home, rollout(laterID), append(append([]string{meta(laterID, "forked_from_id", parentID), meta(parentID)}, turns...), started("1"), asked("three"))...)
	save(t, home, rollout("other"), append([]string{meta("other")}, turns[:4]...)...)
	want := []string{"user: one", "assistant: first", "user: two", "assistant: second", "user: three", "user: one", "assistant: first"}
	if diff := cmp.Diff(want, find(t, home).said()); diff != "" {
		t.Error(diff)
	}
}
