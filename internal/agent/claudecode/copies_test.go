package claudecode_test

import (
	"strings"
	"testing"

	"ambry.dev/ambry"
)

// A session that is resumed, forked or continued often begins with a copy of
// the records of another one. Their ids are the same, so a memory keeps each
// turn once.

func conversation(session string, more ...any) string {
	more = append([]any{"sessionId", session}, more...)
	return prompt("u1", clock(10, 0, 0), "What is it?", more...) +
		reply("a1", clock(10, 0, 5), "m1", says("A cart."), [3]int{3, 100, 20}, more...) +
		prompt("u2", clock(10, 1, 0), "Is it full?", more...) +
		reply("a2", clock(10, 1, 5), "m2", says("No."), [3]int{4, 100, 10}, more...)
}

const conversationTold = `
user: What is it?
assistant: A cart.
--
user: Is it full?
assistant: No.
`

// wantOnce fails if a turn was told a second time: what a file holds of it
// then may be less.
func wantOnce(t *testing.T, a *archive) {
	t.Helper()
	for key, n := range a.told {
		if n > 1 {
			t.Errorf("turn %s is told %d times", key, n)
		}
	}
}

// Clawdi-AI/clawdi#81, anthropics/claude-code#36583
func TestResumedCopyIsTheSameTurns(t *testing.T) {
	a := readFiles(t, map[string]string{
		first: conversation(first),
		second: conversation(second) + prompt("u3", clock(12, 0, 0), "And now?", "sessionId", second) +
			reply("a3", clock(12, 0, 1), "m3", says("Yes."), [3]int{5, 100, 6}, "sessionId", second),
	})
	wantTranscript(t, a, conversationTold+"--\nuser: And now?\nassistant: Yes.\n")
	if len(a.sessions) != 2 {
		t.Errorf("%d sessions, want both", len(a.sessions))
	}
}

// langfuse/claude-observability-plugin#33
func TestResumedCopyCostsNothing(t *testing.T) {
	one := readFiles(t, map[string]string{first: conversation(first)})
	two := readFiles(t, map[string]string{first: conversation(first), second: conversation(second)})
	if one.tokens() != two.tokens() {
		t.Errorf("%+v tokens with the copy, %+v without", two.tokens(), one.tokens())
	}
}

// kenn-io/agentsview#1370
func TestForkInTheBackground(t *testing.T) {
	a := readFiles(t, map[string]string{
		first: conversation(first),
		second: conversation(second, "sessionKind", "bg") +
			prompt("u3", clock(10, 2, 0), "Fill it.", "sessionId", second, "sessionKind", "bg"),
	})
	wantTranscript(t, a, conversationTold+"--\nuser: Fill it.\n")
	if !a.sessions[second].Background || a.sessions[first].Background {
		t.Errorf("background: the fork %v, the other %v", a.sessions[second].Background, a.sessions[first].Background)
	}
}

// anthropics/claude-code#48936
func TestBranchAfterCompactionWritesRecordsAgain(t *testing.T) {
	a := readLines(t,
		conversation(first),
		prompt("c1", clock(11, 0, 0), "This session is being continued from a previous conversation. It was about a cart.", "isCompactSummary", true),
		conversation(first),
		prompt("u3", clock(11, 1, 0), "And now?"))
	wantOnce(t, a)
	wantTranscript(t, a, conversationTold+`summary: This session is being continued from a previous conversation. It was about a cart.
--
user: And now?
`)
	wantTokens(t, a, 207, 200, 30)
}

// A copy of records that does not begin with a prompt, as an editor writes it
// when it is opened again: anthropics/claude-code#56196
func TestRecordsWrittenAgainInAnotherTurn(t *testing.T) {
	lines := strings.SplitAfter(conversation(first), "\n")
	a := readLines(t, conversation(first),
		prompt("u3", clock(12, 0, 0), "And now?"),
		lines[1], lines[2], lines[3],
		reply("a3", clock(12, 0, 9), "m3", says("Yes."), [3]int{5, 100, 6}))
	wantOnce(t, a)
	wantTranscript(t, a, conversationTold+"--\nuser: And now?\nassistant: Yes.\n")
	wantTokens(t, a, 312, 300, 36)
}

