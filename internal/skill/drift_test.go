package skill_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
)

func TestDriftIsSaidOnce(t *testing.T) {
	w := newWorld(t, map[string]string{".claude/settings.json": claudeSettings, ".claude/CLAUDE.md": "# Mine\n"})
	for _, part := range parts {
		w.install("claude_code", part)
	}
	look := func() []ambry.Payload {
		t.Helper()
		w.bus.said = nil
		if err := w.Compare(t.Context()); err != nil {
			t.Fatal(err)
		}
		return slices.Clone(w.bus.said)
	}
	settings := filepath.Join(w.dir, ".claude/settings.json")
	drifted := []ambry.Payload{ambry.SkillDrifted{SourceID: "claude_code", Part: ambry.Plugin, Paths: []string{settings}}}
	for _, step := range []struct {
		what string
		do   func()
		want []ambry.Payload
	}{
		{"as it was written", func() {}, nil},
		{"changed elsewhere", func() { w.put(".claude/CLAUDE.md", "# More\n"+w.get(".claude/CLAUDE.md")) }, nil},
		{"without the hooks", func() { w.put(".claude/settings.json", claudeSettings) }, drifted},
		{"still without", func() {}, nil},
		{"changed, and still without", func() { w.put(".claude/settings.json", claudeSettings+"\n\n") }, nil},
		{"mended", func() { w.install("claude_code", ambry.Plugin) }, nil},
		{"without them again", func() { w.put(".claude/settings.json", "{}") }, drifted},
		{"taken out", func() { w.remove("claude_code", ambry.Plugin) }, nil},
		{"changed, but not ours any more", func() { w.put(".claude/settings.json", claudeSettings) }, nil},
	} {
		step.do()
		if diff := cmp.Diff(step.want, look()); diff != "" {
			t.Errorf("%s:\n%s", step.what, diff)
		}
	}
}

func TestInstallAndRemoveAreSaid(t *testing.T) {
	w := newWorld(t, map[string]string{".codex/version": "1"})
	w.install("codex", ambry.Plugin)
	w.install("codex", ambry.Plugin)
	w.remove("codex", ambry.Plugin)
	w.remove("codex", ambry.Plugin)
	want := []ambry.Payload{
		ambry.SkillWritten{SourceID: "codex", Part: ambry.Plugin},
		ambry.SkillRemoved{SourceID: "codex", Part: ambry.Plugin},
	}
	if diff := cmp.Diff(want, w.bus.said); diff != "" {
		t.Errorf("said was:\n%s", diff)
	}
}

// Run ends with its context, and looks at least once before.
func TestRunEnds(t *testing.T) {
	w := newWorld(t, map[string]string{".codex/version": "1"})
	w.install("codex", ambry.Plugin)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Run(ctx); err != nil {
		t.Error(err)
	}
}
