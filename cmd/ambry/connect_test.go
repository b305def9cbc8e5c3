package main

import (
	"encoding/json"
	"strings"
	"testing"

	"ambry.dev/ambry"
)

// connectable are the answers about three agents, of which one is not here.
func connectable() map[string]any {
	all := ambry.AgentCapabilities{History: true, Skill: true, Hooks: true, MCP: true}
	changed := ambry.SkillResult{OK: true, Changes: []ambry.SkillChange{
		{Path: "/home/ada/.codex/config.toml", Action: ambry.FileEdited, Diff: "--- a\n+++ b\n@@ -1 +1,2 @@\n a\n+[mcp_servers.ambry]\n"},
	}, Notes: []string{"Start it anew."}}
	return map[string]any{
		"GET /api/agent-sources": []ambry.AgentSource{
			{SourceID: "claude_code", DisplayName: "Claude Code", Installed: true, Status: ambry.PluginInstalled, Capabilities: all},
			{SourceID: "codex", DisplayName: "Codex", Installed: true, Status: ambry.Drifted, Capabilities: all},
			{SourceID: "zed", DisplayName: "Zed", Status: ambry.NotConnected, Capabilities: ambry.AgentCapabilities{Skill: true, MCP: true}},
		},
		"POST /api/agent-sources/codex/skill":         ambry.SkillResult{OK: true, Changes: []ambry.SkillChange{}},
		"POST /api/agent-sources/codex/plugin":        changed,
		"DELETE /api/agent-sources/codex/skill":       changed,
		"DELETE /api/agent-sources/codex/plugin":      changed,
		"POST /api/agent-sources/claude_code/skill":   changed,
		"POST /api/agent-sources/claude_code/plugin":  ambry.Conflict.Errorf("/home/ada/.claude.json is left alone: it cannot be parsed"),
		"PATCH /api/app/onboarding":                   ambry.Onboarding{},
		"POST /api/agent-sources/zed/skill":           ambry.AgentSourceUnavailable.Errorf("Zed is not on this machine"),
		"DELETE /api/agent-sources/claude_code/skill": ambry.SkillResult{OK: true, Changes: []ambry.SkillChange{}},
	}
}

func TestConnectWritesBothParts(t *testing.T) {
	s := fakeService(t, connectable())
	ambryIn(t, s.home, "connect", "codex").check(t, 0, "Codex", "edit", ".codex/config.toml", "Start it anew.")
	if n := len(s.sent("POST /api/agent-sources/codex/")); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

func TestADryRunShowsTheDiff(t *testing.T) {
	s := fakeService(t, connectable())
	ambryIn(t, s.home, "connect", "codex", "--dry-run").check(t, 0, "+[mcp_servers.ambry]")
	ambryIn(t, s.home, "disconnect", "co", "--dry-run").check(t, 0, "+[mcp_servers.ambry]")
}

// One agent that fails does not keep the others from being connected.
func TestConnectAllGoesOn(t *testing.T) {
	s := fakeService(t, connectable())
	o := ambryIn(t, s.home, "connect", "--all", "--json")
	o.check(t, 1)
	var got struct {
		Agents []connection `json:"agents"`
	}
	if err := json.Unmarshal([]byte(o.out), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Agents) != 2 || got.Agents[0].OK || got.Agents[0].Error.Code != ambry.Conflict || !got.Agents[1].OK || len(got.Agents[1].Changes) != 1 {
		t.Errorf("got %+v", got)
	}
	ambryIn(t, s.home, "connect", "--all").check(t, 1, "cannot be parsed", "Codex")
}

func TestConnectNeedsPermission(t *testing.T) {
	answers := connectable()
	answers["POST /api/agent-sources/codex/skill"] = ambry.SkillWriteNotPermitted.Errorf("writing into agents' files is not permitted yet")
	s := fakeService(t, answers)
	ambryIn(t, s.home, "connect", "codex").check(t, 1, "not permitted", "--dry-run", "--allow")
	ambryIn(t, s.home, "skill", "install", "codex").check(t, 1, "not permitted", "--allow")
	if s.sent("PATCH /api/app/onboarding") != nil {
		t.Error("permitted without being told to")
	}
	ambryIn(t, s.home, "connect", "codex", "--allow").check(t, 1)
	if got := s.sent("PATCH /api/app/onboarding"); len(got) != 1 || got[0] != `PATCH /api/app/onboarding {"scanPermission":"scan_and_write_skill"}` {
		t.Errorf("sent was %q", got)
	}
}

func TestAgentsAreNamed(t *testing.T) {
	s := fakeService(t, connectable())
	ambryIn(t, s.home, "skill", "install", "nobody").check(t, 1, `no agent "nobody"`, "ambry skill status")
	ambryIn(t, s.home, "skill", "install", "c").check(t, 1, `no agent "c"`)
	ambryIn(t, s.home, "skill", "remove", "Claude-Code").check(t, 0, "Nothing to change.")
	ambryIn(t, s.home, "connect", "zed").check(t, 1, "not on this machine")
	ambryIn(t, s.home, "connect").check(t, 2, "--all")
	ambryIn(t, s.home, "connect", "codex", "--all").check(t, 2, "--all")
}

func TestDriftIsTold(t *testing.T) {
	answers := running(t).answers
	answers["GET /api/agent-sources"] = connectable()["GET /api/agent-sources"]
	s := fakeService(t, answers)
	ambryIn(t, s.home, "status").check(t, 0, "; connected", `"ambry connect codex" mends that`)
	if o := ambryIn(t, s.home, "doctor"); !strings.Contains(o.out, `"ambry connect codex" mends it`) {
		t.Errorf("doctor says\n%s", o.out)
	}
}

func TestSkillStatus(t *testing.T) {
	s := fakeService(t, connectable())
	ambryIn(t, s.home, "skill", "status").check(t, 0, "claude_code", "plugin installed", "drifted", "not on this machine", "skill, mcp, hooks")
	ambryIn(t, s.home, "skill", "status", "codex", "--json").check(t, 0, `"status": "drifted"`)
}
