package memorytest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory"
	"ambry.dev/ambry/internal/redact"
)

func importAgain(t *testing.T, rt memory.Runtime) {
	c := session("codex", "s", [2]string{"why is the parser slow", "it copies"}, [2]string{"fix the flaky test", "done"})
	want := ambry.Imported{Conversations: 1, Turns: 2, Added: 2, Messages: 4, Bytes: 22 + 9 + 18 + 4}
	if got := mustImport(t, rt, c); got != want {
		t.Errorf("first time: got %+v, want %+v", got, want)
	}
	before := mustGet(t, rt, only(t, rt, "parser").ID)
	want.Added, want.Unchanged = 0, 2
	if got := mustImport(t, rt, c); got != want {
		t.Errorf("second time: got %+v, want %+v", got, want)
	}
	if diff := cmp.Diff(before, mustGet(t, rt, before.ID)); diff != "" {
		t.Errorf("importing again changed a memory (-before +after):\n%s", diff)
	}
}

func importGrown(t *testing.T, rt memory.Runtime) {
	c := session("codex", "s", [2]string{"why is the parser slow", "let me look"})
	mustImport(t, rt, c)
	before := only(t, rt, "parser")
	turn := &c.Turns[0]
	turn.Messages[1].Text = "it copies every chunk"
	turn.Messages = append(turn.Messages, ambry.Message{ID: "more", Role: ambry.Assistant, Text: "a benchmark proves the allocation", At: noon.Add(time.Minute), Line: 9})
	c.Session.Title = "Parser speed"
	if got := mustImport(t, rt, c); got.Updated != 1 || got.Added != 0 {
		t.Errorf("got %+v, want one turn updated", got)
	}
	after := only(t, rt, "allocation")
	if after.ID != before.ID {
		t.Errorf("a grown turn has another id: got %s, want %s", after.ID, before.ID)
	}
	d := mustGet(t, rt, after.ID)
	if d.Version <= 1 || d.Session == nil || d.Session.Title != "Parser speed" || len(d.Turn.Messages) != 3 {
		t.Errorf("got version %d, session %+v and %d messages", d.Version, d.Session, len(d.Turn.Messages))
	}
	if a := mustSearch(t, rt, ambry.Query{Query: `"let me look"`}); len(a.Hits) != 0 {
		t.Error("what the turn said before is still found")
	}
}

func importMoved(t *testing.T, rt memory.Runtime) {
	c := session("codex", "s", [2]string{"why is the parser slow", "it copies"})
	mustImport(t, rt, c)
	c.Turns[0].Source.Path = "/home/ana/.logs/archived/s.jsonl"
	mustImport(t, rt, c)
	if got := only(t, rt, "parser").Source.Path; got != c.Turns[0].Source.Path {
		t.Errorf("got source %s, want %s", got, c.Turns[0].Source.Path)
	}
}

func importAllOrNone(t *testing.T, rt memory.Runtime) {
	good, bad := session("codex", "good", [2]string{"question", "answer"}), session("codex", "bad", [2]string{"question", "answer"})
	bad.Turns[0].ID = ""
	_, err := rt.Import(t.Context(), []redact.Conversation{redact.Clean(good), redact.Clean(bad)})
	wantKind(t, "a turn without id", err, ambry.InvalidArgument)
	if h, err := rt.Status(t.Context()); err != nil || h.Memories != 0 {
		t.Errorf("got %d memories and error %v, want none", h.Memories, err)
	}
}

func importNothing(t *testing.T, rt memory.Runtime) {
	if got := mustImport(t, rt); got != (ambry.Imported{}) {
		t.Errorf("no conversation: got %+v", got)
	}
	c := session("codex", "s")
	if got := mustImport(t, rt, c); got != (ambry.Imported{Conversations: 1}) {
		t.Errorf("a conversation without turns: got %+v", got)
	}
}

func hiddenTurn(t *testing.T, rt memory.Runtime) {
	c := session("codex", "s", [2]string{"injected environment", "injected instructions"})
	for i := range c.Turns[0].Messages {
		c.Turns[0].Messages[i].Hidden = true
	}
	mustImport(t, rt, c)
	if h, err := rt.Status(t.Context()); err != nil || h.Memories != 0 {
		t.Errorf("got %d memories and error %v, want none", h.Memories, err)
	}
	c.Turns[0].Messages[0].Hidden = false
	mustImport(t, rt, c)
	only(t, rt, "injected environment")
}

// resumed is a session, a later copy of it that goes on, and a fork that an
// agent made of it.
func resumed() []ambry.Conversation {
	original := session("claude_code", "original", [2]string{"plan the migration", "three steps"}, [2]string{"write the backup", "written"})
	again := session("claude_code", "again", [2]string{"", ""})
	again.Session.StartedAt = noon.Add(time.Hour)
	again.Turns = slices.Clone(original.Turns)
	for i := range again.Turns {
		t := &again.Turns[i]
		t.Source.Path, t.Source.Line = "/home/ana/.logs/again.jsonl", t.Source.Line+100
		t.Messages = slices.Clone(t.Messages)
		for j := range t.Messages {
			t.Messages[j].Line += 100
			t.Messages[j].At = t.Messages[j].At.Add(time.Hour)
		}
	}
	last := &again.Turns[1]
	last.Messages[1].Text = "written, and tested"
	last.Messages = append(last.Messages, ambry.Message{ID: "only-in-the-copy", Role: ambry.Assistant, Text: "rollback works", At: noon.Add(3 * time.Hour), Line: 190})
	again.Turns = append(again.Turns, session("claude_code", "new", [2]string{"deploy the migration", "deployed"}).Turns...)

	fork := session("claude_code", "fork")
	fork.Session.Background, fork.Session.Relation, fork.Session.ParentID = true, ambry.Subagent, "original"
	fork.Session.StartedAt = noon.Add(-time.Hour)
	fork.Turns = slices.Clone(original.Turns[:1])
	fork.Turns[0].Source.Path = "/home/ana/.logs/fork.jsonl"
	return []ambry.Conversation{original, again, fork}
}

