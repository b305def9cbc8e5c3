package scan_test

import (
	"testing"
	"testing/synctest"
	"time"

	"ambry.dev/ambry"
)

// A day passes: what is new is read now and then, if that is both permitted and
// wanted, and not by any other setting alone.
func TestScheduleNeedsTheConsent(t *testing.T) {
	scheduled := ambry.ScanPreferences{AutoScanKnownAgents: true}
	for _, tt := range []struct {
		name    string
		consent ambry.ScanPermission
		prefs   ambry.ScanPreferences
		read    bool
	}{
		{"permitted and wanted", ambry.PermissionScan, scheduled, true},
		{"permitted with skills", ambry.PermissionScanAndSkill, scheduled, true},
		{"not asked yet", ambry.PermissionUnset, scheduled, false},
		{"refused", ambry.PermissionNone, scheduled, false},
		{"refused, all else wanted", ambry.PermissionNone, ambry.ScanPreferences{AutoScanKnownAgents: true, AutoInjectSkill: true}, false},
		{"an unknown consent", "everything", scheduled, false},
		{"permitted, not wanted", ambry.PermissionScan, ambry.ScanPreferences{AutoInjectSkill: true}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.prefer(tt.consent, tt.prefs)
				stop := w.run()
				defer stop()
				time.Sleep(time.Minute)
				synctest.Wait()
				w.write(".one/a.jsonl", 1, 3)
				time.Sleep(24 * time.Hour)
				synctest.Wait()
				if read := len(w.memory.all()) == 3; read != tt.read {
					t.Errorf("after a day %d turns are read", len(w.memory.all()))
				}
			})
		})
	}
}

// The consent is taken back while the schedule runs.
func TestScheduleEndsWithTheConsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.write(".one/a.jsonl", 1, 1)
		w.prefer(ambry.PermissionScan, ambry.ScanPreferences{AutoScanKnownAgents: true})
		stop := w.run()
		defer stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		w.holds(turns(".one/a.jsonl", 1, 1)...)
		w.prefer(ambry.PermissionNone, ambry.ScanPreferences{AutoScanKnownAgents: true})
		w.write(".one/a.jsonl", 2, 2)
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		w.holds(turns(".one/a.jsonl", 1, 1)...)
	})
}

func TestWatchingAloneReadsOnlyWhatChanges(t *testing.T) {
	w := newWorld(t)
	w.write(".one/old.jsonl", 1, 1)
	w.write(".one/a.jsonl", 1, 1)
	w.prefer(ambry.PermissionScan, ambry.ScanPreferences{WatchFileChanges: true})
	w.run()
	w.eventually("a change is read", func() bool {
		w.write(".one/a.jsonl", 2, 2) // again and again: when the watch begins is not told
		return len(w.memory.all()) > 0
	})
	time.Sleep(600 * time.Millisecond) // longer than the scanner waits before it reads unasked
	w.holds(turns(".one/a.jsonl", 1, 2)...)
}
