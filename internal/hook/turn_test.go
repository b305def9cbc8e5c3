package hook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/redact"
)

func stops(session, answer string) string {
	data, err := json.Marshal(map[string]string{"session_id": session, "last_assistant_message": answer, "hook_event_name": "Stop"})
	if err != nil {
		panic(err)
	}
	return string(data)
}

func TestATurnIsKeptOnce(t *testing.T) {
	w := newWorld(t)
	w.hook("claude-code", "UserPromptSubmit", asks("s", question))
	w.hook("claude-code", "UserPromptSubmit", asks("s", question)) // the hook is installed twice
	w.silent("claude-code", "Stop", stops("s", "Eleven."))
	w.silent("claude-code", "Stop", stops("s", "Eleven."))
	w.silent("claude-code", "PreCompact", `{"session_id":"s"}`)
	w.take()
	w.silent("claude-code", "SessionEnd", `{"session_id":"s"}`)
	w.silent("claude-code", "Stop", stops("s", "Eleven."))
	w.take()
	w.wantTurns("told several times", 1)
	if files := w.kept(); len(files) > 0 {
		t.Errorf("left are %v", files)
	}
}

func TestATurnThatGoesOnIsBroughtUpToDate(t *testing.T) {
	w := newWorld(t)
	w.hook("claude-code", "UserPromptSubmit", asks("s", question))
	w.silent("claude-code", "Stop", stops("s", "I am not sure."))
	w.take()
	w.silent("claude-code", "Stop", stops("s", "Eleven days."))
	w.take()
	w.wantTurns("told again with more", 1)
	if d := w.only(); d.Turn.Messages[1].Text != "Eleven days." {
		t.Errorf("got %+v", d.Turn.Messages)
	}
}

func TestTheEndOfATurnMaySayWhatWasAsked(t *testing.T) {
	w := newWorld(t)
	for i, asked := range []string{"why?", "password=" + "hunter22hunter22 is what?", "why not?"} {
		w.later(time.Minute)
		prompt := fmt.Sprintf(`"session_id":"s","prompt":"%s"`, asked)
		if i != 1 { // of one turn nobody told that it began
			w.hook("gemini", "BeforeAgent", "{"+prompt+"}")
		}
		w.later(time.Minute)
		w.silent("gemini", "AfterAgent", "{"+prompt+`,"prompt_response":"Because."}`)
		w.silent("gemini", "AfterAgent", "{"+prompt+`,"prompt_response":"Because."}`)
	}
	w.take()
	w.wantTurns("three turns", 3)
}

func TestATurnThatNeverEndedIsKeptWithTheNext(t *testing.T) {
	w := newWorld(t)
	w.hook("codex", "UserPromptSubmit", asks("s", "first: "+question))
	w.later(time.Minute)
	w.hook("codex", "UserPromptSubmit", asks("s", "second, something else"))
	w.silent("codex", "Stop", stops("s", "Done."))
	w.silent("codex", "UserPromptSubmit", asks("t", "third, of a session that ends"))
	w.silent("codex", "SessionEnd", `{"session_id":"t"}`)
	w.take()
	w.wantTurns("two unfinished and one finished", 3)
}

func TestAgentsWithoutSessionsDoNotMixProjects(t *testing.T) {
	w := newWorld(t)
	for _, dir := range []string{"/a", "/b"} {
		w.silent("kiro", "userPromptSubmit", `{"cwd":"`+dir+`","prompt":"rename the flag in `+dir+`"}`)
	}
	for _, dir := range []string{"/a", "/b"} {
		w.silent("kiro", "stop", `{"cwd":"`+dir+`","assistant_response":"It is done in `+dir+`"}`)
	}
	w.silent("kiro", "userPromptSubmit", `{"prompt":"nowhere at all"}`)
	w.silent("kiro", "stop", `{"assistant_response":"nowhere"}`)
	w.take()
	page, err := w.Sessions(t.Context(), ambry.SessionsQuery{Page: 1})
	if err != nil || len(page.Sessions) != 2 || page.Sessions[0].Project == page.Sessions[1].Project {
		t.Errorf("got %+v and error %v", page.Sessions, err)
	}
}

