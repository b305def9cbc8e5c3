package state

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/home"
)

func TestMarks(t *testing.T) {
	h := newHome(t)
	db := openState(t, h)
	ctx := t.Context()

	want := map[string]ambry.FileMark{
		"/h/a.jsonl":         {Mark: []byte(`{"offset":1}`)},
		"/h/日本語 'quoted'.db": {Mark: []byte(`{}`)},
		"/h/not utf8 \xff":   {Mark: []byte("\x00\xff")},
	}
	check(t, db.SetMarks(ctx, "codex", want))
	check(t, db.SetMarks(ctx, "claude_code", map[string]ambry.FileMark{"/h/a.jsonl": {Mark: []byte("other")}}))
	check(t, db.SetMarks(ctx, "codex", nil))

	want["/h/a.jsonl"] = ambry.FileMark{Mark: []byte(`{"offset":2}`), Messages: 3, Bytes: 4}
	check(t, db.SetMarks(ctx, "codex", map[string]ambry.FileMark{"/h/a.jsonl": want["/h/a.jsonl"]}))
	same(t, "marks", marks(t, db, "codex"), want)

	check(t, db.DeleteMarks(ctx, "codex", "/h/a.jsonl", "/h/unknown"))
	delete(want, "/h/a.jsonl")
	check(t, db.Close())

	db = openState(t, h)
	same(t, "marks after another start", marks(t, db, "codex"), want)
	same(t, "marks of another agent", marks(t, db, "claude_code"), map[string]ambry.FileMark{"/h/a.jsonl": {Mark: []byte("other")}})
	same(t, "marks of an unknown agent", marks(t, db, "nobody"), map[string]ambry.FileMark{})
}

func TestKnownMarksCostNoWrite(t *testing.T) {
	h := newHome(t)
	db := openState(t, h)
	marks := map[string]ambry.FileMark{}
	for i := range 1000 {
		marks[fmt.Sprintf("/h/%04d.jsonl", i)] = ambry.FileMark{Mark: []byte(`{"done":true}`)}
	}
	check(t, db.SetMarks(t.Context(), "codex", marks))
	before := size(t, h.AppDB()+"-wal")
	check(t, db.SetMarks(t.Context(), "codex", maps.Clone(marks)))
	if after := size(t, h.AppDB()+"-wal"); after != before {
		t.Errorf("the log grew from %d to %d bytes", before, after)
	}
}

func TestTotals(t *testing.T) {
	db := openState(t, newHome(t))
	ctx := t.Context()
	check(t, db.SetMarks(ctx, "codex", map[string]ambry.FileMark{
		"/h/a": {Mark: []byte("1"), Messages: 7, Bytes: 1 << 40}, "/h/b": {Messages: 1, Bytes: 2}, "/h/empty": {Bytes: 3},
	}))
	check(t, db.SetMarks(ctx, "claude_code", map[string]ambry.FileMark{"/h/a": {Messages: 100}}))
	got, err := db.Totals(ctx, "codex")
	check(t, err)
	same(t, "totals", got, ambry.SourceTotals{Messages: 8, Conversations: 2, Bytes: 1<<40 + 5})

	one, err := db.Mark(ctx, "codex", "/h/a")
	check(t, err)
	same(t, "one mark", one, ambry.FileMark{Mark: []byte("1"), Messages: 7, Bytes: 1 << 40})
	none, err := db.Mark(ctx, "codex", "/h/unknown")
	check(t, err)
	same(t, "no mark", none, ambry.FileMark{})
}

func TestTimesAndEndsOfScans(t *testing.T) {
	db := openState(t, newHome(t))
	ctx := t.Context()
	never, err := db.LastScan(ctx, "codex")
	check(t, err)
	same(t, "time of no scan", never, time.Time{})
	none, err := db.Completion(ctx)
	check(t, err)
	same(t, "end of no scan", none, nil)

	at := time.Date(2026, 11, 27, 23, 15, 0, 123e6, time.UTC)
	check(t, db.SetLastScan(ctx, "codex", at.Add(-time.Hour)))
	check(t, db.SetLastScan(ctx, "codex", at))
	got, err := db.LastScan(ctx, "codex")
	check(t, err)
	same(t, "time of the scan", got, at)

	end := ambry.ScanCompletion{JobID: "j", SourceID: "all", Succeeded: true, CompletedAt: at}
	check(t, db.SetCompletion(ctx, ambry.ScanCompletion{JobID: "i", Stopped: true}))
	check(t, db.SetCompletion(ctx, end))
	last, err := db.Completion(ctx)
	check(t, err)
	same(t, "end of the scan", last, &end)
}

