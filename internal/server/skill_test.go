package server_test

import (
	"slices"
	"testing"

	"ambry.dev/ambry"
)

func TestSkillsAreWrittenAndTakenOut(t *testing.T) {
	a := serve(t)
	for _, path := range []string{"/api/agent-sources/codex/skill", "/api/agent-sources/codex/plugin"} {
		for _, method := range []string{"POST", "DELETE"} {
			for _, query := range []string{"", "?dryRun=true"} {
				if status, body := a.ask(method, path+query, ""); status != 200 || body["ok"] != true || body["changes"] == nil {
					t.Errorf("%s %s%s: %d %v", method, path, query, status, body)
				}
			}
		}
	}
	want := []string{
		"install codex skill false", "install codex skill true", "remove codex skill false", "remove codex skill true",
		"install codex plugin false", "install codex plugin true", "remove codex plugin false", "remove codex plugin true",
	}
	if !slices.Equal(a.skills.asked, want) {
		t.Errorf("asked was %v", a.skills.asked)
	}
	for err, want := range map[error]int{
		ambry.SkillWriteNotPermitted.Errorf("not permitted"): 403, ambry.Conflict.Errorf("unparseable"): 409,
		ambry.AgentSourceUnavailable.Errorf("absent"): 409, ambry.NotFound.Errorf("unknown"): 404,
	} {
		a.skills.err = err
		if status, body := a.ask("POST", "/api/agent-sources/codex/skill", ""); status != want {
			t.Errorf("%v: got %d %v, want %d", err, status, body, want)
		}
	}
	if status, _ := a.ask("POST", "/api/agent-sources/codex/skill?dryRun=perhaps", ""); status != 400 {
		t.Errorf("a dry run of perhaps: got %d", status)
	}
}
