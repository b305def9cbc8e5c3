package scan_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ambry.dev/ambry"
)

func TestScanBringsWhatIsNew(t *testing.T) {
	w := newWorld(t)
	w.run()
	w.write(".one/a.jsonl", 1, 3)
	w.write(".two/deep/er/b.jsonl", 1, 2)
	first := w.scan(ambry.ScanRequest{})
	w.holds(slices.Concat(turns(".one/a.jsonl", 1, 3), turns(".two/deep/er/b.jsonl", 1, 2))...)
	if !first.Succeeded || first.Imported.Added != 5 || len(first.Results) != 2 {
		t.Errorf("completion is %+v", first)
	}

	imports := w.memory.imports
	again := w.scan(ambry.ScanRequest{SourceID: ambry.AllSources, Mode: ambry.Incremental})
	if w.memory.imports != imports || again.Imported.Turns != 0 {
		t.Errorf("a scan with nothing new imported %+v", again.Imported)
	}

	w.write(".one/a.jsonl", 4, 4)
	w.write(".one/c.jsonl", 1, 1)
	if c := w.scan(ambry.ScanRequest{SourceID: "one"}); c.Imported.Added != 2 {
		t.Errorf("a scan after an append and a new file imported %+v, want 2 added", c.Imported)
	}
	full := w.scan(ambry.ScanRequest{SourceID: "one", Mode: ambry.Full})
	if full.Imported.Turns != 5 || full.Imported.Added != 0 {
		t.Errorf("a full scan imported %+v, want 5 turns, none added", full.Imported)
	}
}

func TestScanNeedsConsent(t *testing.T) {
	w := newWorld(t)
	w.run()
	w.write(".one/a.jsonl", 1, 1)
	for _, p := range []ambry.ScanPermission{ambry.PermissionUnset, ambry.PermissionNone, ""} {
		w.permit(p, true)
		if _, err := w.Start(ambry.ScanRequest{}); ambry.KindOf(err) != ambry.ScanNotPermitted {
			t.Errorf("with %q a scan answers %v", p, err)
		}
	}
	w.holds()
	w.permit(ambry.PermissionScanAndSkill, false)
	w.scan(ambry.ScanRequest{})
	w.holds(turns(".one/a.jsonl", 1, 1)...)
}

func TestScanOfUnknownSource(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"three", "mute", "../one"} {
		if _, err := w.Start(ambry.ScanRequest{SourceID: id}); ambry.KindOf(err) != ambry.NotFound {
			t.Errorf("a scan of %q answers %v", id, err)
		}
	}
}

func TestOneScanAtATime(t *testing.T) {
	w := newWorld(t)
	release := make(chan struct{})
	w.memory.before = func(context.Context, int) error { <-release; return nil }
	w.run()
	w.write(".one/a.jsonl", 1, 1)
	started, err := w.Start(ambry.ScanRequest{})
	if err != nil {
		t.Fatal(err)
	}
	same, err := w.Start(ambry.ScanRequest{SourceID: "all", Mode: "incremental"})
	if err != nil || same != started {
		t.Errorf("the same scan answers %v, %v; want %v", same, err, started)
	}
	_, err = w.Start(ambry.ScanRequest{Mode: ambry.Full})
	if e, ok := errors.AsType[*ambry.Error](err); !ok || e.Kind != ambry.Conflict || e.Extra["jobId"] != started.JobID {
		t.Errorf("another scan answers %v", err)
	}
	close(release)
	w.ended(started.JobID)
	w.scan(ambry.ScanRequest{Mode: ambry.Full})
}

func TestStoppedScanGoesOn(t *testing.T) {
	w := newWorld(t)
	var want []string
	for i := range 40 {
		path := fmt.Sprintf(".one/%02d.jsonl", i)
		w.write(path, 1, 100)
		want = append(want, turns(path, 1, 100)...)
	}
	hold := make(chan struct{}, 1)
	w.memory.before = func(ctx context.Context, n int) error {
		if n == 2 {
			hold <- struct{}{}
			<-ctx.Done()
		}
		return nil
	}
	w.run()
	started, err := w.Start(ambry.ScanRequest{})
	if err != nil {
		t.Fatal(err)
	}
	<-hold
	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st := w.Status(); st.Active {
		t.Error("the scan is active after Stop returned")
	}
	c := w.ended(started.JobID)
	if !c.Stopped || c.Succeeded {
		t.Errorf("completion is %+v", c)
	}
	before := len(w.memory.all())
	if before == 0 || before == len(want) {
		t.Fatalf("%d of %d turns were read before the stop", before, len(want))
	}
	rest := w.scan(ambry.ScanRequest{})
	w.holds(want...)
	if rest.Imported.Turns > len(want)-before+100 {
		t.Errorf("going on read %d turns, but only %d were missing", rest.Imported.Turns, len(want)-before)
	}
	if err := w.Stop(t.Context()); err != nil {
		t.Errorf("stopping when nothing runs: %v", err)
	}
}

func TestBrokenFileStopsNothing(t *testing.T) {
	w := newWorld(t)
	w.run()
	w.write(".one/a.jsonl", 1, 1)
	w.write(".one/broken.jsonl", 1, 1)
	w.write(".one/z.jsonl", 1, 1)
	c := w.scan(ambry.ScanRequest{})
	w.holds(slices.Concat(turns(".one/a.jsonl", 1, 1), turns(".one/z.jsonl", 1, 1))...)
	if !c.Succeeded || c.Results[0].ErrorCount != 1 {
		t.Fatalf("completion is %+v", c)
	}
	if got, want := c.Results[0].Errors[0], "~/.one/broken.jsonl: it is broken"; got != want {
		t.Errorf("the error is %q, want %q", got, want)
	}
}

