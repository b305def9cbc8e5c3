package memorytest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory"
)

// Kept is a memory that things leave and come back to.
type Kept interface {
	Told
	memory.Custody
}

// RunCustody runs the tests of what leaves a memory and comes back, each on
// memories of its own that are empty at first.
func RunCustody(t *testing.T, open func(t *testing.T) Kept) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*testing.T, func(t *testing.T) Kept)
	}{
		{"ForgetAllIsForGood", forgetAll},
		{"ForgetAllRefuses", forgetRefuses},
		{"WipeEmpties", wipe},
		{"ExportComesBack", exportComesBack},
		{"RestoreTakesSecretsOut", restoreRedacts},
		{"RestoreRefuses", restoreRefuses},
		{"BackupAndRebuild", backupAndRebuild},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open) })
	}
}

func forgetAll(t *testing.T, open func(t *testing.T) Kept) {
	m := open(t)
	c := session("codex", "one", [2]string{"where is the wombatproxy?", "on port 80"}, [2]string{"and the rest?", "elsewhere"})
	mustImport(t, m, c)
	dry, err := m.ForgetAll(t.Context(), ambry.Forget{Words: "the WombatProxy", DryRun: true}, "")
	if err != nil || dry.Memories != 1 || len(dry.Examples) != 1 {
		t.Errorf("dry run: %+v, %v", dry, err)
	}
	done, err := m.ForgetAll(t.Context(), ambry.Forget{Words: "the WombatProxy"}, "k")
	if err != nil || done.Memories != 1 || !done.Scrubbed {
		t.Errorf("words: %+v, %v", done, err)
	}
	if done, err := m.ForgetAll(t.Context(), ambry.Forget{SessionID: "one"}, ""); err != nil || done.Memories != 1 {
		t.Errorf("session: %+v, %v", done, err)
	}
	if n := mustImport(t, m, c); n.Added != 0 {
		t.Errorf("a rescan brought back %+v", n)
	}
	if a := mustSearch(t, m, ambry.Query{Query: "wombatproxy"}); len(a.Hits) != 0 {
		t.Errorf("it is still found: %+v", a.Hits)
	}
	if s, err := m.Scrub(t.Context(), true); err != nil || !s.Done {
		t.Errorf("scrub: %+v, %v", s, err)
	}
}

func forgetRefuses(t *testing.T, open func(t *testing.T) Kept) {
	m := open(t)
	for name, f := range map[string]ambry.Forget{
		"nothing": {}, "two things": {Words: "abc", Project: "/x"}, "an agent and words": {Agent: "codex", Words: "abc"}, "a letter": {Words: " a "},
	} {
		if _, err := m.ForgetAll(t.Context(), f, ""); ambry.KindOf(err) != ambry.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := m.ForgetAll(t.Context(), ambry.Forget{IDs: []string{"trace_0"}}, ""); ambry.KindOf(err) != ambry.NotFound {
		t.Errorf("an unknown id: %v", err)
	}
}

func wipe(t *testing.T, open func(t *testing.T) Kept) {
	m := open(t)
	mustImport(t, m, session("codex", "one", [2]string{"question", "answer"}))
	mustAdd(t, m, ambry.Note{Content: "a note"}, "")
	done, err := m.Wipe(t.Context(), true)
	if err != nil || done.Memories != 2 || done.Turns != 1 || !done.Scrubbed {
		t.Errorf("%+v, %v", done, err)
	}
	if again, err := m.Wipe(t.Context(), true); err != nil || again.Memories != 0 {
		t.Errorf("again: %+v, %v", again, err)
	}
	if h, err := m.Status(t.Context()); err != nil || h.Memories != 0 || h.Sessions != 0 {
		t.Errorf("left: %+v, %v", h, err)
	}
}

func export(t *testing.T, m Kept) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := m.Export(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func exportComesBack(t *testing.T, open func(t *testing.T) Kept) {
	m, other := open(t), open(t)
	mustImport(t, m, session("codex", "one", [2]string{"q1", "a1"}, [2]string{"q2", strings.Repeat("long ", 1<<17)}))
	mustAdd(t, m, ambry.Note{Content: "a note", Tags: []string{"x"}}, "")
	want := export(t, m)
	done, err := other.Restore(t.Context(), bytes.NewReader(want), ambry.KeepOurs)
	if err != nil || done.Added == 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	if got := export(t, other); !bytes.Equal(got, want) {
		t.Errorf("%d bytes became %d, or others", len(want), len(got))
	}
	again, err := other.Restore(t.Context(), bytes.NewReader(want), ambry.TakeNewer)
	if err != nil || again.Added+again.Updated != 0 {
		t.Errorf("again: %+v, %v", again, err)
	}
	broken := errors.New("the disk is gone")
	if err := m.Export(t.Context(), failing{broken}); !errors.Is(err, broken) {
		t.Errorf("a writer that fails: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func restoreRedacts(t *testing.T, open func(t *testing.T) Kept) {
	secret := "sk-" + strings.Repeat("a1B2c3D4", 6)
	lines := strings.Join([]string{
		`{"header":{"format":"ambry-memory","version":1,"schema":1}}`,
		`{"session":{"id":"s","agent":"codex","title":"key ` + secret + `"}}`,
		`{"turn":{"agent":"codex","session":"s","id":"t","hash":"00","body":{"messages":[{"role":"user","text":"use ` + secret + `"}]}}}`,
		`{"memory":{"id":"trace_1","layer":"L1","status":"activated","version":1,"title":"x ` + secret + `","body":"y ` + secret + `","tags":["` + secret + `"]}}`,
		`{"call":{"id":"c","tool":"memory_search","tookMicros":1,"input":{"query":"` + secret + `"},"output":{}}}`,
	}, "\n")
	m := open(t)
	done, err := m.Restore(t.Context(), strings.NewReader(lines), ambry.KeepOurs)
	if err != nil || done.Added != 4 || done.Redacted < 5 {
		t.Errorf("%+v, %v", done, err)
	}
	if bytes.Contains(export(t, m), []byte(secret)) {
		t.Error("a secret came in")
	}
}

func restoreRefuses(t *testing.T, open func(t *testing.T) Kept) {
	m := open(t)
	for name, text := range map[string]string{
		"no header": `{"gone":{"print":"00"}}`, "noise": "noise", "a newer version": `{"header":{"format":"ambry-memory","version":2}}`,
		"half a line": `{"header":{"format":"ambry-memory","version":1}}` + "\n" + `{"memory":{`,
	} {
		if _, err := m.Restore(t.Context(), strings.NewReader(text), ambry.KeepOurs); ambry.KindOf(err) != ambry.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := m.Restore(t.Context(), strings.NewReader(""), "other"); ambry.KindOf(err) != ambry.InvalidArgument && err != nil {
		t.Errorf("another policy: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.Export(ctx, io.Discard); err == nil {
		t.Error("an export that nobody waits for ended well")
	}
}

func backupAndRebuild(t *testing.T, open func(t *testing.T) Kept) {
	m := open(t)
	mustImport(t, m, session("codex", "one", [2]string{"the marmotgate", "a"}))
	b, err := m.Backup(t.Context())
	if err != nil || b.Bytes == 0 || !strings.HasSuffix(b.Name, ".db") {
		t.Errorf("%+v, %v", b, err)
	}
	if err := m.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a := mustSearch(t, m, ambry.Query{Query: "marmotgate"}); len(a.Hits) != 1 {
		t.Errorf("%d hits after a rebuild", len(a.Hits))
	}
}