func TestDocuments(t *testing.T) {
	h := newHome(t)
	db := openState(t, h)
	ctx := t.Context()

	got, err := db.Onboarding.Load(ctx)
	check(t, err)
	same(t, "onboarding of a new home", got, ambry.DefaultOnboarding())

	changed, err := db.Onboarding.Change(ctx, func(o *ambry.Onboarding) error {
		o.ScanPermission = ambry.PermissionScan
		return nil
	})
	check(t, err)
	want := ambry.DefaultOnboarding()
	want.ScanPermission = ambry.PermissionScan
	same(t, "changed onboarding", changed, want)
	check(t, db.Close())

	db = openState(t, h)
	got, err = db.Onboarding.Load(ctx)
	check(t, err)
	same(t, "onboarding after another start", got, want)
	settings, err := db.AppSettings.Load(ctx)
	check(t, err)
	same(t, "settings", settings, ambry.DefaultAppSettings())
}

func TestAbsentFieldsHaveTheirDefaults(t *testing.T) {
	db := openState(t, newHome(t))
	keep(t, db, "scan_preferences", `{"autoInjectSkill":true,"unknown":1}`)
	got, err := db.ScanPreferences.Load(t.Context())
	check(t, err)
	want := ambry.DefaultScanPreferences()
	want.AutoInjectSkill = true
	same(t, "preferences", got, want)
}

func TestUnreadableDocumentIsAnError(t *testing.T) {
	db := openState(t, newHome(t))
	keep(t, db, "privacy", `{"telemetryOptIn":"yes"}`)
	if got, err := db.Privacy.Load(t.Context()); err == nil {
		t.Errorf("got %+v, want an error", got)
	}
}

func TestRefusedChangeChangesNothing(t *testing.T) {
	db := openState(t, newHome(t))
	refused := ambry.Unauthorized.Errorf("sign in first")
	_, err := db.AppSettings.Change(t.Context(), func(s *ambry.AppSettings) error {
		s.Theme = "dark"
		return refused
	})
	if !errors.Is(err, refused) || ambry.KindOf(err) != ambry.Unauthorized {
		t.Errorf("got %v, want the error of the edit", err)
	}
	got, err := db.AppSettings.Load(t.Context())
	check(t, err)
	same(t, "settings", got, ambry.DefaultAppSettings())
}

func TestConcurrentChangesAllCount(t *testing.T) {
	db := openState(t, newHome(t))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 10 {
				_, err := db.lastScan.Change(t.Context(), func(c *ambry.ScanCompletion) error {
					c.Results = append(c.Results, ambry.ScanResult{SourceID: "codex"})
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				if err := db.SetMarks(t.Context(), "codex", map[string]ambry.FileMark{fmt.Sprint(i, j): {Mark: []byte("x")}}); err != nil {
					t.Error(err)
				}
				if _, err := db.Marks(t.Context(), "codex"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got, err := db.lastScan.Load(t.Context())
	check(t, err)
	if len(got.Results) != 80 || len(marks(t, db, "codex")) != 80 {
		t.Errorf("%d changes and %d marks were kept, want 80 of each", len(got.Results), len(marks(t, db, "codex")))
	}
}

func TestFullDiskIsStorageFullAndPasses(t *testing.T) {
	db := openState(t, newHome(t))
	ctx := t.Context()
	var pages int
	check(t, db.write.QueryRowContext(ctx, "PRAGMA page_count").Scan(&pages))
	_, err := db.write.ExecContext(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", pages))
	check(t, err)

	big := map[string]ambry.FileMark{"/h/a": {Mark: make([]byte, 1<<20)}}
	if err := db.SetMarks(ctx, "codex", big); ambry.KindOf(err) != ambry.StorageFull {
		t.Errorf("got %v, want %s", err, ambry.StorageFull)
	}
	same(t, "marks", marks(t, db, "codex"), map[string]ambry.FileMark{})

	_, err = db.write.ExecContext(ctx, "PRAGMA max_page_count = 1000000")
	check(t, err)
	check(t, db.SetMarks(ctx, "codex", big))
}

func TestEndedContext(t *testing.T) {
	db := openState(t, newHome(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.SetMarks(ctx, "codex", map[string]ambry.FileMark{"/h/a": {}}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	check(t, db.SetMarks(t.Context(), "codex", map[string]ambry.FileMark{"/h/a": {}}))
}

func newHome(t *testing.T) home.Home {
	t.Helper()
	h, err := home.Open(t.TempDir())
	check(t, err)
	return h
}

func openState(t *testing.T, h home.Home) *DB {
	t.Helper()
	db, err := Open(t.Context(), h)
	check(t, err)
	t.Cleanup(func() { check(t, db.Close()) })
	return db
}

func marks(t *testing.T, db *DB, agentID string) map[string]ambry.FileMark {
	t.Helper()
	got, err := db.Marks(t.Context(), agentID)
	check(t, err)
	return got
}

func keep(t *testing.T, db *DB, name, value string) {
	t.Helper()
	_, err := db.write.ExecContext(t.Context(), "INSERT INTO document (name, value) VALUES (?, ?)", name, value)
	check(t, err)
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	check(t, err)
	return info.Size()
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
