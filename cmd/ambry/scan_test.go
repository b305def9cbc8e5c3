package main

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
)

const scanRoute, statusRoute, stopRoute = "POST /api/agent-sources/scan", "GET /api/agent-sources/scan/status", "POST /api/agent-sources/scan/stop"

func completion() ambry.ScanCompletion {
	return ambry.ScanCompletion{
		JobID: "job-1", Succeeded: true, Imported: ambry.Imported{Added: 1200, Updated: 3},
		Results: []ambry.ScanResult{
			{SourceID: "claude_code", Conversations: 40, Messages: 1000, Turns: 1203, Bytes: 2_500_000, Redactions: 1},
			{SourceID: "codex", Conversations: 1, Messages: 1, Bytes: 10, Skipped: 2, Errors: []string{"one file is torn"}, ErrorCount: 3},
			{SourceID: "opencode"},
		},
	}
}

func TestScanIsNotPermitted(t *testing.T) {
	s := fakeService(t, map[string]any{scanRoute: ambry.ScanNotPermitted.Errorf("reading histories is not permitted")})
	ambryIn(t, s.home, "scan").check(t, 1, "ambry: reading histories is not permitted\n", `hint: "ambry scan --allow"`)
}

func TestScanSaysWhatItWillRead(t *testing.T) {
	s := fakeService(t, map[string]any{
		"GET /api/app/bootstrap":    ambry.Bootstrap{Onboarding: ambry.DefaultOnboarding()},
		"GET /api/agent-sources":    []ambry.AgentSource{{DisplayName: "Codex", DataPath: "/srv/.codex", Available: true}, {DisplayName: "Cursor"}},
		"PATCH /api/app/onboarding": ambry.Onboarding{},
		scanRoute:                   ambry.ScanStarted{JobID: "job-1"},
	})
	got := ambryIn(t, s.home, "scan", "--allow", "--source", "codex", "--mode", "full")
	got.check(t, 0, "Permitted", "  Codex: /srv/.codex\n", "Reading has begun")
	want := []string{`PATCH /api/app/onboarding {"scanPermission":"scan_only"}`}
	if diff := cmp.Diff(want, s.sent("PATCH")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{scanRoute + ` {"sourceId":"codex","mode":"full"}`}, s.sent(scanRoute+" ")); diff != "" {
		t.Error(diff)
	}
}

func TestAllowingAgainTakesNothingBack(t *testing.T) {
	s := fakeService(t, map[string]any{
		"GET /api/app/bootstrap": ambry.Bootstrap{Onboarding: ambry.Onboarding{ScanPermission: ambry.PermissionScanAndSkill}},
		"GET /api/agent-sources": []ambry.AgentSource{},
		scanRoute:                ambry.ScanStarted{},
	})
	ambryIn(t, s.home, "scan", "--allow").check(t, 0, "permitted already")
	if got := s.sent("PATCH"); got != nil {
		t.Errorf("sent %q", got)
	}
}

func TestScanIsWaitedFor(t *testing.T) {
	progress := func(phase ambry.Phase, current int64) ambry.Event {
		p := ambry.ScanProgress{JobID: "job-1", SourceID: "codex", Phase: phase, Current: current, Total: 2_000_000, Unit: "bytes"}
		return ambry.Event{Type: p.Topic(), Payload: p}
	}
	s := fakeService(t, map[string]any{
		scanRoute:   ambry.ScanStarted{JobID: "job-1"},
		statusRoute: ambry.ScanStatus{Completion: new(completion())},
		"GET /api/events": []ambry.Event{
			progress(ambry.PhaseScan, 0), progress(ambry.PhaseAdd, 1_000_000), progress(ambry.PhaseAdd, 1_500_000), progress(ambry.PhaseDone, 2_000_000),
		},
	})
	got := ambryIn(t, s.home, "scan", "--wait")
	want := outcome{
		err: "reading codex, 1.0 MB of 2.0 MB\ndone with codex, 2.0 MB of 2.0 MB\n",
		out: `claude_code: 1,000 messages in 40 conversations, 2.5 MB, 1 secret taken out
codex: 1 message in 1 conversation, 10 B, 2 records skipped
  one file is torn
  and 2 more errors
1,203 turns read: 1,200 added, 3 updated. Try: ambry search WORDS
`,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" {
		t.Error(diff)
	}
}

func TestScanEnds(t *testing.T) {
	stoppedOne, failedOne, again, empty := completion(), completion(), completion(), ambry.ScanCompletion{JobID: "job-1", Succeeded: true}
	stoppedOne.Succeeded, stoppedOne.Stopped = false, true
	failedOne.Succeeded = false
	again.Imported = ambry.Imported{Unchanged: 1203}
	for _, tt := range []struct {
		name   string
		status ambry.ScanStatus
		code   int
		want   string
	}{
		{"with nothing new", ambry.ScanStatus{Completion: &empty}, 0, "Nothing new.\n"},
		{"with what is known", ambry.ScanStatus{Completion: &again}, 0, "1,203 turns read, known already.\n"},
		{"stopped by somebody else", ambry.ScanStatus{Completion: &stoppedOne}, 1, "Stopped."},
		{"with a source that cannot be read", ambry.ScanStatus{Completion: &failedOne}, 1, "but not all that there is"},
		{"with the service", ambry.ScanStatus{}, 1, "left no result"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := fakeService(t, map[string]any{scanRoute: ambry.ScanStarted{JobID: "job-1"}, statusRoute: tt.status})
			ambryIn(t, s.home, "scan", "--wait").check(t, tt.code, tt.want)
		})
	}
}

func TestCtrlCStopsTheScan(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := fakeService(t, map[string]any{
		scanRoute:   ambry.ScanStarted{JobID: "job-1"},
		statusRoute: func() any { cancel(); return ambry.ScanStatus{Active: true} },
		stopRoute:   map[string]bool{"ok": true},
	})
	got := ambryWith(ctx, t, "", "scan", "--wait", "--home", s.home)
	got.check(t, 130, "What was read stays", "ambry: interrupted\n")
	if len(s.sent(stopRoute)) != 1 {
		t.Errorf("asked %q", s.asked)
	}
}

func TestScanIsRefused(t *testing.T) {
	s := fakeService(t, map[string]any{scanRoute: ambry.Conflict.Errorf("a scan of codex is running")})
	ambryIn(t, s.home, "scan").check(t, 1, "ambry: a scan of codex is running\n", `hint: "ambry scan stop"`)
	s.answers[scanRoute] = ambry.NotFound.Errorf("no agent x")
	ambryIn(t, s.home, "scan", "--source", "x").check(t, 1, "ambry: no agent x\n", `hint: "ambry status"`)
	ambryIn(t, s.home, "scan", "--mode", "some").check(t, 2, "incremental, initial_subset, full")
	ambryIn(t, s.home, "scan", "codex").check(t, 2)
}

func TestScanStop(t *testing.T) {
	s := fakeService(t, map[string]any{statusRoute: ambry.ScanStatus{Active: true}, stopRoute: map[string]bool{"ok": true}})
	ambryIn(t, s.home, "scan", "stop").check(t, 0, "Stopped.\n")
	s.answers[statusRoute] = ambry.ScanStatus{}
	ambryIn(t, s.home, "scan", "stop").check(t, 0, "No scan was running.\n")
	got := ambryIn(t, t.TempDir(), "scan", "stop", "--json")
	var doc stopped
	if err := json.Unmarshal([]byte(got.out), &doc); err != nil || doc.Stopped || got.code != 0 {
		t.Errorf("where nothing runs: got %+v, %v", got, err)
	}
}
