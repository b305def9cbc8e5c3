// Package report reads a memory for those who look at it: figures, lists, pages,
// and what was asked of it. It does not search (that is recall) nor write.
package report

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"ambry.dev/ambry/internal/memory/document"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/tables"
)

// Reports reads a memory for those who look at it. All methods may be called at the
// same time.
type Reports struct {
	Readers *sqlite.Pool
	Bodies  document.Unpacker
	Path    string           // of the file
	Now     func() time.Time // what time it is

	Flush   func(context.Context) error // writes the calls that wait to be logged
	Dropped func() int64                // how many were not logged
}

// PageSize is how many rows a page has.
const PageSize = 20

// Overview is read from counters only.
func (s *Reports) Overview(ctx context.Context) (ambry.Overview, error) {
	o := ambry.Overview{Daily: []ambry.DayCount{}, Sources: []ambry.SourceCount{}, ServerTime: s.Now().UTC()}
	err := s.Readers.Snapshot(ctx, func(r sqlite.Reader) error {
		c := &o.Counts
		err := r.Row(`SELECT sessions, turns, messages, calls, input, cached, output, (SELECT count(*) FROM project) FROM total`).Scan(
			&c.Sessions, &c.Turns, &c.Messages, &c.ToolCalls, &o.Tokens.Input, &o.Tokens.Cached, &o.Tokens.Output, &c.Projects)
		if err != nil {
			return fmt.Errorf("read totals: %w", err)
		}
		if err := layers(r, c); err != nil {
			return err
		}
		if o.Sources, err = shares(r, c.Memories); err != nil {
			return err
		}
		o.Daily, err = days(r)
		return err
	})
	if err != nil {
		return ambry.Overview{}, err
	}
	o.StorageBytes = sqlite.FileSize(s.Path) + sqlite.FileSize(s.Path+"-wal")
	return o, nil
}

func layers(r sqlite.Reader, c *ambry.OverviewCounts) error {
	type count struct {
		layer ambry.Layer
		n     int64
	}
	rows, err := r.Rows(`SELECT layer, sum(n) FROM tally GROUP BY layer`)
	found, err := sqlite.Collect(rows, err, sqlite.ScanTwo(func(layer ambry.Layer, n int64) count { return count{layer, n} }))
	if err != nil {
		return fmt.Errorf("read layers: %w", err)
	}
	for _, f := range found {
		c.Memories += f.n
		switch f.layer {
		case ambry.L2:
			c.Experiences = f.n
		case ambry.L3:
			c.WorldModels = f.n
		case ambry.Skill:
			c.Skills = f.n
		}
	}
	return nil
}

// shares returns the agents with their part of all memories, largest first.
func shares(r sqlite.Reader, all int64) ([]ambry.SourceCount, error) {
	rows, err := r.Rows(`SELECT a.name, sum(c.n) AS n FROM tally AS c JOIN agent AS a ON a.id = c.agent
		GROUP BY a.id HAVING sum(c.n) > 0 ORDER BY n DESC, a.name`)
	out, err := sqlite.Collect(rows, err, sqlite.ScanTwo(func(name string, n int64) ambry.SourceCount {
		return ambry.SourceCount{Source: name, Count: n, Percentage: 100 * float64(n) / float64(max(all, 1))}
	}))
	if err != nil {
		return nil, fmt.Errorf("read agents: %w", err)
	}
	return out, nil
}

func days(r sqlite.Reader) ([]ambry.DayCount, error) {
	rows, err := r.Rows(`SELECT day, n FROM (SELECT day, n FROM day WHERE n > 0 ORDER BY day DESC LIMIT ?) ORDER BY day`, tables.MaxDays)
	out, err := sqlite.Collect(rows, err, sqlite.ScanTwo(func(day, n int64) ambry.DayCount {
		return ambry.DayCount{Date: dateOf(day), Count: n}
	}))
	if err != nil {
		return nil, fmt.Errorf("read days: %w", err)
	}
	return out, nil
}

