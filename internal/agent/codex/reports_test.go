package codex_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/agent/codex"
)

// The tests of this file are named after public reports on readers of Codex's
// history: what came out, and of which input.

var (
	once  = obj{"input_tokens": 100, "cached_input_tokens": 40, "output_tokens": 10, "reasoning_output_tokens": 7}
	twice = obj{"input_tokens": 200, "cached_input_tokens": 80, "output_tokens": 20, "reasoning_output_tokens": 14}
)

// parent and copied are two turns of a session, and a fork of it that copies
// the first n lines of what follows the parent's session_meta.
func parent() []string {
	return []string{
		meta(parentID),
		started(turnA), asked("one"), answered("first"), spent(once, once), ended(turnA),
		started(turnB), asked("two"), answered("second"), spent(once, twice), ended(turnB),
	}
}

func copied(n int) []string {
	lines := []string{meta(laterID, "forked_from_id", parentID, "cwd", "/home/ana/copy"), meta(parentID)}
	for _, l := range parent()[1 : 1+n] {
		lines = append(lines, strings.ReplaceAll(l, at, "2026-08-02T09:00:00.000Z"))
	}
	return append(lines, started(laterOwn), asked("three"), answered("third"), spent(once, obj{"input_tokens": 300, "output_tokens": 30}), ended(laterOwn))
}

// kenn-io/agentsview#643, steipete/CodexBar#1164: usage counted once more for
// every fork.
func TestReport21UsageOfAForkIsCountedOnce(t *testing.T) {
	home := t.TempDir()
	save(t, home, rollout(parentID), parent()...)
	save(t, home, rollout(laterID), copied(10)...)
	f := find(t, home)
	if got, want := f.tokens(), (ambry.Tokens{Input: 300, Cached: 120, Output: 30}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	want := []string{"user: one", "assistant: first", "user: two", "assistant: second", "user: three", "assistant: third"}
	if diff := cmp.Diff(want, f.said()); diff != "" {
		t.Error(diff)
	}
	if s := f.sessions[laterID]; s.ParentID != parentID || s.Relation != ambry.Fork {
		t.Errorf("the fork is %+v", s)
	}
	if turn := f.turns[turnA+"/0"]; turn.At.Format(time.DateOnly) != "2026-08-01" {
		t.Errorf("the copied turn began at %v", turn.At)
	}
}

// As 21: when the parent is gone, what was copied is all there is.
func TestReport21TheCopyOfALostSessionIsKept(t *testing.T) {
	f := read(t, copied(10)...)
	want := []string{"user: one", "assistant: first", "user: two", "assistant: second", "user: three", "assistant: third"}
	if diff := cmp.Diff(want, f.said()); diff != "" {
		t.Error(diff)
	}
}

// As 21, with sub-agents: they copy their parent's turn while it is going on.
// What is copied in part must not take the place of the turn itself.
func TestReport21ATurnCopiedInPartIsNotTold(t *testing.T) {
	for n := 1; n < 10; n++ {
		f := read(t, copied(n)...)
		a, b := f.turns[turnA+"/0"], f.turns[turnB+"/0"]
		if n < 5 && a.ID != "" || n >= 5 && len(a.Messages) != 2 || b.ID != "" {
			t.Errorf("of %d lines: %+v, %+v", n, a.Messages, b.Messages)
		}
		if len(f.turns[laterOwn+"/0"].Messages) != 2 {
			t.Errorf("of %d lines: its own turn is %+v", n, f.turns[laterOwn+"/0"])
		}
	}
}

// jhlee0409/claude-code-history-viewer#451: two session_meta, no session.
func TestReport22TheFirstSessionMetaWins(t *testing.T) {
	f := read(t, copied(5)...)
	if s := f.sessions[laterID]; len(f.sessions) != 1 || s.Cwd != "/home/ana/copy" {
		t.Errorf("got %+v", f.sessions)
	}
}

// openai/codex#21025: a fork shows what its parent said after the fork.
func TestReport23CopiesHaveNoTimesOfTheirOwn(t *testing.T) {
	f := read(t, copied(10)...)
	for _, key := range []string{turnA + "/0", turnB + "/0"} {
		for _, m := range f.turns[key].Messages {
			if !m.At.IsZero() {
				t.Errorf("%q is said to be of %v", m.Text, m.At)
			}
		}
	}
	if turn := f.turns[laterOwn+"/0"]; turn.At.IsZero() || turn.Messages[0].At.IsZero() {
		t.Error("its own turn has no time")
	}
}

func compress(t *testing.T, text []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll(text, nil)
}

// agent-of-empires/agent-of-empires#3281: old sessions vanish after a week.
func TestReport24CompressedSessionsAreRead(t *testing.T) {
	home := t.TempDir()
	path := save(t, home, rollout(parentID), parent()...)
	want := find(t, home)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".zst", compress(t, text), 0o644); err != nil {
		t.Fatal(err)
	}
	sources := func() (names []string) {
		for src, err := range codex.Agent().History.Sources(t.Context(), agent.Home{Dir: home}) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, filepath.Ext(src.Path))
		}
		return names
	}
	if diff := cmp.Diff([]string{".jsonl"}, sources()); diff != "" {
		t.Errorf("with both: %s", diff)
	}
	if _, ok := codex.Agent().History.Locate(agent.Home{Dir: home}, path+".zst"); ok {
		t.Error("the compressed file is a source although the plain one is there")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{".zst"}, sources()); diff != "" {
		t.Errorf("compressed: %s", diff)
	}
	got := find(t, home)
	if diff := cmp.Diff(want.said(), got.said()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want.sessions, got.sessions); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want.order, got.order); diff != "" {
		t.Errorf("the turns have other ids: %s", diff)
	}
}

