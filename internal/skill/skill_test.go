package skill_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
)

const claudeSettings = `{
  // mine
  "model": "opus",
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "say done"}]}
    ]
  }
}
`

func TestNothingIsWrittenWithoutPermission(t *testing.T) {
	w := newWorld(t, map[string]string{".claude/settings.json": claudeSettings})
	before := w.files()
	w.Permitted = func() bool { return false }
	for _, part := range parts {
		_, err := w.Install(t.Context(), "claude_code", part, false)
		refused(t, err, ambry.SkillWriteNotPermitted, "not permitted")
		_, err = w.Remove(t.Context(), "claude_code", part, false)
		refused(t, err, ambry.SkillWriteNotPermitted, "not permitted")
		r, err := w.Install(t.Context(), "claude_code", part, true)
		if err != nil || len(r.Changes) == 0 {
			t.Errorf("a dry run says %+v, %v", r, err)
		}
	}
	if diff := cmp.Diff(before, w.files()); diff != "" {
		t.Errorf("files changed:\n%s", diff)
	}
}

func TestAbsentAgentsAreRefused(t *testing.T) {
	w := newWorld(t, nil)
	_, err := w.Install(t.Context(), "codex", ambry.Plugin, false)
	refused(t, err, ambry.AgentSourceUnavailable, "not on this machine")
	_, err = w.Install(t.Context(), "nobody", ambry.Plugin, false)
	refused(t, err, ambry.NotFound, "nobody")
	if _, err := os.Stat(filepath.Join(w.dir, ".codex")); err == nil {
		t.Error("a directory was made for an agent that is not here")
	}
}

func TestDryRunSaysWhatInstallDoes(t *testing.T) {
	w := newWorld(t, map[string]string{".claude/settings.json": claudeSettings})
	dry, err := w.Install(t.Context(), "claude_code", ambry.Plugin, true)
	if err != nil {
		t.Fatal(err)
	}
	real := w.install("claude_code", ambry.Plugin)
	if diff := cmp.Diff(dry, real); diff != "" {
		t.Errorf("they differ:\n%s", diff)
	}
	if len(real.Changes) != 3 || !strings.Contains(real.Changes[1].Diff, "+          {\"type\"") && !strings.Contains(real.Changes[1].Diff, "hook claude_code Stop") {
		t.Errorf("got %+v", real.Changes)
	}
}

func TestStatusFollowsTheFiles(t *testing.T) {
	w := newWorld(t, map[string]string{".claude/settings.json": claudeSettings})
	steps := []struct {
		what string
		do   func()
		want ambry.SourceStatus
	}{
		{"at first", func() {}, ambry.NotConnected},
		{"with the skill", func() { w.install("claude_code", ambry.SkillText) }, ambry.SkillInstalled},
		{"with the plugin", func() { w.install("claude_code", ambry.Plugin) }, ambry.PluginInstalled},
		{"after the person took the hooks out", func() { w.put(".claude/settings.json", claudeSettings) }, ambry.Drifted},
		{"mended", func() { w.install("claude_code", ambry.Plugin) }, ambry.PluginInstalled},
		{"with a file that is broken", func() { w.put(".claude.json", "{") }, ambry.Drifted},
		{"mended again", func() { w.put(".claude.json", "{}"); w.install("claude_code", ambry.Plugin) }, ambry.PluginInstalled},
		{"without the skill", func() { w.remove("claude_code", ambry.SkillText) }, ambry.PluginInstalled},
		{"without both", func() { w.remove("claude_code", ambry.Plugin) }, ambry.NotConnected},
	}
	for _, s := range steps {
		s.do()
		if got := w.status("claude_code"); got != s.want {
			t.Errorf("%s: got %s, want %s", s.what, got, s.want)
		}
	}
	if got := w.get(".claude/settings.json"); got != claudeSettings {
		t.Errorf("the settings are now\n%s", got)
	}
}

// What the person wrote between install and uninstall stays, wherever it is.
func TestEditsInBetweenStay(t *testing.T) {
	w := newWorld(t, map[string]string{
		".claude/settings.json": claudeSettings, ".claude/CLAUDE.md": "# Mine\n",
		".codex/config.toml": "model = \"a\"\n",
	})
	for _, id := range []string{"claude_code", "codex"} {
		for _, part := range parts {
			w.install(id, part)
		}
	}
	edit := func(path, old, new string) {
		t.Helper()
		text := w.get(path)
		if !strings.Contains(text, old) {
			t.Fatalf("%s has no %q:\n%s", path, old, text)
		}
		w.put(path, strings.Replace(text, old, new, 1))
	}
	edit(".claude/settings.json", `"opus"`, `"haiku"`)
	edit(".claude/settings.json", "  }\n}\n", "  },\n  \"after\": [1]\n}\n")
	edit(".claude/CLAUDE.md", "# Mine\n", "# Mine and more\n")
	w.put(".claude/CLAUDE.md", w.get(".claude/CLAUDE.md")+"The end.\n")
	edit(".codex/config.toml", `"a"`, `"b"`)
	w.put(".codex/config.toml", w.get(".codex/config.toml")+"other = true\n\n[more]\nx = 1\n")
	w.put(".codex/AGENTS.md", "Mine alone.\n\n"+w.get(".codex/AGENTS.md"))
	for _, id := range []string{"claude_code", "codex"} {
		for _, part := range parts {
			w.remove(id, part)
		}
	}
	for path, want := range map[string]string{
		".claude/settings.json": strings.Replace(strings.Replace(claudeSettings, "opus", "haiku", 1), "  }\n}\n", "  },\n  \"after\": [1]\n}\n", 1),
		".claude/CLAUDE.md":     "# Mine and more\nThe end.\n",
		".codex/config.toml":    "model = \"b\"\n\n[features]\nother = true\n\n[more]\nx = 1\n",
		".codex/AGENTS.md":      "Mine alone.\n\n",
	} {
		if got := w.get(path); got != want {
			t.Errorf("%s is\n%s\nwant\n%s", path, got, want)
		}
	}
}