func TestTheAnswerIsReadFromTheTranscriptIfItMust(t *testing.T) {
	w := newWorld(t)
	path := filepath.Join(t.TempDir(), "s.jsonl")
	line := func(kind, at, content string) string {
		return `{"type":"` + kind + `","timestamp":"` + at + `","message":{"role":"` + kind + `","content":` + content + "}}\n"
	}
	text := line("assistant", "2026-06-01T11:00:00Z", `[{"type":"text","text":"an older one"}]`) +
		line("user", "2026-06-01T12:00:01Z", `"`+question+`"`) +
		line("assistant", "2026-06-01T12:00:02Z", `[{"type":"text","text":"Let me look."},{"type":"tool_use","name":"x","input":{"text":"no"}}]`) +
		line("assistant", "2026-06-01T12:00:03Z", `[{"type":"text","text":"Eleven days."}]`) +
		line("assistant", "2026-06-01T12:00:04Z", `[{"type":"tool_use","name":"x"}]`) + `{"type":"assist`
	if err := os.WriteFile(path, []byte(strings.Repeat(line("user", "2026-06-01T10:00:00Z", `"x"`), 9000)+text), 0o600); err != nil {
		t.Fatal(err)
	}
	w.hook("claude-code", "UserPromptSubmit", asks("s", question))
	w.silent("claude-code", "Stop", `{"session_id":"s","transcript_path":"`+path+`"}`)
	w.take()
	if d := w.only(); len(d.Turn.Messages) != 2 || d.Turn.Messages[1].Text != "Eleven days." {
		t.Errorf("got %+v", d.Turn.Messages)
	}
	events := `{"type":"assistant.message","data":{"content":"Twelve days."},"timestamp":"2026-06-01T12:00:03Z"}` + "\n" + `{"type":"hook.start","data":{}}` + "\n"
	if err := os.WriteFile(path, []byte(events), 0o600); err != nil {
		t.Fatal(err)
	}
	w.hook("copilot", "userPromptSubmitted", `{"sessionId":"c","cwd":"/a","prompt":"what does it say?"}`)
	w.silent("copilot", "agentStop", `{"sessionId":"c","transcriptPath":"`+path+`"}`)
	w.take()
	if a, err := w.Search(t.Context(), ambry.Query{Query: "twelve"}); err != nil || len(a.Hits) != 1 {
		t.Errorf("Copilot's transcript gave %d hits and error %v", len(a.Hits), err)
	}
	for _, odd := range []string{"relative.jsonl", filepath.Dir(path), "/dev/zero", path + ".gone"} {
		w.later(time.Minute)
		w.hook("claude-code", "UserPromptSubmit", asks("s", "and "+odd))
		w.silent("claude-code", "Stop", `{"session_id":"s","transcript_path":"`+odd+`"}`)
	}
	w.take()
	w.wantTurns("with odd transcripts", 6)
}

func TestTheAnswerIsReadWhereKimiWritesIt(t *testing.T) {
	w := newWorld(t)
	w.env["KIMI_CODE_HOME"] = t.TempDir()
	said := func(at int, text string) string {
		return fmt.Sprintf(`{"message":{"message":{"role":"assistant","content":[{"type":"think","think":"no"},{"type":"text","text":"%s"}]}},"type":"agent.message.appended","time":%d}`+"\n", text, noon.UnixMilli()+int64(at))
	}
	path := filepath.Join(w.env["KIMI_CODE_HOME"], "sessions", "wd_shop_1", "s", "agents", "main", "wire.jsonl")
	w.write(path, []byte(said(-1000, "an older one")+said(1000, "Let me look.")+said(2000, "Eleven days.")+`{"type":"turn.ended","time":1}`+"\n"))
	w.hook("kimi", "UserPromptSubmit", asks("s", question))
	w.silent("kimi", "Stop", `{"session_id":"s"}`)
	w.take()
	if d := w.only(); len(d.Turn.Messages) != 2 || d.Turn.Messages[1].Text != "Eleven days." {
		t.Errorf("got %+v", d.Turn.Messages)
	}
	w.hook("kimi", "UserPromptSubmit", asks("another", question))
	w.silent("kimi", "Stop", `{"session_id":"another"}`)
	w.take()
	w.wantTurns("one of which nothing is written", 2)
}