func TestRuntimeThatComesBack(t *testing.T) {
	w := newWorld(t)
	w.memory.before = func(_ context.Context, n int) error {
		if n <= 2 {
			return ambry.MemoryUnavailable.Errorf("starting")
		}
		return nil
	}
	w.run()
	w.write(".one/a.jsonl", 1, 3)
	if c := w.scan(ambry.ScanRequest{}); !c.Succeeded {
		t.Errorf("completion is %+v", c)
	}
	w.holds(turns(".one/a.jsonl", 1, 3)...)
}

func TestFullDiskEndsTheScanAndMovesNoMark(t *testing.T) {
	w := newWorld(t)
	w.memory.before = func(_ context.Context, n int) error {
		if n == 1 {
			return ambry.StorageFull.Errorf("the disk is full")
		}
		return nil
	}
	w.run()
	w.write(".one/a.jsonl", 1, 3)
	c := w.scan(ambry.ScanRequest{})
	if c.Succeeded || c.Results[0].ErrorCount != 1 || !strings.Contains(c.Results[0].Errors[0], "disk is full") {
		t.Errorf("completion is %+v", c)
	}
	w.scan(ambry.ScanRequest{})
	w.holds(turns(".one/a.jsonl", 1, 3)...)
}

func TestInitialSubsetIsTheNewest(t *testing.T) {
	w := newWorld(t)
	w.run()
	old := time.Now().Add(-48 * time.Hour)
	for i, path := range []string{".one/new.jsonl", ".two/newer.jsonl", ".one/old.jsonl"} {
		w.write(path, 1, 600)
		if i == 2 {
			if err := os.Chtimes(filepath.Join(w.home, path), old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.scan(ambry.ScanRequest{Mode: ambry.InitialSubset})
	w.holds(slices.Concat(turns(".one/new.jsonl", 1, 600), turns(".two/newer.jsonl", 1, 600))...)
	if c := w.scan(ambry.ScanRequest{}); c.Imported.Added != 600 {
		t.Errorf("the scan after it added %d turns, want 600", c.Imported.Added)
	}
}

func TestProgress(t *testing.T) {
	w := newWorld(t)
	w.run()
	for i := range 30 {
		w.write(fmt.Sprintf(".one/%02d.jsonl", i), 1, 200)
	}
	w.write(".two/a.jsonl", 1, 1)
	began := time.Now()
	c := w.scan(ambry.ScanRequest{})
	events := w.bus.progress()
	last := map[string]ambry.ScanProgress{}
	for _, p := range events {
		if p.JobID != c.JobID || p.Current > p.Total || p.Current < last[p.SourceID].Current {
			t.Errorf("progress is %+v after %+v", p, last[p.SourceID])
		}
		last[p.SourceID] = p
	}
	for id, p := range last {
		if p.Phase != ambry.PhaseDone || p.Current != p.Total {
			t.Errorf("the last progress of %s is %+v", id, p)
		}
	}
	if most := 2*3 + 2*int(time.Since(began)/(250*time.Millisecond)); len(last) != 2 || len(events) > most {
		t.Errorf("%d progress events of %d sources, want %d at most of 2", len(events), len(last), most)
	}
}

func TestLookingForNewsWritesNothing(t *testing.T) {
	w := newWorld(t)
	stop := w.run()
	w.write(".one/a.jsonl", 1, 1)
	w.scan(ambry.ScanRequest{})
	writes := w.marks.writes()
	c := w.scan(ambry.ScanRequest{})
	if got := w.marks.writes(); got != writes {
		t.Errorf("a scan with nothing new wrote %d times", got-writes)
	}
	if one := w.List(t.Context())[0]; one.LastScannedAt == nil || !one.LastScannedAt.Equal(c.CompletedAt) {
		t.Errorf("the list says it was scanned at %v, want %v", one.LastScannedAt, c.CompletedAt)
	}
	stop()
	if w.marks.end.JobID != c.JobID {
		t.Error("the last scan is not in the journal when the scanner has ended")
	}
}

func TestCompletionSurvivesARestart(t *testing.T) {
	w := newWorld(t)
	w.run()
	w.write(".one/a.jsonl", 1, 1)
	c := w.scan(ambry.ScanRequest{})
	next := &world{Scanner: w.scanner(), t: t}
	next.run()
	next.eventually("the next scanner knows the last scan", func() bool {
		st := next.Status()
		return st.Completion != nil && st.Completion.JobID == c.JobID
	})
}

func TestList(t *testing.T) {
	w := newWorld(t)
	w.run()
	w.write(".one/a.jsonl", 1, 3)
	w.scan(ambry.ScanRequest{})
	list := w.List(t.Context())
	if len(list) != 3 {
		t.Fatalf("%d sources, want 3", len(list))
	}
	one, two, mute := list[0], list[1], list[2]
	if !one.Available || one.MessageCount != 3 || one.LastScannedAt == nil || one.Error != "" {
		t.Errorf("one is %+v", one)
	}
	if two.Available || two.LastScannedAt != nil || two.DataPath != filepath.Join(w.home, ".two") || two.Error != "" {
		t.Errorf("two is %+v", two)
	}
	if mute.Capabilities.History || mute.Available {
		t.Errorf("mute is %+v", mute)
	}
}
