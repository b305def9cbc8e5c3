package report

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/tables"
)

// recentDays is how many days of latencies are looked at.
const recentDays = 30

// Analysis is read from counters only. What was recorded before is in it.
func (s *Reports) Analysis(ctx context.Context) (ambry.Analysis, error) {
	if err := s.Flush(ctx); err != nil {
		return ambry.Analysis{}, err
	}
	now := s.Now().UTC()
	today := tables.DayOf(now.UnixMilli())
	a := ambry.Analysis{ServerTime: now}
	err := s.Readers.Snapshot(ctx, func(r sqlite.Reader) error {
		var err error
		if a.Writes, err = days(r); err != nil {
			return err
		}
		if err := recalls(r, &a); err != nil {
			return err
		}
		if err := skills(r, &a, today); err != nil {
			return err
		}
		return latency(r, &a, today-recentDays)
	})
	if err != nil {
		return ambry.Analysis{}, err
	}
	return a, nil
}

func dateOf(day int64) string { return time.Unix(day*tables.DayMs/1000, 0).UTC().Format(time.DateOnly) }

// recalls counts searches.
func recalls(r sqlite.Reader, a *ambry.Analysis) error {
	score, found := 0.0, int64(0)
	rows, err := r.Rows(`SELECT day, n, hits, score FROM (SELECT * FROM recall_day ORDER BY day DESC LIMIT ?) ORDER BY day`, tables.MaxDays)
	a.Recalls, err = sqlite.Collect(rows, err, func(rows *sql.Rows) (ambry.DayCount, error) {
		var day, n, hits int64
		var sum float64
		err := rows.Scan(&day, &n, &hits, &sum)
		a.Metrics.RecallEvents += n
		score, found = score+sum, found+hits
		return ambry.DayCount{Date: dateOf(day), Count: n}, err
	})
	if err != nil {
		return fmt.Errorf("read searches: %w", err)
	}
	a.Metrics.EmptyRecalls = a.Metrics.RecallEvents - found
	a.Metrics.AvgRecallScore = rounded(score / float64(max(found, 1)))
	return nil
}

// skills counts them, and those that were used.
func skills(r sqlite.Reader, a *ambry.Analysis, today int64) error {
	err := r.Row(`SELECT (SELECT coalesce(sum(n), 0) FROM tally WHERE layer = 'Skill' AND status = 'activated'),
			(SELECT count(*) FROM memory AS m INDEXED BY memory_by_layer_time JOIN uses AS u ON u.memory = m.id
				WHERE m.layer = 'Skill' AND u.last_at >= ?)`, (today-recentDays)*tables.DayMs).Scan(
		&a.Metrics.ActiveSkills, &a.Metrics.RecentlyUsedSkills)
	if err != nil {
		return fmt.Errorf("count skills: %w", err)
	}
	rows, err := r.Rows(`SELECT cast(floor(created_at / 86400000.0) AS INTEGER) AS day, count(*) FROM memory
		WHERE layer = 'Skill' AND created_at >= ? GROUP BY day ORDER BY day`, (today-tables.MaxDays)*tables.DayMs)
	a.Skills, err = sqlite.Collect(rows, err, sqlite.ScanTwo(func(day, n int64) ambry.DayCount {
		return ambry.DayCount{Date: dateOf(day), Count: n}
	}))
	if err != nil {
		return fmt.Errorf("count skills by day: %w", err)
	}
	return nil
}

// times is how many calls took how long.
type times struct {
	calls   int64
	took    int64           // sum, microseconds
	buckets map[int64]int64 // calls by bucket
}

func (t *times) add(bucket, n, took int64) {
	if t.buckets == nil {
		t.buckets = map[int64]int64{}
	}
	t.calls, t.took = t.calls+n, t.took+took
	t.buckets[bucket] += n
}

func (t *times) avgMs() float64 { return rounded(float64(t.took) / 1000 / float64(max(t.calls, 1))) }

// p95Ms returns what 95 of 100 calls do not exceed, as finely as they are counted.
func (t *times) p95Ms() float64 {
	left := t.calls - int64(math.Ceil(0.95*float64(t.calls))) // calls that may be slower
	order := make([]int64, 0, len(t.buckets))
	for b := range t.buckets {
		order = append(order, b)
	}
	slices.Sort(order)
	for _, b := range slices.Backward(order) {
		if left -= t.buckets[b]; left < 0 {
			return rounded(tables.MiddleOf(b) / 1000)
		}
	}
	return 0
}

func rounded(v float64) float64 { return math.Round(v*1000) / 1000 }

// latency reads how long calls took since a day.
func latency(r sqlite.Reader, a *ambry.Analysis, since int64) error {
	type cell struct {
		day, bucket, n, took int64
		tool                 string
	}
	rows, err := r.Rows(`SELECT day, tool, bucket, n, took FROM recall_time WHERE day >= ? ORDER BY day, tool, bucket`, since)
	cells, err := sqlite.Collect(rows, err, func(rows *sql.Rows) (c cell, err error) {
		return c, rows.Scan(&c.day, &c.tool, &c.bucket, &c.n, &c.took)
	})
	if err != nil {
		return fmt.Errorf("read how long calls took: %w", err)
	}
	var all times
	tools, days := map[string]*times{}, map[string]map[int64]*times{}
	for _, c := range cells {
		if tools[c.tool] == nil {
			tools[c.tool], days[c.tool] = &times{}, map[int64]*times{}
		}
		if days[c.tool][c.day] == nil {
			days[c.tool][c.day] = &times{}
		}
		for _, t := range []*times{&all, tools[c.tool], days[c.tool][c.day]} {
			t.add(c.bucket, c.n, c.took)
		}
	}
	a.Metrics.AvgToolLatencyMs, a.Metrics.P95ToolLatencyMs = all.avgMs(), all.p95Ms()
	a.ToolLatency = ambry.ToolLatency{Tools: []ambry.ToolTimes{}, Series: []ambry.ToolSeries{}}
	for tool, t := range tools {
		a.ToolLatency.Tools = append(a.ToolLatency.Tools, ambry.ToolTimes{Name: tool, Calls: t.calls, AvgMs: t.avgMs(), P95Ms: t.p95Ms()})
		series := ambry.ToolSeries{Name: tool}
		for day, t := range days[tool] {
			series.Points = append(series.Points, ambry.ToolPoint{Date: dateOf(day), AvgMs: t.avgMs()})
		}
		slices.SortFunc(series.Points, func(a, b ambry.ToolPoint) int { return cmp.Compare(a.Date, b.Date) })
		a.ToolLatency.Series = append(a.ToolLatency.Series, series)
	}
	slices.SortFunc(a.ToolLatency.Tools, func(a, b ambry.ToolTimes) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(a.ToolLatency.Series, func(a, b ambry.ToolSeries) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}