func TestNoSecretTouchesTheDisk(t *testing.T) {
	w := newWorld(t)
	secret := "sk-" + "ant-" + "api03-" + strings.Repeat("Zq9x", 20) + "AA"
	w.hook("claude-code", "UserPromptSubmit", asks("s", "is my key "+secret+" still good?"))
	if all := w.bytesOnDisk(); strings.Contains(all, secret) || !strings.Contains(all, "still good?") {
		t.Errorf("after the prompt: %s", all)
	}
	w.silent("claude-code", "Stop", stops("s", "I put "+secret+" into the file."))
	if all := w.bytesOnDisk(); strings.Contains(all, secret) || !strings.Contains(all, "into the file") {
		t.Errorf("after the turn: %s", all)
	}
}

func TestWhatWasRecalledIsNotRememberedAgain(t *testing.T) {
	w := newWorld(t)
	w.hook("opencode", "chat.message", `{"sessionID":"s","directory":"/a","prompt":"<recalled_history trust=\"untrusted\">\nold words\n</recalled_history>\nWhat now?"}`)
	w.silent("opencode", "session.idle", `{"sessionID":"s","answer":"This."}`)
	w.take()
	if d := w.only(); d.Turn.Messages[0].Text != "What now?" {
		t.Errorf("got %+v", d.Turn.Messages)
	}
}

// flaky takes turns, and fails at some calls before or after it has.
type flaky struct {
	*world
	calls  int
	failAt int
	after  bool // it took the turn, and nobody hears of it
}

func (f *flaky) CompleteTurn(ctx context.Context, turn string, c ambry.TurnComplete, key string) (out ambry.TurnCompleted, err error) {
	f.calls++
	fail := f.calls == f.failAt
	if !fail || f.after {
		out, err = f.world.CompleteTurn(ctx, turn, c, key)
	}
	if fail {
		return ambry.TurnCompleted{}, ambry.MemoryUnavailable.Errorf("gone")
	}
	return out, err
}

func TestTheSpoolIsTakenExactlyOnceWhereverItIsInterrupted(t *testing.T) {
	const turns = 4
	for failAt := 1; failAt <= turns; failAt++ {
		for _, after := range []bool{false, true} {
			w := newWorld(t)
			for i := range turns {
				w.later(time.Minute)
				w.hook("claude-code", "UserPromptSubmit", asks("s", fmt.Sprint("what is in parcel number ", i, " of the shipment?")))
				w.silent("claude-code", "Stop", stops("s", fmt.Sprint("There is item ", i, " in it.")))
			}
			w.spool.Turns = &flaky{world: w, failAt: failAt, after: after}
			if err := w.spool.Take(t.Context()); err == nil {
				t.Fatal("nothing failed; the test sees nothing")
			}
			if got := len(w.kept()); got != turns-failAt+1 {
				t.Errorf("failed at %d: %d are left", failAt, got)
			}
			w.take()
			w.wantTurns(fmt.Sprint("failed at ", failAt, ", after taking: ", after), turns)
			if got := len(w.kept()); got != 0 {
				t.Errorf("%d are left", got)
			}
		}
	}
}

func TestTheLogOfTheAgentDoesNotDoubleTheTurn(t *testing.T) {
	for _, order := range []string{"hook first", "log first", "log half"} {
		w := newWorld(t)
		w.hook("claude-code", "UserPromptSubmit", asks("s", question))
		log := ambry.Conversation{
			Session: ambry.Session{Agent: "claude_code", ID: "s", Cwd: "/home/ana/web"},
			Turns: []ambry.Turn{{ID: "uuid-of-the-log", At: noon.Add(40 * time.Millisecond), Messages: []ambry.Message{
				{ID: "1", Role: ambry.User, Text: question, At: noon.Add(40 * time.Millisecond)},
				{ID: "2", Role: ambry.Assistant, Text: "Let me look.", At: noon.Add(time.Second), Calls: []ambry.ToolCall{{ID: "c", Name: "Bash", Input: "grep quarantine", Done: true}}},
				{ID: "3", Role: ambry.Assistant, Text: "Eleven days.", At: noon.Add(time.Minute)},
			}}},
		}
		read := func(messages int) {
			t.Helper()
			part := log
			part.Turns = []ambry.Turn{log.Turns[0]}
			part.Turns[0].Messages = log.Turns[0].Messages[:messages]
			if _, err := w.Import(t.Context(), []redact.Conversation{redact.Clean(part)}); err != nil {
				t.Fatal(err)
			}
		}
		switch order {
		case "log first":
			read(3)
		case "log half":
			read(2)
		}
		w.later(time.Minute)
		w.silent("claude-code", "Stop", stops("s", "Eleven days."))
		w.take()
		read(3)
		w.wantTurns(order, 1)
		if d := w.only(); len(d.Turn.Messages) != 3 || d.TurnID != "uuid-of-the-log" {
			t.Errorf("%s: the log does not stand: %+v", order, d.Turn)
		}
	}
}

