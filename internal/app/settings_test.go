package app

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"ambry.dev/ambry"
)

// Two hundred changes at the same time, of the running service with its
// database: what comes out is what some order of them, one after the other,
// makes; every answer is a state in that order; and it is so after a restart.
func TestPatchesAtOnce(t *testing.T) {
	memory, dir := memoryAt(t, "127.0.0.1"), t.TempDir()
	s := serveIn(t, dir, memory.URL)
	changes := s.changes()
	day := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	themes, languages, modes := []string{"light", "dark"}, []string{"zh-CN", "en-US"}, []string{"full", "pet"}
	check := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	// Fields that are always set together must be found together.
	onboarding := func(o ambry.Onboarding) {
		if o.AcceptedTermsVersion == nil || o.CompletedAt == nil || *o.AcceptedTermsVersion != fmt.Sprint(int(o.CompletedAt.Sub(day).Seconds())) {
			t.Errorf("torn: version %v, completed at %v", o.AcceptedTermsVersion, o.CompletedAt)
		}
	}
	settings := func(a ambry.AppSettings) {
		first := (a.Theme == "dark") == (a.Language == "en-US")
		second := (a.DefaultLaunchMode == "pet") == a.MenuBarIconEnabled && a.MenuBarIconEnabled == a.AutoUpdateEnabled
		if !first || !second {
			t.Errorf("torn: %+v", a)
		}
	}
	privacy := func(p ambry.Privacy) {
		if p.TelemetryOptIn != p.LocalOnlyMode || p.CrashReportOptIn != p.LocalOnlyMode {
			t.Errorf("torn: %+v", p)
		}
	}
	_, err := s.PatchSettings(t.Context(), ambry.AppSettingsPatch{
		Theme: ptr("light"), Language: ptr("zh-CN"), DefaultLaunchMode: ptr("full"), MenuBarIconEnabled: ptr(false), AutoUpdateEnabled: ptr(false),
	})
	check(err)

	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			on := i/4%2 == 1
			pick := func(of []string) *string {
				if on {
					return &of[1]
				}
				return &of[0]
			}
			switch i % 4 {
			case 0:
				o, err := s.PatchOnboarding(t.Context(), ambry.OnboardingPatch{AcceptedTermsVersion: ptr(fmt.Sprint(i)), CompletedAt: ptr(day.Add(time.Duration(i) * time.Second))})
				if err != nil {
					t.Error(err)
					return
				}
				onboarding(o)
				if *o.AcceptedTermsVersion != fmt.Sprint(i) {
					t.Errorf("the answer to change %d is of change %s", i, *o.AcceptedTermsVersion)
				}
			case 1:
				a, err := s.PatchSettings(t.Context(), ambry.AppSettingsPatch{Theme: pick(themes), Language: pick(languages)})
				if err != nil {
					t.Error(err)
					return
				}
				settings(a)
				if a.Theme != *pick(themes) {
					t.Errorf("the answer to change %d is of another one", i)
				}
			case 2:
				a, err := s.PatchSettings(t.Context(), ambry.AppSettingsPatch{DefaultLaunchMode: pick(modes), MenuBarIconEnabled: &on, AutoUpdateEnabled: &on})
				if err != nil {
					t.Error(err)
					return
				}
				settings(a)
				if a.MenuBarIconEnabled != on {
					t.Errorf("the answer to change %d is of another one", i)
				}
			case 3:
				p, err := s.PatchPrivacy(t.Context(), ambry.PrivacyPatch{TelemetryOptIn: &on, CrashReportOptIn: &on, LocalOnlyMode: &on})
				if err != nil {
					t.Error(err)
					return
				}
				privacy(p)
			}
		})
	}
	wg.Wait()
	before := s.bootstrap()
	onboarding(before.Onboarding)
	settings(before.App)
	privacy(before.Privacy)
	seen := map[string]bool{}
	for range 50 { // each of the onboarding is another one
		seen[next(t, changes).Section] = true
	}
	if !seen["app"] || !seen["onboarding"] {
		t.Errorf("told were changes of %v", seen)
	}

	s.stop()
	after := serveIn(t, dir, memory.URL).bootstrap()
	if *after.Onboarding.AcceptedTermsVersion != *before.Onboarding.AcceptedTermsVersion || after.App != before.App || after.Privacy != before.Privacy {
		t.Errorf("after a restart %+v is %+v", before, after)
	}
}

// The local-only mode that is in force is the one that is stored, however many
// change it at once.
func TestTheModeInForceIsTheOneThatIsStored(t *testing.T) {
	memory := memoryAt(t, outsideAddress(t))
	s := serveIn(t, t.TempDir(), memory.URL)
	for range 5 {
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				if _, err := s.PatchPrivacy(t.Context(), ambry.PrivacyPatch{LocalOnlyMode: ptr(i%2 == 0)}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		b := s.bootstrap()
		if reached := b.Health.Memory == ambry.HealthOK; reached == b.Privacy.LocalOnlyMode {
			t.Errorf("with local-only mode %v the memory elsewhere is %s", b.Privacy.LocalOnlyMode, b.Health.Memory)
		}
	}
}

// Over HTTP, with the real scanner: nothing but the consent lets it read.
func TestNothingIsReadWithoutTheConsent(t *testing.T) {
	memory, dir := memoryAt(t, "127.0.0.1"), t.TempDir()
	say(t, dir, "where is the zephyrlock?")
	s := serveIn(t, dir, memory.URL)
	refused := func() {
		t.Helper()
		for _, mode := range []ambry.ScanMode{ambry.Incremental, ambry.InitialSubset, ambry.Full} {
			if _, err := s.Scan(t.Context(), ambry.ScanRequest{Mode: mode}); ambry.KindOf(err) != ambry.ScanNotPermitted {
				t.Errorf("a scan (%s) answers %v", mode, err)
			}
		}
	}
	refused()
	all := ambry.ScanPreferencesPatch{AutoScanKnownAgents: ptr(false), WatchFileChanges: ptr(false), AutoInjectSkill: ptr(true)}
	for range 2 { // off, and on again: each time the scanner looks at what it may do
		if _, err := s.PatchScanPreferences(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		all = ambry.ScanPreferencesPatch{AutoScanKnownAgents: ptr(true), WatchFileChanges: ptr(true)}
	}
	if _, err := s.PatchOnboarding(t.Context(), ambry.OnboardingPatch{Completed: ptr(true), HasAcceptedTerms: ptr(true)}); err != nil {
		t.Fatal(err)
	}
	refused()
	say(t, dir, "and now?")
	time.Sleep(600 * time.Millisecond) // longer than the scanner waits before it reads unasked
	if n := memory.imports.Load(); n != 0 {
		t.Fatalf("%d imports without a consent", n)
	}
	if _, err := s.PatchOnboarding(t.Context(), ambry.OnboardingPatch{ScanPermission: ptr(ambry.PermissionScan)}); err != nil {
		t.Fatal(err)
	}
	s.eventually("it is read by itself", func() bool { return memory.imports.Load() > 0 })
	if _, err := s.PatchOnboarding(t.Context(), ambry.OnboardingPatch{ScanPermission: ptr(ambry.PermissionNone)}); err != nil {
		t.Fatal(err)
	}
	refused()
	s.eventually("the scan ends", func() bool {
		st, err := s.ScanStatus(t.Context())
		return err == nil && !st.Active
	})
	before := memory.imports.Load()
	say(t, dir, "and after it was taken back?")
	time.Sleep(600 * time.Millisecond)
	if n := memory.imports.Load() - before; n != 0 {
		t.Errorf("%d imports after the consent was taken back", n)
	}
}
