package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ambry.dev/ambry"
)

// From the permission to the file and back, over the API of a whole service.
func TestServiceConnectsAnAgent(t *testing.T) {
	memory, dir := memoryAt(t, "127.0.0.1"), t.TempDir()
	file := filepath.Join(dir, ".codex", "config.toml")
	const before = "model = \"m\" # mine\n"
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	s := serveIn(t, dir, memory.URL)
	status := func() ambry.AgentSource {
		t.Helper()
		sources, err := s.Sources(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, src := range sources {
			if src.SourceID == "codex" {
				return src
			}
		}
		t.Fatal("codex is not listed")
		return ambry.AgentSource{}
	}
	if got := status(); !got.Installed || got.Status != ambry.NotConnected || !got.Capabilities.MCP || !got.Capabilities.Hooks || !got.Capabilities.Skill {
		t.Errorf("at first it is %+v", got)
	}
	for _, permission := range []ambry.ScanPermission{ambry.PermissionUnset, ambry.PermissionNone, ambry.PermissionScan} {
		if _, err := s.PatchOnboarding(t.Context(), ambry.OnboardingPatch{ScanPermission: &permission}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.InstallSkill(t.Context(), "codex", ambry.Plugin, false); ambry.KindOf(err) != ambry.SkillWriteNotPermitted {
			t.Errorf("with %s: %v", permission, err)
		}
		if _, err := s.RemoveSkill(t.Context(), "codex", ambry.SkillText, false); ambry.KindOf(err) != ambry.SkillWriteNotPermitted {
			t.Errorf("with %s: %v", permission, err)
		}
	}
	permission := ambry.PermissionScanAndSkill
	if _, err := s.PatchOnboarding(t.Context(), ambry.OnboardingPatch{ScanPermission: &permission}); err != nil {
		t.Fatal(err)
	}
	if r, err := s.InstallSkill(t.Context(), "codex", ambry.Plugin, true); err != nil || len(r.Changes) == 0 {
		t.Errorf("a dry run: %+v, %v", r, err)
	}
	if _, err := s.InstallSkill(t.Context(), "codex", ambry.Plugin, false); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "[mcp_servers.ambry]") || !strings.HasPrefix(string(text), before) {
		t.Errorf("%v\n%s", err, text)
	}
	if got := status(); got.Status != ambry.PluginInstalled {
		t.Errorf("it is %s", got.Status)
	}
	s.stop()

	s = serveIn(t, dir, memory.URL) // what was written is known after a restart
	if got := status(); got.Status != ambry.PluginInstalled {
		t.Errorf("after a restart it is %s", got.Status)
	}
	if _, err := s.RemoveSkill(t.Context(), "codex", ambry.Plugin, false); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != before {
		t.Errorf("%v\n%s", err, text)
	}
	if _, err := s.InstallSkill(t.Context(), "gemini_cli", ambry.Plugin, false); ambry.KindOf(err) != ambry.AgentSourceUnavailable {
		t.Errorf("an agent that is not here: %v", err)
	}
	if _, err := s.InstallSkill(t.Context(), "nobody", ambry.Plugin, false); ambry.KindOf(err) != ambry.NotFound {
		t.Errorf("an unknown agent: %v", err)
	}
}
