package state

import (
	"testing"
	"time"

	"ambry.dev/ambry"
)

func TestManualSources(t *testing.T) {
	h := newHome(t)
	db := openState(t, h)
	ctx := t.Context()
	want := []ambry.ManualSource{
		{ID: "manual_1", DisplayName: "old 'laptop'", DataPath: "/h/日本", Format: "codex", AddedAt: time.UnixMilli(1).UTC()},
		{ID: "manual_2", DisplayName: "b", DataPath: "/h/日本", Format: "claude_code", AddedAt: time.UnixMilli(2).UTC()},
	}
	for _, m := range want {
		check(t, db.AddManualSource(ctx, m))
	}
	if err := db.AddManualSource(ctx, ambry.ManualSource{ID: "manual_3", DataPath: "/h/日本", Format: "codex"}); err == nil {
		t.Error("the same twice is kept")
	}
	check(t, db.SetMarks(ctx, "manual_1", map[string]ambry.FileMark{"/h/日本/a": {Messages: 1}}))
	check(t, db.SetLastScan(ctx, "manual_1", time.UnixMilli(3)))
	check(t, db.Close())

	db = openState(t, h)
	got, err := db.ManualSources(ctx)
	check(t, err)
	same(t, "sources", got, want)
	was, err := db.RemoveManualSource(ctx, "manual_1")
	check(t, err)
	same(t, "removed", was, true)
	was, err = db.RemoveManualSource(ctx, "manual_1")
	check(t, err)
	same(t, "removed again", was, false)
	same(t, "marks", marks(t, db, "manual_1"), map[string]ambry.FileMark{})
	last, err := db.LastScan(ctx, "manual_1")
	check(t, err)
	same(t, "last scan", last, time.Time{})

	check(t, db.Reset(ctx))
	got, err = db.ManualSources(ctx)
	check(t, err)
	same(t, "sources after a reset", len(got), 0)
}