// page fills in where a page stands, and returns it with its offset. Pages count
// from 1.
func (s *Reports) page(number int, total int64) (ambry.Page, int64) {
	p := ambry.Page{Page: max(number, 1), PageSize: PageSize, Total: total, ServerTime: s.Now().UTC()}
	p.TotalPages = max((total+PageSize-1)/PageSize, 1)
	p.HasNext = int64(p.Page) < p.TotalPages
	p.HasPrev = p.Page > 1
	return p, int64(p.Page-1) * PageSize
}

// conditions builds a WHERE clause of trusted texts.
type conditions struct {
	texts []string
	args  []any
}

func (c *conditions) add(text string, args ...any) {
	c.texts = append(c.texts, text)
	c.args = append(c.args, args...)
}

func (c *conditions) where() string {
	if len(c.texts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.texts, " AND ")
}

// Items returns a page of memories, newest first. The text of q is not looked
// at; see [Store.ItemsOf].
func (s *Reports) Items(ctx context.Context, q ambry.ItemsQuery) (ambry.Items, error) {
	var counted, listed conditions
	filterItems(&counted, "", q)
	filterItems(&listed, "m.", q)
	tally := `tally`
	if q.Rule != "" {
		tally = `learned_tally`
	}
	return s.items(ctx, q.Page, listed, `SELECT coalesce(sum(n), 0) FROM `+tally+counted.where(), counted.args)
}

// ItemsOf is like [Reports.Items], but only of the given rows.
func (s *Reports) ItemsOf(ctx context.Context, rows []int64, q ambry.ItemsQuery) (ambry.Items, error) {
	ids, err := json.Marshal(rows)
	if err != nil {
		return ambry.Items{}, fmt.Errorf("list memories: %w", err)
	}
	var c conditions
	c.add("m.id IN (SELECT value FROM json_each(?))", string(ids))
	filterItems(&c, "m.", q)
	return s.items(ctx, q.Page, c, `SELECT count(*) FROM memory AS m`+c.where(), c.args)
}

// items reads the page of the rows that c selects, of which count gives the
// number.
func (s *Reports) items(ctx context.Context, page int, c conditions, count string, args []any) (ambry.Items, error) {
	out := ambry.Items{Items: []ambry.Memory{}}
	err := s.Readers.Snapshot(ctx, func(r sqlite.Reader) error {
		var total int64
		if err := r.Row(count, args...).Scan(&total); err != nil {
			return fmt.Errorf("count memories: %w", err)
		}
		var offset int64
		out.Page, offset = s.page(page, total)
		if offset >= total {
			return nil
		}
		rows, err := r.Rows(`SELECT `+tables.PublicColumns+` FROM `+tables.PublicTables+` WHERE m.id IN (
				SELECT m.id FROM memory AS m`+c.where()+` ORDER BY m.created_at DESC, m.id DESC LIMIT ? OFFSET ?)
			ORDER BY m.created_at DESC, m.id DESC`, append(c.args, PageSize, offset)...)
		out.Items, err = sqlite.Collect(rows, err, func(rows *sql.Rows) (ambry.Memory, error) { return tables.ScanPublic(rows) })
		if err != nil {
			return fmt.Errorf("list memories: %w", err)
		}
		return nil
	})
	if err != nil {
		return ambry.Items{}, err
	}
	return out, nil
}

// filterItems limits rows of memory, or cells of tally, which share the columns.
func filterItems(c *conditions, prefix string, q ambry.ItemsQuery) {
	if q.Rule != "" {
		c.add(prefix+"rule = ? AND "+prefix+"rule <> ''", q.Rule)
	}
	if q.Layer != "" {
		c.add(prefix+"layer = ?", q.Layer)
	}
	if q.Status != "" {
		c.add(prefix+"status = ?", q.Status)
	}
	if q.Agent != "" {
		c.add(prefix+"agent = (SELECT id FROM agent WHERE name = ?)", q.Agent)
	}
	for _, name := range q.Exclude {
		c.add(prefix+"agent IS NOT (SELECT id FROM agent WHERE name = ?)", name)
	}
	if q.Project != "" {
		c.add(prefix+"project = (SELECT id FROM project WHERE path = ?)", q.Project)
	}
}