// As 24: a compressed file must not take more memory than the reader has.
func TestReport24ALargeWindowIsRefused(t *testing.T) {
	home := t.TempDir()
	path := save(t, home, rollout(parentID)+".zst")
	for size, want := range map[int]bool{8 << 20: true, 128 << 20: false} {
		var packed bytes.Buffer
		w, err := zstd.NewWriter(&packed, zstd.WithWindowSize(size), zstd.WithSingleSegment(false))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range parent() {
			if _, err := w.Write([]byte(l + "\n")); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, packed.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		if f := find(t, home); (len(f.turns) == 2) != want || (len(f.failed) == 0) != want {
			t.Errorf("a window of %d MiB: %d turns, failed %v", size>>20, len(f.turns), f.failed)
		}
	}
}

// As 24: a file that ends too early is told of up to there.
func TestReport24ATornCompressedFileIsReadToItsEnd(t *testing.T) {
	home := t.TempDir()
	var packed bytes.Buffer
	w, err := zstd.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	half := 0
	for i, l := range parent() {
		if i == 7 {
			half = packed.Len()
		}
		if _, err := w.Write([]byte(l + "\n")); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := save(t, home, rollout(parentID)+".zst")
	if err := os.WriteFile(path, packed.Bytes()[:half+20], 0o644); err != nil {
		t.Fatal(err)
	}
	f := find(t, home)
	if len(f.failed) != 1 || !cmp.Equal(f.said(), []string{"user: one", "assistant: first"}) {
		t.Errorf("failed %v, told %q", f.failed, f.said())
	}
}

// skillsynchq/txcript#54: 531 sessions invisible in archived_sessions.
func TestReport25ArchivedSessionsKeepTheirID(t *testing.T) {
	home := t.TempDir()
	path := save(t, home, rollout(parentID), parent()...)
	before := find(t, home)
	to := filepath.Join(home, ".codex", "archived_sessions", filepath.Base(path))
	if err := os.Mkdir(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, to); err != nil {
		t.Fatal(err)
	}
	after := find(t, home)
	if diff := cmp.Diff(before.order, after.order); diff != "" {
		t.Error(diff)
	}
	if before.sessions[parentID].Archived || !after.sessions[parentID].Archived {
		t.Errorf("archived before: %v, after: %v", before.sessions[parentID].Archived, after.sessions[parentID].Archived)
	}
}

// PixelPaw-Labs/codex-trace#210: a fork is shown as an unrelated session.
func TestReport26AForkByReferenceHasAParent(t *testing.T) {
	f := read(t, meta(laterID, "history_mode", "paginated",
		"history_base", obj{"thread_id": parentID, "end_ordinal_exclusive": 12, "end_byte_offset": 4096}),
		started(laterOwn), asked("go on"), answered("gone on"))
	if s := f.sessions[laterID]; s.ParentID != parentID || s.Relation != ambry.Fork {
		t.Errorf("got %+v", s)
	}
}

func completed(turn string, fields ...any) string {
	of := with(fields[0].(string), fields[1:]...)
	return event("item_completed", "thread_id", parentID, "turn_id", turn, "item", of)
}

// giuliastro/harness-remote#386: current sessions are empty.
func TestReport27TextOfCompletedItemsIsRead(t *testing.T) {
	f := read(t, meta(parentID, "history_mode", "paginated"),
		completed(turnA, "UserMessage", "id", "1", "content", []obj{{"type": "text", "text": "one"}}),
		completed(turnA, "CommandExecution", "id", "c", "command", []string{"bash", "-lc", "ls"}, "aggregatedOutput", "x\n", "exitCode", 2, "status", "failed"),
		completed(turnA, "AgentMessage", "id", "2", "content", []obj{{"type": "Text", "text": "first"}}),
		completed(turnB, "UserMessage", "id", "3", "content", []obj{{"type": "text", "text": "two"}}),
		completed(turnB, "McpToolCall", "id", "m", "server", "tracker", "tool", "find", "arguments", obj{"q": "x"}, "result", obj{"content": parts("text", "none")}),
		completed(turnB, "FileChange", "id", "p", "changes", obj{"a.go": obj{"type": "add"}}, "status", "failed", "stderr", "no such file"),
		completed(turnA, "AgentMessage", "id", "4", "content", []obj{{"type": "Text", "text": "late"}}),
	)
	want := []string{
		"user: one", "exec_command(ls)=x\n", "assistant: first", "user: two",
		`mcp__tracker__find({"q":"x"})=none`, `apply_patch({"a.go":{"type":"add"}})=no such file`, "assistant: late",
	}
	if diff := cmp.Diff(want, f.said()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{turnA + "/0", turnB + "/0"}, f.order); diff != "" {
		t.Errorf("what comes late has opened a turn again: %s", diff)
	}
	ls := f.turns[turnA+"/0"].Messages[1].Calls[0]
	if ls.ExitCode == nil || *ls.ExitCode != 2 || !ls.Failed {
		t.Errorf("got %+v", ls)
	}
}

// openai/codex#35746: records dropped because their ordinals repeat.
func TestReport28OrdinalsAreOnlyAHint(t *testing.T) {
	lines := parent()
	for i, l := range lines {
		lines[i] = strings.ReplaceAll(l, `{"payload"`, `{"ordinal":`+[]string{"7", "3", `"x"`, "null"}[i%4]+`,"payload"`)
	}
	f := read(t, lines...)
	if diff := cmp.Diff([]string{"user: one", "assistant: first", "user: two", "assistant: second"}, f.said()); diff != "" {
		t.Error(diff)
	}
}

// getagentseal/codeburn#626: sessions of other front ends dropped.
func TestReport29AnyOriginatorIsRead(t *testing.T) {
	for _, originator := range []any{"Codex Desktop", "t3code_desktop", "JetBrains.IntelliJ", "", nil, 7} {
		f := read(t, meta(parentID, "originator", originator, "source", originator), asked("one"))
		if diff := cmp.Diff([]string{"user: one"}, f.said()); diff != "" {
			t.Errorf("%v: %s", originator, diff)
		}
	}
}

// getagentseal/codeburn#1040: the model is the first one named anywhere.
func TestReport30TheModelIsThatOfTheTurn(t *testing.T) {
	f := read(t, meta(parentID, "dynamic_tools", []obj{{"name": "x", "model": "not-this", "cwd": "/not/this"}}, "provenance", obj{"model": "nor-this"}),
		started(turnA), line("turn_context", obj{"turn_id": turnA, "model": "gpt-a", "cwd": "/home/ana/shop"}), asked("one"), answered("first"), ended(turnA),
		started(turnB), line("turn_context", obj{"turn_id": turnB, "model": "gpt-b", "cwd": "/home/ana/other"}), asked("two"), answered("second"))
	a, b := f.turns[turnA+"/0"], f.turns[turnB+"/0"]
	if a.Model != "gpt-a" || b.Model != "gpt-b" || a.Cwd != "/home/ana/shop" || b.Cwd != "/home/ana/other" {
		t.Errorf("%s in %s, %s in %s", a.Model, a.Cwd, b.Model, b.Cwd)
	}
	if s := f.sessions[parentID]; s.Cwd != "/home/ana/shop" || s.Model != "gpt-b" {
		t.Errorf("the session: %s in %s", s.Model, s.Cwd)
	}
}

// getagentseal/codeburn#1075: reasoning added to the output it is a part of.
func TestReport31ReasoningIsPartOfTheOutput(t *testing.T) {
	f := read(t, meta(parentID), asked("one"), answered("first"), spent(once, once))
	if got := f.tokens(); got.Output != 10 {
		t.Errorf("got %+v", got)
	}
}

// openai/codex#14880, #14728: crash without limits or without info.
func TestReport32CountsMayBeMissing(t *testing.T) {
	f := read(t, meta(parentID), asked("one"), answered("first"),
		event("token_count", "info", nil, "rate_limits", nil), event("token_count"),
		event("token_count", "info", obj{}), event("token_count", "info", obj{"last_token_usage": nil, "total_token_usage": nil}),
		spent(once, once), spent(once, once), // told again
		event("token_count", "info", obj{"total_token_usage": twice}),                                          // without the last request
		event("token_count", "info", obj{"total_token_usage": obj{"input_tokens": "5", "output_tokens": 1.0}}), // begun anew
		event("token_count", "info", obj{"last_token_usage": obj{"input_tokens": -3, "cached_input_tokens": 9, "output_tokens": 2}}),
	)
	if got, want := f.tokens(), (ambry.Tokens{Input: 205, Cached: 80, Output: 23}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Dicklesworthstone/franken_agent_detection#13: text of the assistant missing.
func TestReport33PartsOfEveryKindAreText(t *testing.T) {
	var lines []string
	for _, kind := range []string{"input_text", "output_text", "text"} {
		lines = append(lines,
			item("message", "role", "user", "content", parts(kind, "user "+kind)),
			item("message", "role", "assistant", "content", parts(kind, "model "+kind)))
	}
	lines = append(lines, item("message", "role", "user", "content", "bare"), item("message", "role", "assistant", "content", "bare"))
	want := []string{
		"user: user input_text", "assistant: model input_text", "user: user output_text", "assistant: model output_text",
		"user: user text", "assistant: model text", "user: bare", "assistant: bare",
	}
	if diff := cmp.Diff(want, read(t, append([]string{meta(parentID)}, lines...)...).said()); diff != "" {
		t.Error(diff)
	}
}

// steipete/CodexBar#2452: large files are read again and again.
func TestReport34OnlyTheEndOfALargeFileIsRead(t *testing.T) {
	home := t.TempDir()
	text := strings.Repeat("some words of a session ", 400)
	lines := []string{meta(parentID)}
	for range 2000 {
		lines = append(lines, asked(text), answered(text))
	}
	path := save(t, home, rollout(parentID), lines...)
	h := codex.Agent().History
	last := func(from agent.Mark) (read int64, mark agent.Mark) {
		src, ok := h.Locate(agent.Home{Dir: home}, path)
		if !ok {
			t.Fatal("not found")
		}
		for item, err := range h.Read(t.Context(), src, from) {
			if err != nil {
				t.Fatal(err)
			}
			read, mark = read+item.Read, item.Next
		}
		return read, mark
	}
	all, mark := last(agent.Mark{})
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(asked("one more") + "\n"); err != nil {
		t.Fatal(err)
	}
	if more, _ := last(mark); more > all/100 {
		t.Errorf("%d bytes were read for one line, %d for all", more, all)
	}
}

// vshulcz/deja-vu#1128: no date, so it comes first.
func TestReport58TimesAreReadInEveryForm(t *testing.T) {
	want := time.Date(2026, 8, 1, 10, 0, 0, 0, time.UTC)
	for _, form := range []any{"2026-08-01T10:00:00Z", "2026-08-01T12:00:00.000000+02:00", "2026-08-01 10:00:00", "2026-08-01T10:00", want.Unix(), want.UnixMilli(), "1785578400", 1785578400.0} {
		data, err := json.Marshal(obj{"timestamp": form, "type": "event_msg", "payload": with("user_message", "message", "one")})
		if err != nil {
			t.Fatal(err)
		}
		for _, turn := range read(t, meta(parentID), string(data)).turns {
			if !turn.At.Equal(want) {
				t.Errorf("%v is %v", form, turn.At)
			}
		}
	}
	for _, turn := range read(t, meta(parentID), `{"timestamp":"soon","type":"event_msg","payload":{"type":"user_message","message":"one"}}`).turns {
		if !turn.At.IsZero() {
			t.Errorf("a time was made up: %v", turn.At)
		}
	}
}

// anthropics/claude-code CHANGELOG (60), getagentseal/codeburn#987 (62):
// history is lost when the agent deletes its files. A reader has no word for
// that: what is gone is not told of.
func TestReport60WhatIsDeletedIsNotTakenBack(t *testing.T) {
	home := t.TempDir()
	path := save(t, home, rollout(parentID), parent()...)
	h := codex.Agent().History
	src, _ := h.Locate(agent.Home{Dir: home}, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for item, err := range h.Read(t.Context(), src, agent.Mark{}) {
		if err == nil {
			t.Errorf("told %+v", item)
		}
	}
	if f := find(t, home); len(f.turns)+len(f.sessions)+len(f.failed) > 0 {
		t.Errorf("found %+v", f)
	}
}

// getagentseal/codeburn#441: one malformed file ends everything.
func TestReport61OneBadFileIsOneBadFile(t *testing.T) {
	home := t.TempDir()
	save(t, home, rollout(parentID), parent()...)
	bad := save(t, home, rollout(laterID)+".zst", "not compressed at all")
	save(t, home, rollout("019fc1b3-9680-7002-8002-000000000003"), "not JSON", "{", string(bytes.Repeat([]byte{0}, 100)), `{"type":7,"payload":[]}`, "[]", "7", `"x"`)
	f := find(t, home)
	if diff := cmp.Diff([]string{bad}, f.failed); diff != "" {
		t.Error(diff)
	}
	if f.skipped != 2 || len(f.turns) != 2 {
		t.Errorf("%d records skipped, %d turns", f.skipped, len(f.turns))
	}
}
