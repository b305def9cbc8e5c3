package hook_test

import (
	"strings"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/redact"
)

const hangar = "where is the zeppelin hangar of the old airfield, near the river or near the wood?"

// says selects turns with words in what was asked or answered.
func says(words string) func(ambry.Conversation, bool) bool {
	return func(c ambry.Conversation, _ bool) bool {
		for _, m := range c.Turns[0].Messages {
			if strings.Contains(m.Text, words) {
				return true
			}
		}
		return false
	}
}

// forget forgets words as the service does.
func (w *world) forget(words string) {
	w.t.Helper()
	if err := w.spool.Settle(w.t.Context(), says(words), false); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.ForgetAll(w.t.Context(), ambry.Forget{Words: words}, ""); err != nil {
		w.t.Fatal(err)
	}
}

// gone checks that words stand in no file of hooks, and that neither the spool
// nor the log of the agent brings the turn back.
func (w *world) gone(words string, again ...ambry.Turn) {
	w.t.Helper()
	if strings.Contains(w.bytesOnDisk(), words) {
		w.t.Errorf("%q is in the files of hooks", words)
	}
	w.take()
	if len(again) > 0 {
		c := ambry.Conversation{Session: ambry.Session{Agent: "claude_code", ID: "s1", Cwd: "/home/ana/web", StartedAt: noon, EndedAt: noon}, Turns: again}
		if _, err := w.Import(w.t.Context(), []redact.Conversation{redact.Clean(c)}); err != nil {
			w.t.Fatal(err)
		}
	}
	w.wantTurns("when all has come again", 0)
}

// asLogged is the turn as the log of the agent tells of it.
func (w *world) asLogged(answer string) ambry.Turn {
	return ambry.Turn{ID: "from-the-log", At: w.now(), Messages: []ambry.Message{
		{ID: "q", Role: ambry.User, Text: hangar, At: w.now()}, {ID: "a", Role: ambry.Assistant, Text: answer, At: w.now()},
	}}
}

func TestForgettingReachesATurnThatWaitsForTheService(t *testing.T) {
	w := newWorld(t)
	w.hook("claude_code", "UserPromptSubmit", asks("s1", hangar))
	w.silent("claude_code", "Stop", `{"session_id":"s1","last_assistant_message":"Near the river."}`)
	if len(w.kept()) != 1 {
		t.Fatalf("kept are %v", w.kept())
	}
	w.forget("zeppelin hangar")
	w.gone("zeppelin", w.asLogged("Near the river."))
}

// Killed after the memory has a turn and before its file is gone, the file comes
// again.
func TestAFileThatComesAgainStaysForgotten(t *testing.T) {
	w := newWorld(t)
	w.hook("claude_code", "UserPromptSubmit", asks("s1", hangar))
	w.silent("claude_code", "Stop", `{"session_id":"s1","last_assistant_message":"Near the river."}`)
	path := w.kept()[0]
	data := w.read(path)
	w.forget("zeppelin hangar")
	w.write(path, data)
	w.take()
	w.gone("zeppelin", w.asLogged("Near the river."))
}

func TestForgettingReachesATurnThatHasNotEnded(t *testing.T) {
	w := newWorld(t)
	w.hook("claude_code", "UserPromptSubmit", asks("s1", hangar))
	if err := w.spool.Settle(t.Context(), says("zeppelin"), true); err != nil {
		t.Fatal(err)
	}
	w.wantTurns("when it is only tried", 1)
	if !strings.Contains(w.bytesOnDisk(), "zeppelin") {
		t.Error("trying it changes what hooks know")
	}
	w.forget("zeppelin hangar")
	w.silent("claude_code", "Stop", `{"session_id":"s1","last_assistant_message":"The zeppelin hangar is near the river."}`)
	w.gone("zeppelin", w.asLogged("The zeppelin hangar is near the river."))
}

func TestWhatIsNotSelectedGoesOn(t *testing.T) {
	w := newWorld(t)
	w.hook("claude_code", "UserPromptSubmit", asks("s1", hangar))
	w.silent("claude_code", "Stop", `{"session_id":"s1","last_assistant_message":"Near the river."}`)
	w.hook("claude_code", "UserPromptSubmit", asks("s2", question))
	w.forget("zeppelin hangar")
	w.silent("claude_code", "Stop", `{"session_id":"s2","last_assistant_message":"Eleven days."}`)
	w.take()
	if d := w.only(); d.Turn == nil || d.Turn.Messages[0].Text != question || len(d.Turn.Messages) != 2 {
		t.Errorf("got %+v", d.Turn)
	}
}
