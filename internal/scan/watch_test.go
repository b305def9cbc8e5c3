package scan_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
)

func TestWatchReadsAppendedTurns(t *testing.T) {
	w := newWorld(t)
	w.write(".one/a.jsonl", 1, 1)
	w.permit(ambry.PermissionScan, true)
	w.run()
	w.eventually("what was there is read", func() bool { return len(w.memory.all()) == 1 })
	for i := 2; i <= 4; i++ {
		w.write(".one/a.jsonl", i, i)
		w.eventually("an appended turn is read", func() bool { return len(w.memory.all()) == i })
	}
	w.holds(turns(".one/a.jsonl", 1, 4)...)
}

func TestWatchSeesNewDirectoriesAndAgents(t *testing.T) {
	w := newWorld(t)
	w.write(".one/a.jsonl", 1, 1)
	w.permit(ambry.PermissionScan, true)
	w.run()
	w.eventually("what was there is read", func() bool { return len(w.memory.all()) == 1 })
	w.write(".one/new/deep/b.jsonl", 1, 2)
	w.write(".two/c.jsonl", 1, 1) // an agent that is installed now
	want := slices.Concat(turns(".one/a.jsonl", 1, 1), turns(".one/new/deep/b.jsonl", 1, 2), turns(".two/c.jsonl", 1, 1))
	w.eventually("all is read", func() bool { return len(w.memory.all()) == len(want) })
	w.holds(want...)
}

func TestWatchReadsARewrittenFile(t *testing.T) {
	w := newWorld(t)
	w.write(".one/a.jsonl", 1, 1)
	w.permit(ambry.PermissionScan, true)
	w.run()
	w.eventually("what was there is read", func() bool { return len(w.memory.all()) == 1 })
	w.write("elsewhere.jsonl", 7, 8)
	if err := os.Rename(filepath.Join(w.home, "elsewhere.jsonl"), filepath.Join(w.home, ".one/a.jsonl")); err != nil {
		t.Fatal(err)
	}
	w.eventually("the new content is read", func() bool { return len(w.memory.all()) == 3 })
}

func TestWatchFollowsTheConsent(t *testing.T) {
	w := newWorld(t)
	w.permit(ambry.PermissionNone, true)
	w.run()
	w.write(".one/a.jsonl", 1, 1)
	time.Sleep(400 * time.Millisecond) // longer than a change waits: nothing may come
	w.holds()
	w.permit(ambry.PermissionScan, true)
	w.eventually("what was there is read", func() bool { return len(w.memory.all()) == 1 })
	w.permit(ambry.PermissionNone, true)
	w.write(".one/a.jsonl", 2, 2)
	time.Sleep(400 * time.Millisecond)
	w.holds(turns(".one/a.jsonl", 1, 1)...)
}

// selective is a history that wants no directory called dead to be watched.
type selective struct{ agent.History }

func (selective) Watch(_ agent.Home, dir string) bool { return filepath.Base(dir) != "dead" }

func TestWatchLeavesOutWhatAnAgentNames(t *testing.T) {
	w := newWorld(t)
	w.Agents[0].History = selective{w.Agents[0].History}
	w.write(".one/dead/below/a.jsonl", 1, 1)
	w.write(".one/live/b.jsonl", 1, 1)
	w.permit(ambry.PermissionScan, true)
	w.run()
	w.eventually("what was there is read", func() bool { return len(w.memory.all()) == 2 })
	w.write(".one/dead/below/a.jsonl", 2, 2)
	w.write(".one/new/dead/c.jsonl", 1, 1)
	w.write(".one/live/b.jsonl", 2, 2)
	w.eventually("a change is read", func() bool { return len(w.memory.all()) > 2 })
	w.holds(append(turns(".one/live/b.jsonl", 1, 2), turns(".one/dead/below/a.jsonl", 1, 1)...)...)
	w.scan(ambry.ScanRequest{SourceID: "one"})
	w.holds(slices.Concat(turns(".one/live/b.jsonl", 1, 2), turns(".one/dead/below/a.jsonl", 1, 2), turns(".one/new/dead/c.jsonl", 1, 1))...)
}

func TestConsentAndThenAScanReadsOnce(t *testing.T) {
	w := newWorld(t)
	w.permit(ambry.PermissionNone, true)
	w.run()
	w.write(".one/a.jsonl", 1, 50)
	w.permit(ambry.PermissionScan, true)
	c := w.scan(ambry.ScanRequest{})
	if c.Imported.Added != 50 {
		t.Errorf("the scan right after the consent added %d turns, want 50", c.Imported.Added)
	}
	time.Sleep(600 * time.Millisecond) // longer than the scanner waits before it reads unasked
	if st := w.Status(); st.Completion.JobID != c.JobID {
		t.Errorf("another scan was made unasked: %+v", st.Completion)
	}
}

func TestUnaskedScanMakesWay(t *testing.T) {
	w := newWorld(t)
	held, release := make(chan struct{}, 8), make(chan struct{})
	w.memory.before = func(context.Context, int) error {
		held <- struct{}{}
		<-release
		return nil
	}
	w.write(".one/a.jsonl", 1, 3)
	w.permit(ambry.PermissionScan, true)
	w.run()
	<-held // the catching up at the start
	started, err := w.Start(ambry.ScanRequest{Mode: ambry.Full})
	if err != nil {
		t.Fatal(err)
	}
	close(release)
	if c := w.ended(started.JobID); !c.Succeeded || c.Mode != ambry.Full {
		t.Errorf("completion is %+v", c)
	}
	w.holds(turns(".one/a.jsonl", 1, 3)...)
}
