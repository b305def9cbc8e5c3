package recall_test

import (
	"strings"
	"testing"

	"ambry.dev/ambry"
)

func TestContextTellsTheAnswerAndNotOnlyTheQuestion(t *testing.T) {
	for name, tt := range map[string]struct{ asked, answered string }{
		"short":         {"how long is the quarantine of a flaky test?", "Eleven days, since it was raised."},
		"long question": {"how long is the quarantine of a flaky test? " + strings.Repeat("It was seven once. ", 200), "Eleven days, since it was raised."},
		"long answer":   {"how long is the quarantine of a flaky test?", "Eleven days, since it was raised. " + strings.Repeat("And so on. ", 400)},
	} {
		r, s := open(t)
		_, err := s.Import(t.Context(), []ambry.Conversation{{
			Session: ambry.Session{Agent: "codex", ID: "s"},
			Turns: []ambry.Turn{{ID: "1", At: now, Messages: []ambry.Message{
				{ID: "q", Role: ambry.User, Text: tt.asked}, {ID: "a", Role: ambry.Assistant, Text: tt.answered},
			}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		a := search(t, r, ambry.Query{Query: "how long is the quarantine of a flaky test?", ContextBudget: 400})
		if !strings.Contains(a.InjectedContext, "Eleven days, since it was raised.") || a.TokenEstimate > 400 {
			t.Errorf("%s: got %d tokens: %s", name, a.TokenEstimate, a.InjectedContext)
		}
	}
}
