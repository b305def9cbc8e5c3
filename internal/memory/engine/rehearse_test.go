package engine_test

import (
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/redact"
)

// TestRehearsalLeavesNoTrace looks into the log of calls, which has what was asked
// after it.
func TestRehearsalLeavesNoTrace(t *testing.T) {
	e := open(t)
	if err := e.Rehearse(t.Context()); err != nil {
		t.Errorf("an empty memory: %v", err)
	}
	for _, text := range []string{"Nothing that is asked for.", "We fix the test when it did fail in March."} {
		if _, err := e.Add(t.Context(), redact.CleanNote(ambry.Note{Title: "A note", Content: text}), ""); err != nil {
			t.Fatal(err)
		}
		if err := e.Rehearse(t.Context()); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := e.Search(t.Context(), ambry.Query{Query: "march"}); err != nil {
		t.Fatal(err)
	}
	logs, err := e.Logs(t.Context(), ambry.LogsQuery{Tools: []string{ambry.ToolSearch}})
	if err != nil || logs.Total != 1 {
		t.Errorf("the log has %d searches, %v", logs.Total, err)
	}
}