func TestATurnIsCalledAsInTheLogWhereTheAgentSaysSo(t *testing.T) {
	for agent, want := range map[string]bool{"codex": true, "claude-code": false} {
		w := newWorld(t)
		w.hook(agent, "UserPromptSubmit", `{"session_id":"s","turn_id":"own","prompt":"what is it called?"}`)
		w.silent(agent, "Stop", `{"session_id":"s","turn_id":"own","last_assistant_message":"So."}`)
		w.take()
		if d := w.only(); (d.TurnID == "own") != want {
			t.Errorf("%s: the turn is called %s", agent, d.TurnID)
		}
	}
}

func TestWhatTheMemoryRefusesIsNotTriedForEver(t *testing.T) {
	w := newWorld(t)
	for name, text := range map[string]string{
		"1.json": "{", "2.json": `{"session":{"agent":"codex","id":"bad id/../"},"turns":[{"id":"t","messages":[{"role":"user","text":"x"}]}]}`, "3.json": `{"turns":[]}`,
	} {
		if err := os.WriteFile(filepath.Join(w.dir, "spool", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.hook("codex", "UserPromptSubmit", asks("s", question))
	w.silent("codex", "Stop", stops("s", "Eleven."))
	w.take()
	w.wantTurns("beside what is refused", 1)
	if files := w.kept(); len(files) > 0 {
		t.Errorf("left are %v", files)
	}
}

func TestTheSpoolIsBounded(t *testing.T) {
	w := newWorld(t)
	for i := range 2000 {
		if err := os.WriteFile(filepath.Join(w.dir, "spool", fmt.Sprintf("%020d-x.json", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.hook("codex", "UserPromptSubmit", asks("s", question))
	w.silent("codex", "Stop", stops("s", "Eleven."))
	if len(w.kept()) != 2000 || len(w.reason) != 1 || !strings.Contains(w.reason[0], "full") {
		t.Errorf("%d are kept, because %v", len(w.kept()), w.reason)
	}
}

func TestTheServiceTakesWhatIsKeptWhileItRuns(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	taken := make(chan string, 8)
	w.spool.Turns = tells{w, taken}
	done := make(chan error, 1)
	w.hook("codex", "UserPromptSubmit", asks("s", question))
	w.silent("codex", "Stop", stops("s", "Eleven.")) // before it runs
	go func() { done <- w.spool.Run(ctx) }()
	if got := <-taken; got != "Eleven." {
		t.Errorf("got %q", got)
	}
	w.hook("codex", "UserPromptSubmit", asks("t", question))
	w.silent("codex", "Stop", stops("t", "Twelve."))
	if got := <-taken; got != "Twelve." {
		t.Errorf("got %q", got)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// tells is a memory that tells of what it takes.
type tells struct {
	*world
	taken chan string
}

func (m tells) CompleteTurn(ctx context.Context, turn string, c ambry.TurnComplete, key string) (ambry.TurnCompleted, error) {
	out, err := m.world.CompleteTurn(ctx, turn, c, key)
	m.taken <- c.Answer
	return out, err
}

// A process of a hook, or the service, may be killed while it writes.
func TestWhatADeadProcessWroteIsRemoved(t *testing.T) {
	w := newWorld(t)
	dead := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	living := fmt.Sprintf(".%d.1.ambry-tmp", os.Getpid())
	for _, dir := range []string{"spool", "turns"} {
		for _, name := range []string{fmt.Sprintf(".%d.1.ambry-tmp", dead.Process.Pid), living, ".name.ambry-tmp"} {
			w.write(filepath.Join(w.dir, dir, name), []byte(`{"conversa`))
		}
	}
	w.take()
	for _, dir := range []string{"spool", "turns"} {
		left, err := os.ReadDir(filepath.Join(w.dir, dir))
		if err != nil || len(left) != 2 || left[0].Name() != living {
			t.Errorf("in %s are %v, %v; want what a living process writes and what is of nobody", dir, left, err)
		}
	}
}
