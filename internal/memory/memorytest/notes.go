package memorytest

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory"
	"ambry.dev/ambry/internal/redact"
)

func addAndGet(t *testing.T, rt memory.Runtime) {
	n := ambry.Note{
		Content: "Always run the migrations in a transaction.\nThe second line.", Layer: ambry.L2, Title: "Migrations", Tags: []string{"sql", "rules"},
		Source: "cursor", Project: "/home/ana/work/infra", SessionID: "s", TurnID: "turn", CreatedAt: noon,
	}
	m := mustAdd(t, rt, n, "")
	if !strings.HasPrefix(m.ID, "policy_") || len(m.ID) != len("policy_")+20 {
		t.Errorf("id: got %q", m.ID)
	}
	want := ambry.Memory{
		ID: m.ID, Kind: "policy", Layer: ambry.L2, Status: ambry.Activated, Title: "Migrations", Summary: m.Summary, Tags: []string{"sql", "rules"},
		Agent: "cursor", Project: "/home/ana/work/infra", SessionID: "s", TurnID: "turn", CreatedAt: noon, UpdatedAt: m.UpdatedAt, Version: 1,
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("added (-want +got):\n%s", diff)
	}
	d := mustGet(t, rt, m.ID)
	if d.Body != n.Content {
		t.Errorf("body: got %q, want %q", d.Body, n.Content)
	}
	if diff := cmp.Diff(m, d.Memory); diff != "" {
		t.Errorf("got differs from added (-added +got):\n%s", diff)
	}
	bare := mustAdd(t, rt, ambry.Note{Content: "  the staging host is called amber  "}, "")
	if bare.Title != "the staging host is called amber" || bare.Layer != ambry.L1 || bare.CreatedAt.IsZero() || bare.Tags == nil {
		t.Errorf("a note with nothing but content: got %+v", bare)
	}
}

func addRefuses(t *testing.T, rt memory.Runtime) {
	for _, content := range []string{"", " \n\t"} {
		_, err := rt.Add(t.Context(), redact.CleanNote(ambry.Note{Content: content}), "")
		wantKind(t, fmt.Sprintf("content %q", content), err, ambry.InvalidArgument)
	}
	_, err := rt.Add(t.Context(), redact.CleanNote(ambry.Note{Content: "text", Layer: "L9"}), "")
	wantKind(t, "layer L9", err, ambry.InvalidArgument)
}

func keyOnce(t *testing.T, rt memory.Runtime) {
	n := ambry.Note{Content: "the staging host is called amber"}
	first := mustAdd(t, rt, n, "key-1")
	if diff := cmp.Diff(first, mustAdd(t, rt, n, "key-1")); diff != "" {
		t.Errorf("the same request again (-first +second):\n%s", diff)
	}
	if other := mustAdd(t, rt, n, "key-2"); other.ID == first.ID {
		t.Error("another key gave the same memory")
	}
	_, err := rt.Add(t.Context(), redact.CleanNote(ambry.Note{Content: "something else"}), "key-1")
	wantKind(t, "another note with the same key", err, ambry.Conflict)

	title := "Staging"
	p := ambry.Patch{Title: &title, Version: 1}
	patched, err := rt.Patch(t.Context(), first.ID, p, "key-3")
	if err != nil {
		t.Fatal(err)
	}
	again, err := rt.Patch(t.Context(), first.ID, p, "key-3")
	if err != nil {
		t.Fatalf("a patch again: %v", err)
	}
	if diff := cmp.Diff(patched, again); diff != "" {
		t.Errorf("a patch again (-first +second):\n%s", diff)
	}
	_, err = rt.Patch(t.Context(), first.ID, p, "key-1")
	wantKind(t, "a patch with the key of an add", err, ambry.Conflict)

	f, err := rt.Forget(t.Context(), first.ID, "key-4")
	if err != nil {
		t.Fatal(err)
	}
	f2, err := rt.Forget(t.Context(), first.ID, "key-4")
	if err != nil || f2 != f {
		t.Errorf("forgetting again: got %+v and error %v, want %+v", f2, err, f)
	}
	_, err = rt.Forget(t.Context(), first.ID, "key-5")
	wantKind(t, "forgetting again with another key", err, ambry.NotFound)
	_, err = rt.Add(t.Context(), redact.CleanNote(n), "key-1")
	wantKind(t, "adding again what was forgotten", err, ambry.Gone)
}