// anthropics/claude-code#66454
func TestPromptWrittenFourTimes(t *testing.T) {
	one := prompt("u1", clock(10, 0, 0), "What is it?")
	a := readLines(t, one, one, one, one, reply("a1", clock(10, 0, 5), "m1", says("A cart."), [3]int{3, 100, 20}), one)
	wantOnce(t, a)
	wantTranscript(t, a, "user: What is it?\nassistant: A cart.\n")
}

// anthropics/claude-code#5034
func TestHistoryRepeatedInOneFileUnderOtherIDs(t *testing.T) {
	again := strings.NewReplacer(`"uuid":"u1"`, `"uuid":"v1"`, `"uuid":"a1"`, `"uuid":"b1"`, `"uuid":"u2"`, `"uuid":"v2"`, `"uuid":"a2"`, `"uuid":"b2"`)
	a := readLines(t, conversation(first), again.Replace(conversation(first)), prompt("u3", clock(10, 2, 0), "And now?"))
	wantOnce(t, a)
	wantTranscript(t, a, conversationTold+"--\nuser: And now?\n")
	wantTokens(t, a, 207, 200, 30)
}

func TestHistoryRepeatedAtOnce(t *testing.T) {
	quick := prompt("u1", clock(10, 0, 0), "What is it?") + reply("a1", clock(10, 0, 5), "m1", says("A cart."), [3]int{3, 0, 2}) +
		prompt("u2", clock(10, 0, 9), "Is it full?") + reply("a2", clock(10, 0, 12), "m2", says("No."), [3]int{3, 0, 2})
	a := readLines(t, quick, quick)
	wantTranscript(t, a, conversationTold)
	wantOnce(t, a)
}

// The same words at another time are said again.
func TestSamePromptTwiceIsTwoTurns(t *testing.T) {
	a := readLines(t, prompt("u1", clock(10, 0, 0), "yes"), prompt("u2", clock(10, 0, 1), "yes"), prompt("u3", clock(10, 0, 1), "no"))
	wantTranscript(t, a, "user: yes\n--\nuser: yes\n--\nuser: no\n")
}

// A wrong clock does no harm beyond its turn.
func TestClockThatWasWrong(t *testing.T) {
	a := readLines(t,
		prompt("u1", "2098-01-01T00:00:00Z", "What is it?"),
		reply("a1", "2098-01-01T00:00:05Z", "m1", says("A cart."), [3]int{}),
		conversation(first)[strings.Index(conversation(first), "\n")+1:])
	if got := a.transcript(); !strings.Contains(got, "user: Is it full?\nassistant: No.\n") {
		t.Errorf("got\n%s", got)
	}
}

// anthropics/claude-code#8524
func TestContinuedUnderAnotherID(t *testing.T) {
	a := readFiles(t, map[string]string{
		first:  conversation(first),
		second: conversation(first) + prompt("u3", clock(12, 0, 0), "And now?", "sessionId", second),
	})
	got := a.sessions[second]
	if got.ParentID != first || got.Relation != ambry.Continuation {
		t.Errorf("the parent is %q, by %q", got.ParentID, got.Relation)
	}
	if got := a.sessions[first]; got.ParentID != "" || got.Relation != ambry.Root {
		t.Errorf("the first one has parent %q, by %q", got.ParentID, got.Relation)
	}
}

func TestForkWithIDsOfItsOwn(t *testing.T) {
	copied := prompt("w1", clock(10, 0, 0), "What is it?", "sessionId", second, "forkedFrom", map[string]any{"sessionId": first, "messageUuid": "u1"}) +
		reply("w2", clock(10, 0, 5), "m1", says("A cart."), [3]int{3, 100, 20}, "sessionId", second, "forkedFrom", map[string]any{"sessionId": first, "messageUuid": "a1"})
	a := readFiles(t, map[string]string{first: conversation(first), second: copied + prompt("w3", clock(12, 0, 0), "Explain.", "sessionId", second)})
	wantTranscript(t, a, conversationTold+"--\nuser: Explain.\n")
	if got := a.sessions[second]; got.ParentID != first || got.Relation != ambry.Fork {
		t.Errorf("the parent is %q, by %q", got.ParentID, got.Relation)
	}
}

func TestRenamedFileIsTheSessionItNames(t *testing.T) {
	a := readFiles(t, map[string]string{"my best session": conversation(first)})
	if got := a.sessions[first]; got.ID != first || got.ParentID != "" {
		t.Errorf("got %+v", a.sessions)
	}
}
