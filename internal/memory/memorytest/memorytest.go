// Package memorytest is the conformance suite of memory.Runtime: whatever calls
// itself a runtime passes it, be it the engine itself or one behind a socket. It
// measures no quality of search and no speed.
package memorytest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory"
	"ambry.dev/ambry/internal/redact"
)

// Run runs every test of the suite, each on a runtime of its own that is empty
// at first.
func Run(t *testing.T, open func(t *testing.T) memory.Runtime) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*testing.T, memory.Runtime)
	}{
		{"ImportAgainChangesNothing", importAgain},
		{"ImportBringsUpToDate", importGrown},
		{"ImportFollowsAMovedFile", importMoved},
		{"ImportIsAllOrNone", importAllOrNone},
		{"ImportOfNothing", importNothing},
		{"CopiesAreOneTurn", copiesAreOne},
		{"OrderOfArrivalDoesNotMatter", orderOfArrival},
		{"HiddenTurnIsNoMemory", hiddenTurn},
		{"ForgottenStaysForgotten", forgottenStays},
		{"ForgottenCopyStaysForgotten", forgottenCopy},
		{"AddAndGet", addAndGet},
		{"AddRefusesNothing", addRefuses},
		{"KeyIsUsedOnce", keyOnce},
		{"KeyOfManyAtOnce", keyAtOnce},
		{"PatchAndItsConflict", patch},
		{"PatchSurvivesImport", patchSurvives},
		{"ArchivedIsNotSearched", archived},
		{"NotFound", notFound},
		{"SearchFinds", searchFinds},
		{"SearchSaysWhere", searchSaysWhere},
		{"SearchFilters", searchFilters},
		{"SearchTakesAnyText", searchAnyText},
		{"SearchOfNothing", searchNothing},
		{"SearchWithoutHitsIsNoError", searchNoHits},
		{"ContextStaysInItsFence", contextFence},
		{"ContextKeepsItsBudget", contextBudget},
		{"ConcurrentAddsAreAllThere", concurrentAdds},
		{"CancelledCallsEnd", cancelled},
		{"Status", status},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

// noon is when the sessions of the suite begin.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// session makes a session of turns of one question and one answer each.
func session(agent, id string, exchanges ...[2]string) ambry.Conversation {
	c := ambry.Conversation{Session: ambry.Session{
		ID: id, Agent: agent, Cwd: "/home/ana/work/infra", Project: "/home/ana/work/infra", StartedAt: noon,
	}}
	for i, e := range exchanges {
		at := noon.Add(time.Duration(i) * time.Minute)
		line, offset := 10*i+1, int64(1000*i)
		c.Turns = append(c.Turns, ambry.Turn{
			ID: fmt.Sprintf("%s-%d", id, i), At: at, Model: "large",
			Source: ambry.Source{Path: "/home/ana/.logs/" + id + ".jsonl", Line: line, Offset: offset, End: offset + 900},
			Messages: []ambry.Message{
				{ID: fmt.Sprintf("%s-%d-q", id, i), Role: ambry.User, Text: e[0], At: at, Line: line, Offset: offset},
				{ID: fmt.Sprintf("%s-%d-a", id, i), Role: ambry.Assistant, Text: e[1], At: at.Add(time.Second), Line: line + 4, Offset: offset + 400},
			},
		})
	}
	return c
}

func mustImport(t *testing.T, rt memory.Runtime, cs ...ambry.Conversation) ambry.Imported {
	t.Helper()
	clean := make([]redact.Conversation, len(cs))
	for i, c := range cs {
		clean[i] = redact.Clean(c)
	}
	n, err := rt.Import(t.Context(), clean)
	if err != nil {
		t.Fatalf("import: %v", err)
	}
	return n
}

func mustAdd(t *testing.T, rt memory.Runtime, n ambry.Note, key string) ambry.Memory {
	t.Helper()
	m, err := rt.Add(t.Context(), redact.CleanNote(n), key)
	if err != nil {
		t.Fatalf("add: %v", err)
	}
	return m
}

func mustGet(t *testing.T, rt memory.Runtime, id string) ambry.Detail {
	t.Helper()
	d, err := rt.Get(t.Context(), id)
	if err != nil {
		t.Fatalf("get %s: %v", id, err)
	}
	return d
}

func mustSearch(t *testing.T, rt memory.Runtime, q ambry.Query) ambry.Answer {
	t.Helper()
	a, err := rt.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("search %q: %v", q.Query, err)
	}
	return a
}

// only returns the only memory that a query finds.
func only(t *testing.T, rt memory.Runtime, query string) ambry.Hit {
	t.Helper()
	a := mustSearch(t, rt, ambry.Query{Query: query})
	if len(a.Hits) != 1 {
		t.Fatalf("search %q: got %d hits, want 1", query, len(a.Hits))
	}
	return a.Hits[0]
}

func wantKind(t *testing.T, what string, err error, want ambry.Kind) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: got no error, want %s", what, want)
	} else if got := ambry.KindOf(err); got != want {
		t.Errorf("%s: got an error of kind %s (%v), want %s", what, got, err, want)
	}
}

func status(t *testing.T, rt memory.Runtime) {
	mustAdd(t, rt, ambry.Note{Content: "the build needs make"}, "")
	mustImport(t, rt, session("codex", "s", [2]string{"question", "answer"}))
	h, err := rt.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !h.OK || !h.Writable || h.Memories != 2 || h.Sessions != 1 || h.SchemaVersion < 1 {
		t.Errorf("got %+v, want two memories of one session, writable", h)
	}
}

func cancelled(t *testing.T, rt memory.Runtime) {
	m := mustAdd(t, rt, ambry.Note{Content: "the build needs make"}, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	calls := map[string]func() error{
		"import": func() error {
			_, err := rt.Import(ctx, []redact.Conversation{redact.Clean(session("codex", "s", [2]string{"question", "answer"}))})
			return err
		},
		"add": func() error {
			_, err := rt.Add(ctx, redact.CleanNote(ambry.Note{Content: "never added"}), "")
			return err
		},
		"search": func() error { _, err := rt.Search(ctx, ambry.Query{Query: "build"}); return err },
		"get":    func() error { _, err := rt.Get(ctx, m.ID); return err },
		"patch":  func() error { _, err := rt.Patch(ctx, m.ID, ambry.Patch{}, ""); return err },
		"forget": func() error { _, err := rt.Forget(ctx, m.ID, ""); return err },
	}
	for name, call := range calls {
		if err := call(); err == nil {
			t.Errorf("%s with a cancelled context: got no error", name)
		}
	}
	if h, err := rt.Status(t.Context()); err != nil || h.Memories != 1 {
		t.Errorf("after cancelled calls: got %d memories and error %v, want 1", h.Memories, err)
	}
}