func keyAtOnce(t *testing.T, rt memory.Runtime) {
	n := redact.CleanNote(ambry.Note{Content: "the staging host is called amber"})
	var wg sync.WaitGroup
	ids := make([]string, 16)
	for i := range ids {
		wg.Go(func() {
			m, err := rt.Add(t.Context(), n, "one-key")
			if err != nil {
				t.Errorf("add: %v", err)
			}
			ids[i] = m.ID
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("one key gave several memories: %v", ids)
		}
	}
	if h, err := rt.Status(t.Context()); err != nil || h.Memories != 1 {
		t.Errorf("got %d memories and error %v, want 1", h.Memories, err)
	}
}

func patch(t *testing.T, rt memory.Runtime) {
	m := mustAdd(t, rt, ambry.Note{Content: "the staging host is called amber"}, "")
	title, summary, tags := "Names of hosts", "One host so far", []string{"hosts"}
	got, err := rt.Patch(t.Context(), m.ID, ambry.Patch{Title: &title, Summary: &summary, Tags: &tags, Version: m.Version}, "")
	if err != nil {
		t.Fatal(err)
	}
	want := m
	want.Title, want.Summary, want.Tags, want.Version, want.UpdatedAt = title, summary, tags, 2, got.UpdatedAt
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("patched (-want +got):\n%s", diff)
	}
	if h := only(t, rt, "names"); h.ID != m.ID {
		t.Errorf("the new title is not found: got %s", h.ID)
	}
	_, err = rt.Patch(t.Context(), m.ID, ambry.Patch{Title: &title, Version: 1}, "")
	wantKind(t, "a patch of an old version", err, ambry.Conflict)
	empty, deleted := " ", ambry.Deleted
	_, err = rt.Patch(t.Context(), m.ID, ambry.Patch{Title: &empty}, "")
	wantKind(t, "an empty title", err, ambry.InvalidArgument)
	_, err = rt.Patch(t.Context(), m.ID, ambry.Patch{Status: &deleted}, "")
	wantKind(t, "deleting by patch", err, ambry.InvalidArgument)
	if d := mustGet(t, rt, m.ID); d.Version != 2 || d.Title != title {
		t.Errorf("refused patches changed it: got %+v", d.Memory)
	}
}

func patchSurvives(t *testing.T, rt memory.Runtime) {
	c := session("codex", "s", [2]string{"why is the parser slow", "it copies"})
	mustImport(t, rt, c)
	title, tags := "Quicksilver", []string{"speed"}
	id := only(t, rt, "parser").ID
	if _, err := rt.Patch(t.Context(), id, ambry.Patch{Title: &title, Tags: &tags}, ""); err != nil {
		t.Fatal(err)
	}
	c.Turns[0].Messages[1].Text = "it copies every chunk"
	mustImport(t, rt, c)
	d := mustGet(t, rt, id)
	if d.Title != title || len(d.Tags) != 1 {
		t.Errorf("what a person set is gone: got %q and %v", d.Title, d.Tags)
	}
	for _, q := range []ambry.Query{{Query: "quicksilver"}, {Query: "chunk", Tags: tags}} {
		if a := mustSearch(t, rt, q); len(a.Hits) != 1 || a.Hits[0].ID != id {
			t.Errorf("search %q: got %d hits", q.Query, len(a.Hits))
		}
	}
}

func archived(t *testing.T, rt memory.Runtime) {
	m := mustAdd(t, rt, ambry.Note{Content: "the staging host is called amber"}, "")
	for status, hits := range map[ambry.Status]int{ambry.Archived: 0, ambry.Resolving: 1, ambry.Activated: 1} {
		if _, err := rt.Patch(t.Context(), m.ID, ambry.Patch{Status: &status}, ""); err != nil {
			t.Fatal(err)
		}
		if a := mustSearch(t, rt, ambry.Query{Query: "staging"}); len(a.Hits) != hits {
			t.Errorf("%s: got %d hits, want %d", status, len(a.Hits), hits)
		}
	}
	mustGet(t, rt, m.ID)
}

func notFound(t *testing.T, rt memory.Runtime) {
	title := "title"
	for _, id := range []string{"trace_00000000000000000000", "nonsense", "'; DROP TABLE memory; --"} {
		_, err := rt.Get(t.Context(), id)
		wantKind(t, "get", err, ambry.NotFound)
		_, err = rt.Patch(t.Context(), id, ambry.Patch{Title: &title}, "")
		wantKind(t, "patch", err, ambry.NotFound)
		_, err = rt.Forget(t.Context(), id, "")
		wantKind(t, "forget", err, ambry.NotFound)
	}
}

func concurrentAdds(t *testing.T, rt memory.Runtime) {
	const clients, each = 8, 25
	var wg sync.WaitGroup
	var mu sync.Mutex
	ids := map[string]string{}
	for c := range clients {
		wg.Go(func() {
			for i := range each {
				content := fmt.Sprintf("client%d remembers item%d", c, i)
				m, err := rt.Add(t.Context(), redact.CleanNote(ambry.Note{Content: content}), "")
				if err != nil {
					t.Errorf("add: %v", err)
					return
				}
				mu.Lock()
				ids[m.ID] = content
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(ids) != clients*each {
		t.Fatalf("got %d ids, want %d", len(ids), clients*each)
	}
	for id, content := range ids {
		if d := mustGet(t, rt, id); d.Body != content {
			t.Errorf("%s: got %q, want %q", id, d.Body, content)
		}
	}
	if h, err := rt.Status(t.Context()); err != nil || h.Memories != clients*each {
		t.Errorf("got %d memories and error %v", h.Memories, err)
	}
}
