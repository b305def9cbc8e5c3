package store_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/dump"
	"ambry.dev/ambry/internal/memory/store"
)

func dumpOf(t testing.TB, s *store.Store) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := s.Dump(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func records(t testing.TB, lines []byte) []dump.Record {
	t.Helper()
	var all []dump.Record
	for line := range bytes.Lines(lines) {
		var r dump.Record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%v in %.200s", err, line)
		}
		all = append(all, r)
	}
	return all
}

// everything fills all tables that a person's data is in.
func everything(t testing.TB, s *store.Store) {
	t.Helper()
	ctx := t.Context()
	crowd(t, s)
	first := talk("a", "one <b> & \u2028 line", "two")
	fork := talk("fork", "three")
	fork.Turns = append([]ambry.Turn{first.Turns[0]}, fork.Turns...)
	fork.Turns[0].Messages = append(fork.Turns[0].Messages, ambry.Message{ID: "only here", Role: ambry.Assistant, Text: "the fork said more"})
	mustImport(t, s, first, fork)
	m, err := s.Add(ctx, ambry.Note{Content: "a policy", Layer: ambry.L2, Tags: []string{"x", "y"}, Source: "codex", SessionID: "a", TurnID: "a-turn-0"}, "")
	if err != nil {
		t.Fatal(err)
	}
	title := "a better title"
	if _, err := s.Patch(ctx, m.ID, ambry.Patch{Title: &title}, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Feedback(ctx, m.ID, ambry.Feedback{Verdict: ambry.VerdictHelpful, Note: "good"}, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CompleteTurn(ctx, toldTurn("told"), ""); err != nil {
		t.Fatal(err)
	}
	for _, f := range []ambry.Forget{{SessionID: "stays-2"}, {Words: canary}} {
		if _, err := s.ForgetAll(ctx, f, ""); err != nil {
			t.Fatal(err)
		}
	}
	note, err := s.Add(ctx, ambry.Note{Content: "to be forgotten"}, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Forget(ctx, note.ID, ""); err != nil {
		t.Fatal(err)
	}
}

func TestRoundTripIsByteForByte(t *testing.T) {
	s := open(t)
	everything(t, s)
	want := dumpOf(t, s)
	for _, kind := range []string{"session", "continuation", "turn", "memory", "liveTurn", "tombstone", "gone", "feedback", "uses"} {
		if !bytes.Contains(want, []byte(`{"`+kind+`":`)) {
			t.Errorf("no %s was exported; the test sees too little", kind)
		}
	}
	path := filepath.Join(t.TempDir(), "memory.db")
	other, shut := openAt(t, path)
	all := records(t, want)
	done, err := other.Restore(t.Context(), all, ambry.KeepOurs)
	if err != nil || done.Skipped+done.Unchanged+done.Forgotten != 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	got := dumpOf(t, other)
	if !bytes.Equal(got, want) {
		a, b := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Fatalf("line %d\n was %.600s\n is  %.600s", i, a[i], b[i])
			}
		}
		t.Fatalf("%d lines became %d", len(a), len(b))
	}
	again, err := other.Restore(t.Context(), all, ambry.TakeTheirs)
	if err != nil || again.Added+again.Updated != 0 {
		t.Errorf("restoring again changed %+v, %v", again, err)
	}
	if !bytes.Equal(dumpOf(t, other), want) {
		t.Error("restoring again changed something")
	}
	found, err := other.Reports().Overview(t.Context())
	was, err2 := s.Reports().Overview(t.Context())
	if err != nil || err2 != nil || found.Counts != was.Counts {
		t.Errorf("counts are %+v, were %+v", found.Counts, was.Counts)
	}
	shut()
	verify(t, path)
}

func TestRestorePolicies(t *testing.T) {
	theirs := open(t)
	mustImport(t, theirs, talk("a", "one"))
	all := records(t, dumpOf(t, theirs))
	for policy, want := range map[ambry.RestorePolicy]string{ambry.KeepOurs: "ours", ambry.TakeTheirs: "one", ambry.TakeNewer: "ours"} {
		path := filepath.Join(t.TempDir(), "memory.db")
		s, shut := openAt(t, path)
		mustImport(t, s, talk("a", "one"))
		items, err := s.Reports().Items(t.Context(), ambry.ItemsQuery{Page: 1})
		if err != nil || len(items.Items) != 1 {
			t.Fatal(items, err)
		}
		title := "ours"
		if _, err := s.Patch(t.Context(), items.Items[0].ID, ambry.Patch{Title: &title}, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Restore(t.Context(), all, policy); err != nil {
			t.Fatal(err)
		}
		d, err := s.Get(t.Context(), items.Items[0].ID)
		if err != nil || d.Title != want {
			t.Errorf("%s: title %q, %v", policy, d.Title, err)
		}
		if _, err := s.ForgetAll(t.Context(), ambry.Forget{SessionID: "a"}, ""); err != nil {
			t.Fatal(err)
		}
		done, err := s.Restore(t.Context(), all, policy)
		if err != nil || done.Forgotten != 2 {
			t.Errorf("%s: what was forgotten: %+v, %v", policy, done, err)
		}
		shut()
		verify(t, path)
	}
}

func TestRestoreRefuses(t *testing.T) {
	for name, line := range map[string]string{
		"a newer format":    `{"header":{"format":"ambry-memory","version":99,"schema":1}}`,
		"another format":    `{"header":{"format":"other","version":1,"schema":1}}`,
		"nothing":           `{}`,
		"a turn of nobody":  `{"turn":{"id":"x","body":{"messages":[]}}}`,
		"a memory of noise": `{"memory":{"id":"trace_1","layer":"L9","body":"x"}}`,
	} {
		s := open(t)
		if _, err := s.Restore(t.Context(), records(t, []byte(line)), ambry.KeepOurs); ambry.KindOf(err) != ambry.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}
