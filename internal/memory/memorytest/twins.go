package memorytest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ambry.dev/ambry"
)

func turnForgotten(t *testing.T, m Told) {
	for i, told := range []bool{true, false} {
		request := fmt.Sprint("please forget what the staging host number ", i, " is called, it is not for everybody")
		own := fmt.Sprint("own-", i)
		c := ambry.TurnComplete{SessionID: own, Source: "codex", Query: request, Answer: "It is called amber.", StartedAt: noon}
		log := session("codex", own, [2]string{request, "It is called amber."})
		if !told {
			mustImport(t, m, log)
		}
		done := mustComplete(t, m, log.Turns[0].ID, c)
		if _, err := m.Forget(t.Context(), done.MemoryID, ""); err != nil {
			t.Fatal(err)
		}
		_, err := m.CompleteTurn(t.Context(), log.Turns[0].ID, c, "")
		wantKind(t, "completing what was forgotten", err, ambry.Gone)
		mustImport(t, m, log)
		// The agent's log under ids that nobody told.
		other := session("codex", own+"-of-the-log", [2]string{request, "It is called amber."})
		other.Turns[0].At = noon.Add(2 * time.Second)
		mustImport(t, m, other)
		if told {
			wantCounts(t, fmt.Sprint("told: ", told), m, 0, 0, 0)
		}
		if a := mustSearch(t, m, ambry.Query{Query: "amber", InSession: own}); len(a.Hits) != 0 {
			t.Errorf("told: %v: it came back as %+v", told, a.Hits[0])
		}
	}
}

// oneTurn tells of a turn twice, by the agent while it happens and by the log of
// the agent, in every order and with ids that agree or not.
func oneTurn(t *testing.T, m Told) {
	n := 0
	for _, ids := range []struct {
		name                string
		sameSession, sameID bool
	}{{"the agent's own ids", true, true}, {"its own session", true, false}, {"ids of its own", false, false}} {
		for _, order := range []string{"told, read", "read, told", "started, read, told", "read half, told, read", "read begun, told, read", "read begun, started, told, read half", "told, read, told, read"} {
			name := ids.name + ": " + order
			n++
			request := fmt.Sprintf("please find out why the importer number %d drops the last line of a file", n)
			log := session("claude_code", fmt.Sprint("log-", n), [2]string{request, "Let me look."})
			turn := &log.Turns[0]
			turn.At = noon.Add(time.Duration(n) * time.Hour)
			turn.Messages[0].At, turn.Messages[1].At = turn.At, turn.At.Add(time.Second)
			turn.Messages = append(turn.Messages, ambry.Message{
				ID: "last", Role: ambry.Assistant, Text: "It stops at EOF  before\nthe flush.", At: turn.At.Add(time.Minute),
				Calls: []ambry.ToolCall{{ID: "c", Name: "shell", Input: fmt.Sprint("grep flush", n), Done: true}},
			})
			own, id := fmt.Sprint("own-", n), "turn-1"
			if ids.sameSession {
				own = log.Session.ID
			}
			if ids.sameID {
				id = turn.ID
			}
			var told ambry.TurnCompleted
			for _, step := range strings.Split(order, ", ") {
				switch step {
				case "started":
					mustStart(t, m, ambry.TurnStart{SessionID: own, Source: "claude_code", TurnID: id, Query: request})
				case "told":
					told = mustComplete(t, m, id, ambry.TurnComplete{
						SessionID: own, Source: "claude_code", Query: request, Answer: "It stops at EOF before the flush.", StartedAt: turn.At.Add(700 * time.Millisecond),
					})
				case "read half":
					half := log
					half.Turns = []ambry.Turn{*turn}
					half.Turns[0].Messages = turn.Messages[:2]
					mustImport(t, m, half)
				case "read begun":
					begun := log
					begun.Turns = []ambry.Turn{*turn}
					begun.Turns[0].Messages = []ambry.Message{{ID: "rules", Role: ambry.User, Text: "Follow the rules.", Hidden: true, At: turn.At}}
					mustImport(t, m, begun)
				case "read":
					mustImport(t, m, log)
				}
			}
			mustImport(t, m, log)
			wantCounts(t, name, m, int64(n), int64(n), int64(n))
			d := mustGet(t, m, told.MemoryID)
			if d.TurnID != turn.ID || d.SessionID != log.Session.ID || d.Source != turn.Source || len(d.Turn.Messages) != 3 {
				t.Errorf("%s: the log does not stand: got %+v", name, d.Memory)
			}
			if h := only(t, m, fmt.Sprint(`"grep flush`, n, `"`)); h.ID != told.MemoryID {
				t.Errorf("%s: what only the log has is found as %s, not %s", name, h.ID, told.MemoryID)
			}
		}
	}
}

// alikeTurns says the same several times.
func alikeTurns(t *testing.T, m Told) {
	complete := func(own, id, request, answer string, at time.Time) {
		t.Helper()
		mustComplete(t, m, id, ambry.TurnComplete{SessionID: own, Source: "codex", Query: request, Answer: answer, StartedAt: at})
	}
	read := func(id, request, answer string, at time.Time) {
		t.Helper()
		log := session("codex", id, [2]string{request, answer})
		log.Turns[0].At = at
		mustImport(t, m, log)
	}
	complete("own", "1", "go on", "Done.", noon)
	complete("own", "2", "go on", "Done.", noon.Add(time.Minute))
	wantCounts(t, "told twice in a session", m, 2, 2, 1)
	read("another-day", "go on", "Done.", noon.Add(26*time.Hour))
	wantCounts(t, "read of another day", m, 3, 3, 2)
	read("an-hour-later", "go on", "Done.", noon.Add(time.Hour))
	wantCounts(t, "a short one, read an hour later in another session", m, 4, 4, 3)
	read("at-once", "go on", "No.", noon.Add(time.Second))
	wantCounts(t, "a short one with another answer", m, 5, 5, 4)
	long := "go on with the plan that we made yesterday for the importer, step by step"
	read("long-one", long, "The first step is done.", noon)
	complete("own", "3", long, "The second step is done.", noon.Add(time.Hour))
	wantCounts(t, "a long one with another answer an hour later", m, 7, 7, 5)
	log := session("cursor", "of-another-agent", [2]string{long, "The second step is done."})
	log.Turns[0].At = noon.Add(time.Hour)
	mustImport(t, m, log)
	wantCounts(t, "the same by another agent", m, 8, 8, 6)
}
