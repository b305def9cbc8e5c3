package engine_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/engine"
	"ambry.dev/ambry/internal/redact"
)

func given(t *testing.T, e *engine.Engine, session, word string) bool {
	t.Helper()
	a, err := e.Search(t.Context(), ambry.Query{Query: word, SessionID: session})
	if err != nil || len(a.Hits) == 0 {
		t.Fatalf("got %d hits and error %v", len(a.Hits), err)
	}
	return strings.Contains(a.InjectedContext, a.Hits[0].ID)
}

// TestNothingIsGivenTwiceAfterARestart stops the runtime in the middle of a
// session.
func TestNothingIsGivenTwiceAfterARestart(t *testing.T) {
	dir := t.TempDir()
	e, shut := openDir(t, dir)
	for _, text := range []string{"the staging host is called amber", "production is called basalt"} {
		if _, err := e.Add(t.Context(), redact.CleanNote(ambry.Note{Content: text}), ""); err != nil {
			t.Fatal(err)
		}
	}
	if !given(t, e, "one", "staging") {
		t.Fatal("the first time, it was not given")
	}
	shut()
	e, shut = openDir(t, dir)
	defer shut()
	if given(t, e, "one", "staging") {
		t.Error("after the restart it was given again")
	}
	if !given(t, e, "one", "production") || !given(t, e, "two", "staging") {
		t.Error("what was not given before is not given after the restart")
	}
}

// TestManySessionsAreForgotten opens more sessions at once than are remembered.
func TestManySessionsAreForgotten(t *testing.T) {
	e := open(t)
	if _, err := e.Add(t.Context(), redact.CleanNote(ambry.Note{Content: "the staging host is called amber"}), ""); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 200 {
				if !given(t, e, fmt.Sprint(i, "-", j), "staging") {
					t.Errorf("session %d-%d was not given it", i, j)
					return
				}
			}
		})
	}
	wg.Wait()
	if given(t, e, "3-199", "staging") {
		t.Error("the last session was given it twice")
	}
}
