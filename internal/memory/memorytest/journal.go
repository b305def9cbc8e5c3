package memorytest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory"
	"ambry.dev/ambry/internal/redact"
)

// Journaled is a memory that remembers what it was asked.
type Journaled interface {
	memory.Runtime
	memory.Journal
}

// RunJournal runs the tests of what is remembered of searches, each on a memory
// of its own that is empty at first.
func RunJournal(t *testing.T, open func(t *testing.T) Journaled) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*testing.T, Journaled)
	}{
		{"SearchesAreLogged", searchesLogged},
		{"LogHoldsNoSecretAndNoNote", logSecrets},
		{"LogsAreFilteredAndPaged", logPages},
		{"FailuresAreLogged", failuresLogged},
		{"FeedbackReplacesAndCounts", feedback},
		{"FeedbackIsRefused", feedbackRefused},
		{"ForgettingTakesFeedbackAlong", feedbackForgotten},
		{"NothingIsGivenTwice", givenOnce},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

func mustLogs(t *testing.T, m memory.Journal, q ambry.LogsQuery) ambry.Logs {
	t.Helper()
	l, err := m.Logs(t.Context(), q)
	if err != nil {
		t.Fatalf("logs: %v", err)
	}
	return l
}

// answerOf decodes what a call returned.
func answerOf(t *testing.T, c ambry.LoggedCall) (a ambry.LoggedAnswer) {
	t.Helper()
	if err := json.Unmarshal([]byte(c.Output), &a); err != nil {
		t.Fatalf("output %s: %v", c.Output, err)
	}
	return a
}

func searchesLogged(t *testing.T, m Journaled) {
	note := mustAdd(t, m, ambry.Note{Content: "the staging host is called amber", Source: "cursor"}, "")
	a := mustSearch(t, m, ambry.Query{Query: "staging host", Source: "codex", SessionID: "s1", Limit: 3})
	mustSearch(t, m, ambry.Query{Query: "xylophone"})
	l := mustLogs(t, m, ambry.LogsQuery{})
	if l.Total != 3 || len(l.Logs) != 3 || l.Limit != 50 || l.NextOffset != nil || l.Dropped != 0 || l.ServerTime.IsZero() {
		t.Fatalf("got %+v", l)
	}
	nothing, search, add := l.Logs[0], l.Logs[1], l.Logs[2]
	if search.ID != a.SearchID || search.Tool != "memory_search" || search.Agent != "codex" || search.SessionID != "s1" || !search.Success ||
		search.DurationMs <= 0 || search.CalledAt.IsZero() || !strings.Contains(search.Input, `"staging host"`) || !strings.Contains(search.Input, `"limit":3`) {
		t.Errorf("the search: got %+v", search)
	}
	want := ambry.LoggedAnswer{
		Hits:  []ambry.LoggedHit{{ID: note.ID, Score: a.Hits[0].Score, Injected: true, UpdatedAt: note.UpdatedAt}},
		Total: 1, Tokens: a.TokenEstimate,
	}
	if diff := cmp.Diff(want, answerOf(t, search)); diff != "" {
		t.Errorf("what it returned (-want +got):\n%s", diff)
	}
	if got := answerOf(t, nothing); len(got.Hits) != 0 || !nothing.Success || nothing.Agent != "" {
		t.Errorf("a search that finds nothing: got %+v", nothing)
	}
	if add.Tool != "memory_add" || add.Agent != "cursor" || answerOf(t, add).ID != note.ID || add.ID == "" {
		t.Errorf("the note: got %+v", add)
	}
}

func logSecrets(t *testing.T, m Journaled) {
	key := "sk-" + "ant-" + "api03-" + strings.Repeat("Zq9x", 20) + "AA"
	note := mustAdd(t, m, ambry.Note{Content: "a note about the zebra crossing", Title: "zebra title"}, "")
	for _, q := range []ambry.Query{
		{Query: "zebra " + key},
		{Query: strings.Repeat("word ", 405) + key + strings.Repeat(" more", 500)},
		{Query: "zebra", Project: key, Tags: []string{key}, Agents: []string{key}, Source: key, SessionID: key, InSession: key},
	} {
		mustSearch(t, m, q)
	}
	if _, err := m.Feedback(t.Context(), note.ID, ambry.Feedback{Verdict: ambry.VerdictUsed, SearchID: mustLogs(t, m, ambry.LogsQuery{}).Logs[2].ID, Note: "see " + key}, ""); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(mustLogs(t, m, ambry.LogsQuery{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{key[:30], "crossing", "zebra title"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("the log holds %q: %s", secret, text)
		}
	}
	if n := strings.Count(string(text), "[REDACTED:"); n < 8 {
		t.Errorf("only %d secrets were seen: %s", n, text)
	}
}

func logPages(t *testing.T, m Journaled) {
	for i := range 12 {
		agent := []string{"codex", "cursor", ""}[i%3]
		mustSearch(t, m, ambry.Query{Query: fmt.Sprint("question", i), Source: agent})
	}
	mustAdd(t, m, ambry.Note{Content: "a note", Source: "codex"}, "")
	for _, f := range []struct {
		name  string
		query ambry.LogsQuery
		total int64
	}{
		{"all", ambry.LogsQuery{}, 13},
		{"searches", ambry.LogsQuery{Tools: []string{"memory_search"}}, 12},
		{"notes", ambry.LogsQuery{Tools: []string{"memory_add"}}, 1},
		{"both", ambry.LogsQuery{Tools: []string{"memory_add", "memory_search"}}, 13},
		{"what there is none of", ambry.LogsQuery{Tools: []string{"skill_evolve"}}, 0},
		{"an agent", ambry.LogsQuery{Agent: "codex"}, 5},
		{"an agent's searches", ambry.LogsQuery{Agent: "codex", Tools: []string{"memory_search"}}, 4},
		{"nobody", ambry.LogsQuery{Agent: "nobody"}, 0},
		{"not these", ambry.LogsQuery{Exclude: []string{"codex", "cursor", "nobody"}}, 4},
	} {
		l := mustLogs(t, m, f.query)
		if l.Total != f.total || int64(len(l.Logs)) != f.total || l.Logs == nil {
			t.Errorf("%s: got %d of %d, want %d", f.name, len(l.Logs), l.Total, f.total)
		}
	}
	var got []string
	for q := (ambry.LogsQuery{Limit: 5}); ; {
		l := mustLogs(t, m, q)
		for _, c := range l.Logs {
			got = append(got, c.ID)
		}
		if l.NextOffset == nil {
			break
		}
		q.Offset = *l.NextOffset
	}
	distinct := slices.Clone(got)
	slices.Sort(distinct)
	if len(got) != 13 || len(slices.Compact(distinct)) != 13 {
		t.Errorf("the pages have %d calls: %q", len(got), got)
	}
	if l := mustLogs(t, m, ambry.LogsQuery{Offset: 100}); len(l.Logs) != 0 || l.Total != 13 || l.NextOffset != nil {
		t.Errorf("behind the end: got %+v", l)
	}
}

func failuresLogged(t *testing.T, m Journaled) {
	_, err := m.Add(t.Context(), redact.CleanNote(ambry.Note{Content: " "}), "")
	wantKind(t, "an empty note", err, ambry.InvalidArgument)
	_, err = m.Search(t.Context(), ambry.Query{Query: " "})
	wantKind(t, "an empty query", err, ambry.InvalidArgument)
	l := mustLogs(t, m, ambry.LogsQuery{})
	if len(l.Logs) != 2 {
		t.Fatalf("got %+v", l)
	}
	for _, c := range l.Logs {
		if c.Success || c.ID == "" || answerOf(t, c).Error != ambry.InvalidArgument {
			t.Errorf("got %+v", c)
		}
	}
}

func feedback(t *testing.T, m Journaled) {
	note := mustAdd(t, m, ambry.Note{Content: "the staging host is called amber"}, "")
	search := mustSearch(t, m, ambry.Query{Query: "staging"}).SearchID
	mustLogs(t, m, ambry.LogsQuery{}) // so that the search is counted
	for _, step := range []struct {
		feedback ambry.Feedback
		want     ambry.Uses
	}{
		{ambry.Feedback{SearchID: search, Verdict: ambry.VerdictIgnored}, ambry.Uses{Shown: 1, Ignored: 1}},
		{ambry.Feedback{SearchID: search, Verdict: ambry.VerdictIgnored}, ambry.Uses{Shown: 1, Ignored: 1}},
		{ambry.Feedback{SearchID: search, Verdict: ambry.VerdictHelpful, Note: "it was right"}, ambry.Uses{Shown: 1, Helpful: 1}},
		{ambry.Feedback{SearchID: "recall_of_yesterday", Verdict: ambry.VerdictUsed}, ambry.Uses{Shown: 1, Helpful: 1, Used: 1}},
		{ambry.Feedback{Verdict: ambry.VerdictWrong}, ambry.Uses{Shown: 1, Helpful: 1, Used: 1, Wrong: 1}},
	} {
		got, err := m.Feedback(t.Context(), note.ID, step.feedback, "")
		if err != nil {
			t.Fatal(err)
		}
		want := ambry.FeedbackTaken{
			OK: true, ID: note.ID, SearchID: step.feedback.SearchID, Verdict: step.feedback.Verdict, Uses: step.want, ServerTime: got.ServerTime,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", step.feedback, diff)
		}
	}
	uses := mustLogs(t, m, ambry.LogsQuery{Tools: []string{"memory_search"}}).Logs[0].Feedback
	if len(uses) != 1 || uses[0].ID != note.ID || uses[0].Verdict != ambry.VerdictHelpful || uses[0].Note != "it was right" || uses[0].At.IsZero() {
		t.Errorf("in the log: got %+v", uses)
	}
}

func feedbackRefused(t *testing.T, m Journaled) {
	note := mustAdd(t, m, ambry.Note{Content: "the staging host is called amber"}, "")
	_, err := m.Feedback(t.Context(), "trace_00000000000000000000", ambry.Feedback{Verdict: ambry.VerdictUsed}, "")
	wantKind(t, "feedback about nothing", err, ambry.NotFound)
	for _, v := range []ambry.Verdict{"", "great"} {
		_, err = m.Feedback(t.Context(), note.ID, ambry.Feedback{Verdict: v}, "")
		wantKind(t, fmt.Sprintf("verdict %q", v), err, ambry.InvalidArgument)
	}
	first, err := m.Feedback(t.Context(), note.ID, ambry.Feedback{Verdict: ambry.VerdictUsed}, "key")
	if err != nil {
		t.Fatal(err)
	}
	again, err := m.Feedback(t.Context(), note.ID, ambry.Feedback{Verdict: ambry.VerdictUsed}, "key")
	if err != nil || again != first {
		t.Errorf("the same key again: got %+v and error %v, want %+v", again, err, first)
	}
	_, err = m.Feedback(t.Context(), note.ID, ambry.Feedback{Verdict: ambry.VerdictWrong}, "key")
	wantKind(t, "another verdict with the same key", err, ambry.Conflict)
}

func feedbackForgotten(t *testing.T, m Journaled) {
	note := mustAdd(t, m, ambry.Note{Content: "the staging host is called amber"}, "")
	search := mustSearch(t, m, ambry.Query{Query: "staging"}).SearchID
	if _, err := m.Feedback(t.Context(), note.ID, ambry.Feedback{SearchID: search, Verdict: ambry.VerdictUsed, Note: "amber indeed"}, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Forget(t.Context(), note.ID, ""); err != nil {
		t.Fatal(err)
	}
	for _, c := range mustLogs(t, m, ambry.LogsQuery{}).Logs {
		if len(c.Feedback) != 0 {
			t.Errorf("got %+v", c)
		}
	}
}

func givenOnce(t *testing.T, m Journaled) {
	note := mustAdd(t, m, ambry.Note{Content: "the staging host is called amber"}, "")
	ask := func(session string) (hits int, given bool) {
		t.Helper()
		a := mustSearch(t, m, ambry.Query{Query: "staging host", SessionID: session, Verbose: true})
		given = strings.Contains(a.InjectedContext, note.ID)
		if given != (len(a.Debug.Sections) == 1) || given != (a.TokenEstimate > 0) {
			t.Errorf("context %q and sections %+v do not agree", a.InjectedContext, a.Debug.Sections)
		}
		return len(a.Hits), given
	}
	for _, step := range []struct {
		name, session string
		given         bool
	}{
		{"first", "one", true},
		{"again", "one", false},
		{"another session", "two", true},
		{"without a session", "", true},
		{"without a session, again", "", true},
		{"and again", "one", false},
	} {
		if hits, given := ask(step.session); hits != 1 || given != step.given {
			t.Errorf("%s: got %d hits, given %v; want 1, %v", step.name, hits, given, step.given)
		}
	}
	title := "Hosts of staging"
	if _, err := m.Patch(t.Context(), note.ID, ambry.Patch{Title: &title}, ""); err != nil {
		t.Fatal(err)
	}
	if _, given := ask("one"); !given {
		t.Error("what changed was not given anew")
	}
}