func copiesAreOne(t *testing.T, rt memory.Runtime) {
	cs := resumed()
	mustImport(t, rt, cs...)
	if h, err := rt.Status(t.Context()); err != nil || h.Memories != 3 {
		t.Fatalf("got %d memories and error %v, want 3", h.Memories, err)
	}
	plan := mustGet(t, rt, only(t, rt, "plan").ID)
	if plan.SessionID != "original" || plan.Source.Path != cs[0].Turns[0].Source.Path {
		t.Errorf("the first session that holds a turn owns it: got %s, %s", plan.SessionID, plan.Source.Path)
	}
	rollback := only(t, rt, "rollback")
	if rollback.SessionID != "original" || rollback.Source.Path != cs[1].Turns[1].Source.Path || rollback.Source.Line != 190 {
		t.Errorf("what only the copy has is found there: got %s, %s", rollback.SessionID, rollback.Source)
	}
	deploy := mustGet(t, rt, only(t, rt, "deploy").ID)
	if deploy.Session.Relation != ambry.Continuation || deploy.Session.ParentID != "original" {
		t.Errorf("a copy that goes on is a continuation: got %+v", deploy.Session)
	}
	if again := mustImport(t, rt, cs...); again.Added+again.Updated != 0 {
		t.Errorf("importing all again: got %+v", again)
	}
}

// orderOfArrival imports the same pieces in many orders, each into sessions of
// their own.
func orderOfArrival(t *testing.T, rt memory.Runtime) {
	var want []ambry.Detail
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 12 {
		cs := resumed()
		prefix := fmt.Sprintf("round%d-", round)
		for i := range cs {
			cs[i].Session.Agent = fmt.Sprintf("agent%d", round)
			for j := range cs[i].Turns {
				cs[i].Turns[j].Messages = slices.Clone(cs[i].Turns[j].Messages)
				for k := range cs[i].Turns[j].Messages {
					m := &cs[i].Turns[j].Messages[k]
					m.Text = prefix + " " + m.Text
				}
			}
		}
		var pieces []ambry.Conversation
		for _, c := range cs {
			for _, turn := range c.Turns {
				pieces = append(pieces, ambry.Conversation{Session: c.Session, Turns: []ambry.Turn{turn}})
			}
		}
		random.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
		for _, p := range pieces {
			mustImport(t, rt, p)
		}
		got := normalised(t, rt, cs[0].Session.Agent, prefix)
		if want == nil {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("round %d differs (-first +this):\n%s", round, diff)
		}
	}
	if len(want) != 3 {
		t.Errorf("got %d memories in a round, want 3", len(want))
	}
}

// normalised returns the memories of an agent without what names the round, and
// without versions, which do depend on the order.
func normalised(t *testing.T, rt memory.Runtime, agent, prefix string) []ambry.Detail {
	t.Helper()
	var out []ambry.Detail
	for _, h := range mustSearch(t, rt, ambry.Query{Query: "plan backup deploy", Agents: []string{agent}}).Hits {
		d := mustGet(t, rt, h.ID)
		d.ID, d.Agent, d.Body, d.Version, d.UpdatedAt = "", "", "", 0, time.Time{}
		d.Session.Agent = ""
		d.Title, d.Summary = d.Title[len(prefix):], d.Summary[len(prefix):]
		for i := range d.Turn.Messages {
			d.Turn.Messages[i].Text = d.Turn.Messages[i].Text[len(prefix):]
		}
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b ambry.Detail) int { return cmpString(a.TurnID, b.TurnID) })
	return out
}

func cmpString(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func forgottenStays(t *testing.T, rt memory.Runtime) {
	c := session("codex", "s", [2]string{"why is the parser slow", "it copies"}, [2]string{"fix the flaky test", "done"})
	mustImport(t, rt, c)
	id := only(t, rt, "parser").ID
	f, err := rt.Forget(t.Context(), id, "")
	if err != nil {
		t.Fatal(err)
	}
	if !f.OK || f.ID != id || f.Kind != "trace" || f.Status != ambry.Deleted || f.ChangeSeq == 0 {
		t.Errorf("receipt: got %+v", f)
	}
	gone := func(when string) {
		t.Helper()
		_, err := rt.Get(t.Context(), id)
		wantKind(t, when+": get", err, ambry.NotFound)
		if a := mustSearch(t, rt, ambry.Query{Query: "parser"}); len(a.Hits) != 0 {
			t.Errorf("%s: it is still found", when)
		}
	}
	gone("after forgetting")
	if n := mustImport(t, rt, c); n.Added != 0 {
		t.Errorf("importing again: got %+v", n)
	}
	gone("after importing again")
	c.Turns[0].Messages[1].Text = "it copies, and more"
	mustImport(t, rt, c)
	gone("after the turn grew")
	c.Turns[0].ID = "the same turn under another id"
	mustImport(t, rt, c)
	gone("after the agent numbered anew")
	only(t, rt, "flaky")
}

func forgottenCopy(t *testing.T, rt memory.Runtime) {
	cs := resumed()
	mustImport(t, rt, cs...)
	id := only(t, rt, "plan").ID
	if _, err := rt.Forget(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	mustImport(t, rt, cs[1], cs[2], cs[0])
	if a := mustSearch(t, rt, ambry.Query{Query: "plan"}); len(a.Hits) != 0 {
		t.Error("a copy brought it back")
	}
}
