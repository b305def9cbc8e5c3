package server_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"ambry.dev/ambry"
)

// section is a part of the settings that can be changed.
type section struct {
	path, name string // of its route, and in events
	// good changes every field; bad is wrong in one field and right in another.
	good string
	bad  []string
}

var sections = []section{
	{
		path: "/api/app/settings", name: "app",
		good: `{"userMode":"byok","language":"zh-CN","theme":"dark","autoUpdateEnabled":true,"defaultLaunchMode":"pet",
			"taskDoneNotificationEnabled":false,"notificationSoundEnabled":false,"menuBarIconEnabled":false}`,
		bad: []string{
			`{"theme":"pink","language":"en-US"}`, `{"theme":"dark","colour":"red"}`, `{"theme":"dark","Language":"en-US"}`,
			`{"menuBarIconEnabled":"yes","theme":"dark"}`, `{"theme":"dark","avatarId":"x"}`, `{"theme":"dark","scanPermission":"scan_only"}`,
			`{"theme":"dark","theme":"light"}`, `[]`, `null`, ``, `{"defaultLaunchMode":1}`,
		},
	},
	{
		path: "/api/app/privacy", name: "privacy",
		good: `{"telemetryOptIn":true,"crashReportOptIn":true,"allowMemoryImprovementUpload":true,"localOnlyMode":true}`,
		bad: []string{
			`{"localOnlyMode":1}`, `{"localOnlyMode":true,"telemetry":true}`, `{"localOnlyMode":"true"}`, ``,
		},
	},
	{
		path: "/api/app/scan-preferences", name: "scan_preferences",
		good: `{"autoScanKnownAgents":false,"watchFileChanges":false,"autoInjectSkill":true}`,
		bad: []string{
			`{"watchFileChanges":0}`, `{"watchFileChanges":false,"scanPermission":"scan_and_write_skill"}`, `{"autoScanKnownAgents":[],"watchFileChanges":false}`,
		},
	},
	{
		path: "/api/app/onboarding", name: "onboarding",
		good: `{"completed":true,"currentStep":"completed","hasAcceptedTerms":true,"acceptedTermsVersion":"2","scanPermission":"none",
			"improvementProgram":"declined","completedAt":"2026-05-01T10:00:00Z"}`,
		bad: []string{
			`{"completed":true,"currentStep":"later"}`, `{"completed":true,"userMode":"account"}`, `{"completed":true,"completedAt":"yesterday"}`,
		},
	},
}

// views are the sections as bootstrap shows them.
func (a *api) views() map[string]map[string]any {
	a.t.Helper()
	_, out := a.ask("GET", "/api/app/bootstrap", "")
	views := map[string]map[string]any{}
	for name, key := range map[string]string{"app": "app", "privacy": "privacy", "scan_preferences": "scanPreferences", "onboarding": "onboarding"} {
		views[name] = out[key].(map[string]any)
	}
	return views
}

func TestPatchAnswersTheWholeView(t *testing.T) {
	for _, s := range sections {
		a := serve(t)
		initial := a.views()[s.name]
		if status, out := a.ask("PATCH", s.path, "{}"); status != 200 || !reflect.DeepEqual(out, initial) {
			t.Errorf("%s: nothing changed answers %d %v, want %v", s.name, status, out, initial)
		}
		if len(a.bus.told) != 0 {
			t.Errorf("%s: nothing changed was told as %v", s.name, a.bus.told)
		}
		status, out := a.ask("PATCH", s.path, s.good)
		if status != 200 || !reflect.DeepEqual(out, a.views()[s.name]) {
			t.Errorf("%s: got %d %v, bootstrap says %v", s.name, status, out, a.views()[s.name])
		}
		for field, was := range initial {
			if reflect.DeepEqual(out[field], was) {
				t.Errorf("%s: %s is as before", s.name, field)
			}
		}
		if len(a.bus.told) != 1 {
			t.Fatalf("%s: told were %v", s.name, a.bus.told)
		}
		told, _ := a.bus.told[0].(ambry.SettingsChanged)
		slices.Sort(told.Fields)
		if want := slices.Sorted(maps.Keys(initial)); told.Section != s.name || !slices.Equal(told.Fields, want) {
			t.Errorf("%s: told was %+v, want all of %v", s.name, told, want)
		}
		if a.ask("PATCH", s.path, s.good); len(a.bus.told) != 1 {
			t.Errorf("%s: the same again was told", s.name)
		}
	}
}

func TestPatchIsAllOrNothing(t *testing.T) {
	for _, s := range sections {
		a := serve(t)
		before := a.views()
		for _, body := range s.bad {
			if status, out := a.ask("PATCH", s.path, body); status != 400 || code(out) != "invalid_argument" {
				t.Errorf("%s %s: got %d %v, want invalid_argument", s.name, body, status, out)
			}
		}
		if after := a.views(); !reflect.DeepEqual(after, before) || len(a.bus.told) != 0 || a.scans.changed != 0 || a.private != 0 {
			t.Errorf("%s: bad requests made of %v\n%v, and told %v", s.name, before, after, a.bus.told)
		}
	}
}

func TestNobodyIsLoggedIn(t *testing.T) {
	a := serve(t)
	status, out := a.ask("PATCH", "/api/app/settings", `{"theme":"dark","userMode":"account"}`)
	if status != 401 || code(out) != "unauthorized" {
		t.Errorf("got %d %v", status, out)
	}
	if a.settings.value != ambry.DefaultAppSettings() || len(a.bus.told) != 0 {
		t.Errorf("it made %+v, and told %v", a.settings.value, a.bus.told)
	}
}

// Whoever acts on a setting hears of it, and of no other.
func TestChangesReachThoseWhoActOnThem(t *testing.T) {
	for _, tt := range []struct {
		path, body     string
		scans, private int
	}{
		{"/api/app/scan-preferences", `{"watchFileChanges":false}`, 1, 0},
		{"/api/app/scan-preferences", `{"watchFileChanges":true}`, 0, 0},
		{"/api/app/privacy", `{"localOnlyMode":true}`, 0, 1},
		{"/api/app/privacy", `{"localOnlyMode":false}`, 0, 0},
		{"/api/app/settings", `{"theme":"dark"}`, 0, 0},
		{"/api/app/onboarding", `{"completed":true}`, 0, 0},
	} {
		a := serve(t)
		a.ask("PATCH", tt.path, tt.body)
		if a.scans.changed != tt.scans || a.private != tt.private {
			t.Errorf("%s %s: the scanner heard %d times, want %d; the privacy changed %d times, want %d",
				tt.path, tt.body, a.scans.changed, tt.scans, a.private, tt.private)
		}
	}
}

func TestNothingIsToldOfAWriteThatFailed(t *testing.T) {
	a := serve(t)
	full := ambry.StorageFull.Errorf("the disk is full")
	a.settings.err, a.privacy.err, a.preferences.err = full, full, full
	for _, s := range sections[:3] {
		if status, out := a.ask("PATCH", s.path, s.good); status != 507 || code(out) != "storage_full" {
			t.Errorf("%s: got %d %v", s.name, status, out)
		}
	}
	if len(a.bus.told) != 0 || a.scans.changed != 0 || a.private != 0 {
		t.Errorf("told were %v", a.bus.told)
	}
}
