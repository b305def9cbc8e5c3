package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/home"
)

func agents() []ambry.AgentSource {
	return []ambry.AgentSource{
		{SourceID: "claude_code", DisplayName: "Claude Code", Available: true, DataPath: "/srv/.claude", MessageCount: 1234, LastScannedAt: new(time.Now())},
		{SourceID: "codex", DisplayName: "Codex", Available: true, DataPath: "/srv/.codex"},
		{SourceID: "cursor", DisplayName: "Cursor"},
		{SourceID: "opencode", DisplayName: "OpenCode", DataPath: "/srv/oc", Error: "permission denied"},
	}
}

func running(t *testing.T) *service {
	return fakeService(t, map[string]any{
		"GET /api/agent-sources": agents(),
		statusRoute:              ambry.ScanStatus{Completion: new(completion())},
		"GET /api/v1/panel/overview": ambry.Overview{
			Counts: ambry.OverviewCounts{Memories: 4321, Sessions: 1}, StorageBytes: 5_000_000,
		},
	})
}

func TestStatus(t *testing.T) {
	s := running(t)
	ambryIn(t, s.home, "status").check(t, 0,
		"ambry dev is running at http://127.0.0.1:", "(process 42, started just now)",
		"4,321 memories from 1 session, 5.0 MB", "days ago, 1,200 turns new",
		"1,234 messages from /srv/.claude, read just now", "/srv/.codex, not read yet", "not found", "cannot be read: permission denied")
	got := ambryIn(t, s.home, "status", "--json")
	var doc status
	if err := json.Unmarshal([]byte(got.out), &doc); err != nil {
		t.Fatal(err)
	}
	if !doc.Running || doc.PID != 42 || doc.Overview.Counts.Memories != 4321 || len(doc.Sources) != 4 || doc.Scan.Completion == nil {
		t.Errorf("got %+v", doc)
	}
}

func TestStatusWhileThingsAreMissing(t *testing.T) {
	s := running(t)
	s.answers["GET /api/v1/panel/overview"] = ambry.MemoryUnavailable.Errorf("down")
	s.answers[statusRoute] = ambry.ScanStatus{Active: true, Progress: &ambry.ScanProgress{SourceID: "codex", Phase: ambry.PhaseAdd, Current: 5, Unit: "messages"}}
	s.answers["GET /api/app/bootstrap"] = ambry.Bootstrap{
		Onboarding: ambry.Onboarding{ScanPermission: ambry.PermissionScan},
		Health:     ambry.Health{Memory: ambry.HealthFailed, MemoryReason: "disk on fire"},
	}
	ambryIn(t, s.home, "status").check(t, 0, "failed disk on fire", "now: reading codex, 5 messages")
	s.answers["GET /api/app/bootstrap"] = ambry.Bootstrap{Health: ambry.Health{Memory: ambry.HealthStarting}}
	ambryIn(t, s.home, "status").check(t, 0, "starting", `"ambry scan --allow" permits it`)
}

func TestNothingIsRunning(t *testing.T) {
	home := t.TempDir()
	ambryIn(t, home, "status").check(t, 1, "ambry is not running", `"ambry serve" starts it`)
	got := ambryIn(t, home, "status", "--json")
	if diff := cmp.Diff("{\n  \"running\": false,\n  \"home\": \""+home+"\"\n}\n", got.out); diff != "" || got.code != 1 {
		t.Errorf("%+v %s", got, diff)
	}
	if entries, err := os.ReadDir(home); err != nil || len(entries) > 0 {
		t.Errorf("status left %v, %v", entries, err)
	}
}

// verdicts runs doctor and returns what each check came to.
func verdicts(t *testing.T, home string, code int) map[string]check {
	t.Helper()
	got := ambryIn(t, home, "doctor", "--json")
	got.check(t, code)
	var d diagnosis
	if err := json.Unmarshal([]byte(got.out), &d); err != nil {
		t.Fatal(err)
	}
	if d.OK != (code == 0) {
		t.Errorf("got ok %v with exit code %d", d.OK, code)
	}
	all := map[string]check{}
	for _, c := range d.Checks {
		all[c.Name] = c
	}
	return all
}

