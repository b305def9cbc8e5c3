package store

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/tables"
)

// call describes a search that was asked at a time.
func call(id string, at time.Time) func() Call {
	return func() Call {
		return Call{
			ID: id, Tool: ambry.ToolSearch, Agent: "codex", Session: "s", At: at, Took: time.Millisecond,
			Input: ambry.Query{Query: "what " + id}, Output: ambry.LoggedAnswer{Hits: []ambry.LoggedHit{{ID: "trace_" + id, Score: 1, Injected: true}}},
		}
	}
}

// TestRecordNeverWaits holds the writer up, as a large import does, and records
// more calls than the journal takes.
func TestRecordNeverWaits(t *testing.T) {
	s, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "memory.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	running, hold := make(chan struct{}), make(chan struct{})
	ended := make(chan error)
	go func() {
		ended <- s.write(context.Background(), 0, func(*tx) error { close(running); <-hold; return nil })
	}()
	<-running
	const calls = 5000
	began := time.Now()
	for i := range calls {
		s.Record(call(fmt.Sprint(i), began))
	}
	close(hold) // had one of them waited for the writer, it would wait still
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	l, err := s.Reports().Logs(t.Context(), ambry.LogsQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if l.Total == 0 || l.Dropped == 0 || l.Total+l.Dropped != calls {
		t.Errorf("%d are logged and %d were dropped, of %d", l.Total, l.Dropped, calls)
	}
}

// TestJournalWaitsALittle sees that calls are written together, and not later
// than promised.
func TestJournalWaitsALittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		var groups []int
		var last time.Time
		go j.run(func(calls []Call) error {
			groups, last = append(groups, len(calls)), time.Now()
			return nil
		})
		began := time.Now()
		for range 3 {
			j.queue <- call("x", began)
		}
		time.Sleep(2 * journalWait)
		synctest.Wait()
		if len(groups) != 1 || groups[0] != 3 || last.Sub(began) != journalWait {
			t.Errorf("got groups of %v, the last after %v", groups, last.Sub(began))
		}
		for range maxJournaled + 1 {
			j.queue <- call("x", began)
		}
		synctest.Wait()
		if len(groups) != 2 || groups[1] != maxJournaled {
			t.Errorf("got groups of %v, want a full one at once", groups)
		}
		j.close()
		if len(groups) != 3 || groups[2] != 1 {
			t.Errorf("got groups of %v, want the rest at the end", groups)
		}
	})
}

func TestCloseWritesWhatIsQueued(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	s.Record(call("last", time.Now()))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := valueIn(t, path, `SELECT public FROM recall_log`); got != "last" {
		t.Errorf("got %q", got)
	}
	s.Record(call("too late", time.Now())) // must do no harm
	if _, err := s.Reports().Logs(t.Context(), ambry.LogsQuery{}); ambry.KindOf(err) != ambry.MemoryUnavailable {
		t.Errorf("the log of a closed memory: got %v", err)
	}
}

// TestLogIsBounded fills the log beyond its bytes, then lets it grow old.
func TestLogIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	var passed atomic.Int64
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now := func() time.Time { return begin.Add(time.Duration(passed.Load())) }
	const limit = 20_000
	s, err := Open(t.Context(), Config{Path: path, Now: now, LogBytes: limit, LogLife: 48 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	logs := func() ambry.Logs {
		t.Helper()
		l, err := s.Reports().Logs(t.Context(), ambry.LogsQuery{})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for i := range 400 {
		s.Record(call(fmt.Sprint("early-", i), now()))
		if i%100 == 99 {
			logs()
		}
	}
	l := logs()
	if newest := l.Logs[0]; newest.ID != "early-399" {
		t.Errorf("the newest is %s", newest.ID)
	}
	if l.Total < 30 || l.Total > limit/rowBytes {
		t.Errorf("%d calls are kept in %d bytes", l.Total, limit)
	}
	if _, err := s.Feedback(t.Context(), noteFor(t, s), ambry.Feedback{Verdict: ambry.VerdictUsed, SearchID: "early-399"}, ""); err != nil {
		t.Fatal(err)
	}
	passed.Store(int64(72 * time.Hour))
	s.Record(call("late", now()))
	if l = logs(); l.Total != 1 || l.Logs[0].ID != "late" {
		t.Errorf("after days: got %d calls, the first %s", l.Total, l.Logs[0].ID)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		`SELECT count(*) FROM feedback`:                     "0", // its search is forgotten
		`SELECT used FROM uses WHERE used > 0`:              "1", // the count is not
		`SELECT sum(n) || ' ' || sum(hits) FROM recall_day`: "401 401",
		`SELECT sum(n) FROM recall_time`:                    "401",
	} {
		if got := valueIn(t, path, query); got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
}

func noteFor(t *testing.T, s *Store) string {
	t.Helper()
	m, err := s.Add(t.Context(), ambry.Note{Content: "a note"}, "")
	if err != nil {
		t.Fatal(err)
	}
	return m.ID
}

// TestUsesAreCountedForEachCall shows one memory for several calls that are
// written together, among them one that failed and one that shows what is not there.
func TestUsesAreCountedForEachCall(t *testing.T) {
	s, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "memory.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m, err := s.Add(t.Context(), ambry.Note{Content: "it is shown"}, "")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i, c := range []struct {
		tool, id string
		injected bool
		failed   ambry.Kind
	}{
		{ambry.ToolSearch, m.ID, true, ""},
		{ambry.ToolTurnStart, m.ID, true, ""},
		{ambry.ToolSearch, "memory_of_nobody", true, ""},
		{ambry.ToolSearch, m.ID, true, ""},
		{ambry.ToolSearch, m.ID, false, ""},
		{ambry.ToolSearch, m.ID, true, ambry.MemoryTimeout},
		{ambry.ToolGet, m.ID, true, ""},
	} {
		s.Record(func() Call {
			return Call{ID: fmt.Sprint(i), Tool: c.tool, At: at.Add(-time.Duration(i) * time.Hour), Output: ambry.LoggedAnswer{
				Error: c.failed, Hits: []ambry.LoggedHit{{ID: c.id, Score: 1, Injected: c.injected}},
			}}
		})
	}
	if err := s.journal.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	var shown, last, rows int64
	err = s.readers.Reader(t.Context()).Row(`SELECT sum(shown), max(last_at), count(*) FROM uses`).Scan(&shown, &last, &rows)
	if err != nil || shown != 3 || last != at.UnixMilli() || rows != 1 {
		t.Errorf("shown %d times, last at %d, in %d rows, error %v", shown, last, rows, err)
	}
}

func TestLongInputIsNotLogged(t *testing.T) {
	c := call("x", time.Now())()
	c.Input = ambry.Query{Query: strings.Repeat("long ", maxInputLog)}
	row, err := c.row()
	if err != nil || len(row.input) > 100 || !strings.Contains(string(row.input), "omittedBytes") {
		t.Errorf("got %s and error %v", row.input, err)
	}
}

func TestBucketsAreFineEnough(t *testing.T) {
	for _, us := range []int64{0, 1, 2, 3, 900, 1000, 1189, 1190, 44_000, 30_000_000} {
		middle := tables.MiddleOf(tables.BucketOf(us))
		if off := middle / float64(max(us, 1)); off < 0.91 || off > 1.10 {
			t.Errorf("%d µs are counted as %.0f", us, middle)
		}
	}
}
