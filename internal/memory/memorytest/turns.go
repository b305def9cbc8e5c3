package memorytest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory"
)

// Told is a memory that agents tell of their sessions while they happen.
type Told interface {
	memory.Runtime
	memory.Panel
	memory.Journal
	memory.Turns
}

// RunTurns runs the tests of sessions and turns that agents tell of, each on a
// memory of its own that is empty at first.
func RunTurns(t *testing.T, open func(t *testing.T) Told) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*testing.T, Told)
	}{
		{"SessionIsOpenedResumedAndClosed", sessionLife},
		{"SessionIsResumedByItsKey", sessionByKey},
		{"TurnStartGivesContext", turnStart},
		{"TurnStartIsRefused", turnStartRefused},
		{"TurnBecomesAMemory", turnComplete},
		{"TurnWithoutAnything", turnEmpty},
		{"TurnInAnyOrder", turnOrders},
		{"TurnOfManyAtOnce", turnAtOnce},
		{"TurnKey", turnKey},
		{"TurnIsToldAgain", turnAgain},
		{"SameTurnIDInTwoSessions", turnIDsOfTwo},
		{"TurnHoldsNoSecret", turnSecrets},
		{"ForgottenTurnStaysForgotten", turnForgotten},
		{"LogAndAgentTellOfOneTurn", oneTurn},
		{"AlikeIsNotTheSame", alikeTurns},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

func mustOpen(t *testing.T, m Told, o ambry.SessionOpen) ambry.SessionOpened {
	t.Helper()
	s, err := m.OpenSession(t.Context(), o, "")
	if err != nil {
		t.Fatalf("open a session: %v", err)
	}
	return s
}

func mustStart(t *testing.T, m Told, b ambry.TurnStart) ambry.TurnStarted {
	t.Helper()
	s, err := m.StartTurn(t.Context(), b, "")
	if err != nil {
		t.Fatalf("start a turn: %v", err)
	}
	return s
}

func mustComplete(t *testing.T, m Told, turn string, c ambry.TurnComplete) ambry.TurnCompleted {
	t.Helper()
	done, err := m.CompleteTurn(t.Context(), turn, c, "")
	if err != nil {
		t.Fatalf("complete a turn: %v", err)
	}
	return done
}

// wantCounts compares how much there is.
func wantCounts(t *testing.T, what string, m Told, memories, turns, sessions int64) {
	t.Helper()
	o, err := m.Overview(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c := o.Counts; c.Memories != memories || c.Turns != turns || c.Sessions != sessions {
		t.Errorf("%s: got %d memories, %d turns, %d sessions; want %d, %d, %d", what, c.Memories, c.Turns, c.Sessions, memories, turns, sessions)
	}
}

func sessionLife(t *testing.T, m Told) {
	made := mustOpen(t, m, ambry.SessionOpen{Source: "codex", WorkspacePath: "/home/ana/work/infra"})
	if !strings.HasPrefix(made.SessionID, "session_") || made.Resumed || made.Status != "open" || made.Source != "codex" || made.EpisodeID == "" || made.ServerTime.IsZero() {
		t.Errorf("a new session: got %+v", made)
	}
	if other := mustOpen(t, m, ambry.SessionOpen{}); other.SessionID == made.SessionID || other.Source == "" {
		t.Errorf("another session: got %+v", other)
	}
	own := ambry.SessionOpen{Source: "codex", SessionID: "agents-own.id:1"}
	for i, resumed := range []bool{false, true, true} {
		if s := mustOpen(t, m, own); s.SessionID != own.SessionID || s.Resumed != resumed {
			t.Errorf("opening %d: got %+v", i, s)
		}
	}
	for range 2 {
		c, err := m.CloseSession(t.Context(), own.SessionID, ambry.SessionClose{}, "")
		if err != nil || !c.OK || c.Status != "closed" || c.SessionID != own.SessionID || len(c.Episodes) != 1 {
			t.Errorf("closing: got %+v and error %v", c, err)
		}
	}
	_, err := m.StartTurn(t.Context(), ambry.TurnStart{SessionID: own.SessionID, Query: "question"}, "")
	wantKind(t, "a turn of a closed session", err, ambry.Conflict)
	mustComplete(t, m, "late", ambry.TurnComplete{SessionID: own.SessionID, Query: "question", Answer: "answer"})
	if s := mustOpen(t, m, own); !s.Resumed || s.Status != "open" {
		t.Errorf("opening again: got %+v", s)
	}
	mustStart(t, m, ambry.TurnStart{SessionID: own.SessionID, Query: "question"})
	_, err = m.CloseSession(t.Context(), "nobody-opened-it", ambry.SessionClose{}, "")
	wantKind(t, "closing what is not open", err, ambry.NotFound)
	for _, id := range []string{"a b", "..", strings.Repeat("x", 200), "sk-" + "ant-" + "api03-" + strings.Repeat("Zq9x", 20) + "AA"} {
		_, err = m.OpenSession(t.Context(), ambry.SessionOpen{SessionID: id}, "")
		wantKind(t, fmt.Sprintf("id %.20q", id), err, ambry.InvalidArgument)
	}
	first, err := m.OpenSession(t.Context(), ambry.SessionOpen{Source: "codex"}, "key")
	if err != nil {
		t.Fatal(err)
	}
	again, err := m.OpenSession(t.Context(), ambry.SessionOpen{Source: "codex"}, "key")
	if err != nil || again != first {
		t.Errorf("the same key: got %+v and error %v, want %+v", again, err, first)
	}
}

func sessionByKey(t *testing.T, m Told) {
	open := func(source, profile, key string) string {
		return mustOpen(t, m, ambry.SessionOpen{Source: source, Namespace: ambry.Namespace{ProfileID: profile, SessionKey: key}}).SessionID
	}
	first := open("codex", "", "window-1")
	if again := open("codex", "", "window-1"); again != first {
		t.Errorf("the same key gave %s and %s", first, again)
	}
	for _, other := range []string{open("codex", "", "window-2"), open("cursor", "", "window-1"), open("codex", "work", "window-1")} {
		if other == first {
			t.Error("another key, agent or profile gave the same session")
		}
	}
	if _, err := m.CloseSession(t.Context(), first, ambry.SessionClose{}, ""); err != nil {
		t.Fatal(err)
	}
	if again := open("codex", "", "window-1"); again == first {
		t.Error("a closed session was resumed by its key")
	}
}

func turnStart(t *testing.T, m Told) {
	mustImport(t, m, library())
	s := mustOpen(t, m, ambry.SessionOpen{Source: "codex", SessionID: "s"})
	b := ambry.TurnStart{SessionID: "s", TurnID: "t1", Query: "why does the connection pool leak?", ContextBudget: 500}
	got := mustStart(t, m, b)
	if got.TurnID != "t1" || got.SessionID != "s" || got.EpisodeID != s.EpisodeID || got.SearchID == "" || got.ContextPacketID == "" || len(got.Hits) == 0 {
		t.Errorf("got %+v", got)
	}
	c := got.Context
	if !strings.HasPrefix(c.Markdown, "<recalled_history") || !strings.Contains(c.Markdown, "connection pool") || c.Tokens <= 0 || c.Tokens > 500 || len(c.Sections) == 0 {
		t.Errorf("context: got %+v", c)
	}
	var ids []string
	for _, section := range c.Sections {
		ids = append(ids, section.MemoryIDs...)
		if !strings.Contains(c.Markdown, section.Content) || section.Title == "" || section.Kind != "trace" || section.Layer != ambry.L1 || section.Tokens <= 0 {
			t.Errorf("section: got %+v", section)
		}
	}
	if !slices.Equal(ids, got.SourceMemoryIDs) || ids[0] != got.Hits[0].ID {
		t.Errorf("memories: got %q, and %q in the sections", got.SourceMemoryIDs, ids)
	}
	if again := mustStart(t, m, b); again.Context.Markdown != c.Markdown {
		t.Error("starting the same turn again gives another context")
	}
	next := b
	next.TurnID = ""
	if other := mustStart(t, m, next); other.TurnID == "" || other.TurnID == "t1" || slices.Contains(other.SourceMemoryIDs, ids[0]) || len(other.Hits) != len(got.Hits) {
		t.Errorf("the next turn: got %q in %s", other.SourceMemoryIDs, other.TurnID)
	}
	log := mustLogs(t, m, ambry.LogsQuery{Tools: []string{"turn_start"}}).Logs
	if last := log[len(log)-1]; len(log) != 3 || last.ID != got.SearchID || last.Agent != "codex" || last.SessionID != "s" || last.TurnID != "t1" {
		t.Errorf("the log: got %+v", log)
	}
	one, err := m.StartTurn(t.Context(), next, "key")
	if err != nil {
		t.Fatal(err)
	}
	two, err := m.StartTurn(t.Context(), next, "key")
	if err != nil || two.TurnID != one.TurnID {
		t.Errorf("the same key: got turns %s and %s, error %v", one.TurnID, two.TurnID, err)
	}
}

func turnStartRefused(t *testing.T, m Told) {
	mustOpen(t, m, ambry.SessionOpen{SessionID: "s"})
	for name, f := range map[string]struct {
		start ambry.TurnStart
		want  ambry.Kind
	}{
		"an unknown session": {ambry.TurnStart{SessionID: "unknown", Query: "question"}, ambry.NotFound},
		"no session":         {ambry.TurnStart{Query: "question"}, ambry.InvalidArgument},
		"no question":        {ambry.TurnStart{SessionID: "s", Query: " \n"}, ambry.InvalidArgument},
		"a bad turn":         {ambry.TurnStart{SessionID: "s", TurnID: "a/b", Query: "question"}, ambry.InvalidArgument},
	} {
		_, err := m.StartTurn(t.Context(), f.start, "")
		wantKind(t, name, err, f.want)
	}
	_, err := m.CompleteTurn(t.Context(), "t", ambry.TurnComplete{SessionID: "unknown", Query: "question"}, "")
	wantKind(t, "completing in an unknown session", err, ambry.NotFound)
	if s := mustStart(t, m, ambry.TurnStart{SessionID: "unknown", Source: "codex", Query: "question"}); s.SessionID != "unknown" {
		t.Errorf("an unknown session of a known agent: got %+v", s)
	}
	long := strings.Repeat("日本 ", 40_000)
	if s := mustStart(t, m, ambry.TurnStart{SessionID: "s", Query: long}); s.TurnID == "" {
		t.Errorf("a very long question: got %+v", s)
	}
}

func turnComplete(t *testing.T, m Told) {
	s := mustOpen(t, m, ambry.SessionOpen{Source: "codex", SessionID: "s", WorkspacePath: "/home/ana/work/infra"})
	no := false
	c := ambry.TurnComplete{
		SessionID: "s", Query: "fix the flaky sync test", Answer: "Fixed with a fake clock in sync/clock.go.", ReasoningSummary: "It raced.",
		Tags: []string{"sync", "tests"}, Model: "large", Outcome: "failed", StartedAt: noon, EndedAt: noon.Add(time.Minute),
		ToolCalls: []ambry.ToldCall{
			{ID: "1", Name: "shell", Input: json.RawMessage(`{"command":"go test ./sync"}`)},
			{ID: "2", Name: "read", Args: json.RawMessage(`"sync/clock.go"`), Result: json.RawMessage(`"package sync"`), Success: &no},
		},
		ToolResults: []ambry.ToldResult{{ToolCallID: "1", Output: json.RawMessage(`"ok sync 0.2s"`)}},
		Artifacts:   []ambry.Artifact{{Kind: "file", URI: "sync/clock.go", Bytes: 9}},
		Usage:       map[string]json.RawMessage{"input_tokens": json.RawMessage("120"), "output_tokens": json.RawMessage("30")},
	}
	done := mustComplete(t, m, "t1", c)
	if done.TurnID != "t1" || done.SessionID != "s" || done.EpisodeID != s.EpisodeID || !strings.HasPrefix(done.RawTurnID, "raw_") ||
		!strings.HasPrefix(done.MemoryID, "trace_") || done.Known || done.Jobs == nil || done.ChangeSeq == 0 {
		t.Errorf("got %+v", done)
	}
	d := mustGet(t, m, done.MemoryID)
	want := ambry.Memory{
		ID: done.MemoryID, Kind: "trace", Layer: ambry.L1, Status: ambry.Activated, Title: "fix the flaky sync test",
		Summary: "Fixed with a fake clock in sync/clock.go.", Tags: []string{"sync", "tests"}, Agent: "codex", Project: "/home/ana/work/infra",
		SessionID: "s", TurnID: "t1", CreatedAt: noon, UpdatedAt: d.UpdatedAt, Version: 1,
	}
	if diff := cmp.Diff(want, d.Memory); diff != "" {
		t.Errorf("the memory (-want +got):\n%s", diff)
	}
	end := noon.Add(time.Minute)
	wantTurn := ambry.Turn{ID: "t1", At: noon, Model: "large", Tokens: ambry.Tokens{Input: 120, Output: 30}, Messages: []ambry.Message{
		{ID: "query", Role: ambry.User, Text: c.Query, At: noon},
		{ID: "reasoning", Role: ambry.Assistant, Text: "It raced.", Hidden: true, At: end},
		{ID: "answer", Role: ambry.Assistant, Text: c.Answer, At: end, Model: "large", Calls: []ambry.ToolCall{
			{ID: "1", Name: "shell", Input: `{"command":"go test ./sync"}`, Output: "ok sync 0.2s", Done: true},
			{ID: "2", Name: "read", Input: "sync/clock.go", Output: "package sync", Done: true, Failed: true},
		}, Files: []ambry.Attached{{Kind: "file", Name: "sync/clock.go", Bytes: 9}}},
		{ID: "status", Role: ambry.System, Text: "The turn failed.", At: end},
	}}
	if diff := cmp.Diff(&wantTurn, d.Turn); diff != "" {
		t.Errorf("the turn (-want +got):\n%s", diff)
	}
	for _, q := range []ambry.Query{{Query: "fake clock"}, {Query: "flaky", Tags: []string{"sync", "tests"}}, {Query: "flaky", InSession: "s"}} {
		if a := mustSearch(t, m, q); len(a.Hits) != 1 || a.Hits[0].ID != done.MemoryID {
			t.Errorf("search %q: got %+v", q.Query, a.Hits)
		}
	}
	log := mustLogs(t, m, ambry.LogsQuery{Tools: []string{"turn_complete"}}).Logs
	if len(log) != 1 || !log[0].Success || answerOf(t, log[0]).ID != done.MemoryID || log[0].TurnID != "t1" || strings.Contains(log[0].Input, "flaky") {
		t.Errorf("the log: got %+v", log)
	}
}

func turnEmpty(t *testing.T, m Told) {
	mustOpen(t, m, ambry.SessionOpen{SessionID: "s"})
	for _, c := range []ambry.TurnComplete{{SessionID: "s"}, {SessionID: "s", Query: " "}, {Query: "question"}} {
		_, err := m.CompleteTurn(t.Context(), "t", c, "")
		wantKind(t, fmt.Sprintf("%+v", c), err, ambry.InvalidArgument)
	}
	wantCounts(t, "after refusals", m, 0, 0, 0)
}

// turnOrders tells of one turn in every order, with repetitions.
func turnOrders(t *testing.T, m Told) {
	own := func(n int) string { return fmt.Sprint("session-", n) }
	start := func(n int) {
		mustStart(t, m, ambry.TurnStart{SessionID: own(n), Source: "codex", TurnID: "t", Query: fmt.Sprint("question number", n)})
	}
	complete := func(n int, query string) ambry.TurnCompleted {
		return mustComplete(t, m, "t", ambry.TurnComplete{SessionID: own(n), Source: "codex", Query: query, Answer: "the answer"})
	}
	for n, order := range []string{"sc", "c", "cc", "cs", "scs", "ssc", "scc", "csc", "soc", "ocs", "cocl", "sclc", "slc"} {
		var ids []string
		for _, step := range order {
			switch step {
			case 'o':
				mustOpen(t, m, ambry.SessionOpen{SessionID: own(n), Source: "codex"})
			case 'l':
				if _, err := m.CloseSession(t.Context(), own(n), ambry.SessionClose{}, ""); err != nil {
					t.Fatal(err)
				}
			case 's':
				start(n)
			case 'c':
				query := fmt.Sprint("question number", n)
				if len(ids) > 0 || strings.HasPrefix(order, "s") {
					query = "" // it was told
				}
				ids = append(ids, complete(n, query).MemoryID)
			}
		}
		if len(slices.Compact(slices.Clone(ids))) != 1 {
			t.Errorf("%s: got memories %q", order, ids)
		}
		d := mustGet(t, m, ids[0])
		if d.Title != fmt.Sprint("question number", n) || d.Summary != "the answer" || d.Version != 1 {
			t.Errorf("%s: got %+v", order, d.Memory)
		}
		wantCounts(t, order, m, int64(n+1), int64(n+1), int64(n+1))
	}
}

func turnAtOnce(t *testing.T, m Told) {
	var wg sync.WaitGroup
	ids := make([]string, 12)
	for i := range ids {
		wg.Go(func() {
			if i%3 == 0 {
				if _, err := m.StartTurn(t.Context(), ambry.TurnStart{SessionID: "s", Source: "codex", TurnID: "t", Query: "question"}, ""); err != nil {
					t.Errorf("start: %v", err)
				}
			}
			done, err := m.CompleteTurn(t.Context(), "t", ambry.TurnComplete{SessionID: "s", Source: "codex", Query: "question", Answer: "answer"}, "")
			if err != nil {
				t.Errorf("complete: %v", err)
			}
			ids[i] = done.MemoryID
		})
	}
	wg.Wait()
	if len(slices.Compact(ids)) != 1 {
		t.Errorf("one turn became %q", ids)
	}
	wantCounts(t, "one turn", m, 1, 1, 1)
}

func turnKey(t *testing.T, m Told) {
	c := ambry.TurnComplete{SessionID: "s", Source: "codex", Query: "question", Answer: "answer"}
	first, err := m.CompleteTurn(t.Context(), "t", c, "key")
	if err != nil {
		t.Fatal(err)
	}
	again, err := m.CompleteTurn(t.Context(), "t", c, "key")
	if diff := cmp.Diff(first, again); err != nil || diff != "" {
		t.Errorf("the same key again: error %v (-first +second):\n%s", err, diff)
	}
	c.Answer = "another answer"
	_, err = m.CompleteTurn(t.Context(), "t", c, "key")
	wantKind(t, "another answer with the same key", err, ambry.Conflict)
}

func turnAgain(t *testing.T, m Told) {
	c := ambry.TurnComplete{SessionID: "s", Source: "codex", Query: "question", Answer: "first answer"}
	first := mustComplete(t, m, "t", c)
	c.Answer = "second answer, about zebras"
	second := mustComplete(t, m, "t", c)
	if second.MemoryID != first.MemoryID {
		t.Errorf("told again, it became %s and %s", first.MemoryID, second.MemoryID)
	}
	if h := only(t, m, "zebras"); h.ID != first.MemoryID {
		t.Errorf("the second answer is found as %s", h.ID)
	}
	if d := mustGet(t, m, first.MemoryID); d.Version != 2 || d.Summary != c.Answer {
		t.Errorf("got %+v", d.Memory)
	}
	wantCounts(t, "one turn", m, 1, 1, 1)
}

// turnIDsOfTwo is about callers that number their turns.
func turnIDsOfTwo(t *testing.T, m Told) {
	one := mustComplete(t, m, "1", ambry.TurnComplete{SessionID: "s1", Source: "codex", Query: "the first question", Answer: "answer"})
	two := mustComplete(t, m, "1", ambry.TurnComplete{SessionID: "s2", Source: "codex", Query: "the second question", Answer: "answer"})
	if one.MemoryID == two.MemoryID {
		t.Error("two turns became one")
	}
	log := session("codex", "s3", [2]string{"the third question", "another answer"})
	log.Turns[0].ID = "1"
	mustImport(t, m, log)
	wantCounts(t, "three turns", m, 3, 3, 3)
}

func turnSecrets(t *testing.T, m Told) {
	key := "sk-" + "ant-" + "api03-" + strings.Repeat("Zq9x", 20) + "AA"
	s := mustOpen(t, m, ambry.SessionOpen{Source: "codex", Title: key, WorkspacePath: "/home/" + key, Branch: key, SessionKey: key, Model: key})
	mustStart(t, m, ambry.TurnStart{SessionID: s.SessionID, TurnID: "t", Query: "my key is " + key})
	raw, err := json.Marshal("see " + key)
	if err != nil {
		t.Fatal(err)
	}
	done := mustComplete(t, m, "t", ambry.TurnComplete{
		SessionID: s.SessionID, Answer: "It is " + key, ReasoningSummary: key, Tags: []string{key}, Model: key,
		ToolCalls:       []ambry.ToldCall{{ID: key, Name: key, Input: raw, Output: raw, Error: raw}},
		Artifacts:       []ambry.Artifact{{Title: key}},
		SourceMemoryIDs: []string{key},
	})
	text, err := json.Marshal([]any{mustGet(t, m, done.MemoryID), mustLogs(t, m, ambry.LogsQuery{})})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), key[:30]) {
		t.Errorf("the key is there: %s", text)
	}
	if n := strings.Count(string(text), "[REDACTED:"); n < 12 {
		t.Errorf("only %d secrets were seen: %s", n, text)
	}
}