func TestDoctorFindsAllWell(t *testing.T) {
	s := running(t)
	s.answers["GET /api/agent-sources"] = agents()[:2]
	for name, c := range verdicts(t, s.home, 0) {
		if c.Verdict != good && name != "inotify" && name != "disk" {
			t.Errorf("%+v", c)
		}
	}
	ambryIn(t, s.home, "doctor").check(t, 0, "ok", "home", "4,321 memories", "history in /srv/.claude")
}

func TestDoctorFinds(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(t *testing.T, s *service)
		code   int
		check  string
		want   verdict
	}{
		{"a home that others write in", func(t *testing.T, s *service) {
			if err := os.Chmod(s.home, 0o777); err != nil {
				t.Fatal(err)
			}
		}, 1, "home", fail},
		{"a config that makes no sense", func(t *testing.T, s *service) {
			if err := os.WriteFile(filepath.Join(s.home, "config.yaml"), []byte("log:\n  level: loud\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, 1, "settings", fail},
		{"a service that died", func(t *testing.T, s *service) {
			if err := os.WriteFile(filepath.Join(s.home, "runtime.json"), []byte(`{"schema":1,"baseUrl":"http://127.0.0.1:1"}`), 0o600); err != nil {
				t.Fatal(err)
			}
		}, 0, "service", warn},
		{"a service that hangs", func(t *testing.T, s *service) {
			left := fmt.Sprintf(`{"schema":1,"baseUrl":"http://127.0.0.1:1","pid":%d}`, os.Getpid())
			if err := os.WriteFile(filepath.Join(s.home, "runtime.json"), []byte(left), 0o600); err != nil {
				t.Fatal(err)
			}
			lock, err := home.Acquire(filepath.Join(s.home, "ambry.lock"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = lock.Release() })
		}, 1, "service", fail},
		{"no service", func(t *testing.T, s *service) {
			if err := os.Remove(filepath.Join(s.home, "runtime.json")); err != nil {
				t.Fatal(err)
			}
		}, 0, "service", warn},
		{"a service of another version", func(t *testing.T, s *service) {
			rt := filepath.Join(s.home, "runtime.json")
			data, err := os.ReadFile(rt)
			if err == nil {
				var doc ambry.RuntimeFile
				if err = json.Unmarshal(data, &doc); err == nil {
					doc.Version = "0.0.1"
					data, err = json.Marshal(doc)
				}
			}
			if err == nil {
				err = os.WriteFile(rt, data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}, 1, "service", warn},
		{"a memory that keeps failing", func(_ *testing.T, s *service) {
			s.answers["GET /api/app/bootstrap"] = ambry.Bootstrap{Health: ambry.Health{Memory: ambry.HealthFailed, MemoryReason: "disk on fire"}}
		}, 1, "memory", fail},
		{"a memory that was restarted", func(_ *testing.T, s *service) {
			s.answers["GET /api/app/bootstrap"] = ambry.Bootstrap{Health: ambry.Health{Memory: ambry.HealthOK, MemoryStarts: 2}}
		}, 1, "memory", warn},
		{"a memory that does not answer", func(_ *testing.T, s *service) {
			s.answers["GET /api/v1/panel/overview"] = ambry.MemoryTimeout.Errorf("slow")
		}, 1, "memory", fail},
		{"no consent", func(_ *testing.T, s *service) {
			s.answers["GET /api/app/bootstrap"] = ambry.Bootstrap{Health: ambry.Health{Memory: ambry.HealthOK}}
		}, 1, "consent", warn},
		{"an agent that cannot be read", func(*testing.T, *service) {}, 1, "opencode", fail},
		{"no agent at all", func(_ *testing.T, s *service) {
			s.answers["GET /api/agent-sources"] = agents()[2:3]
		}, 0, "agents", warn},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := running(t)
			tt.damage(t, s)
			got := verdicts(t, s.home, tt.code)[tt.check]
			if got.Verdict != tt.want || got.Message == "" {
				t.Errorf("got %+v", got)
			}
		})
	}
}
