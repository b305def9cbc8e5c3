package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"ambry.dev/ambry"
)

// Match is what the text index is asked for. Terms are as package words cuts
// them.
type Match struct {
	All    [][]string // of every group at least one term is there
	Any    []string   // if All is empty: at least one of these is there
	Prefix []string   // like Any, but the beginning of a term is enough
	Not    [][]string // of every group at least one term is missing
	Filter Filter
	During Days // if not zero, only what happened in them
	Own    bool // only in what a memory says itself, not in what was said around it
	Latest int  // if not 0, only so many of the matches that were added last are compared
}

// Days are whole days in UTC, from one to another, which is not one of them.
type Days struct{ From, To time.Time }

// Filter limits a search. The zero value limits nothing but leaves archived
// memories out.
type Filter struct {
	Layers   []ambry.Layer
	Tags     []string // all of them
	Agents   []string // one of them
	Project  string   // a path, or the last element of one
	Session  string   // id of the agent
	After    time.Time
	Before   time.Time
	Archived bool // archived ones too
}

// Candidate is a memory that the index found.
type Candidate struct {
	Row   int64 // for [Store.Texts]
	Score float64
	At    time.Time
}

// Candidates returns the memories that match, by relevance (BM25), at most limit.
func (s *Store) Candidates(ctx context.Context, m Match, limit int) ([]Candidate, error) {
	var out []Candidate
	err := s.read(ctx, func(r reader) error {
		expression, err := r.expression(m)
		if err != nil || expression == "" {
			return err
		}
		query, args := candidateQuery(expression, m, limit)
		rows, err := r.rows(query, args...)
		out, err = collectRows(rows, err, func(rows *sql.Rows) (c Candidate, err error) {
			var at int64
			err = rows.Scan(&c.Row, &c.Score, &at)
			c.At = timeOf(at)
			return c, err
		})
		if err != nil {
			return fmt.Errorf("search: %w", err)
		}
		return nil
	})
	return out, err
}

// candidateQuery joins from the index to the rows, never the other way: only the
// best rows are looked up, unless a time has to be compared.
func candidateQuery(expression string, m Match, limit int) (string, []any) {
	after, before := millis(m.Filter.After), millis(m.Filter.Before)
	if after == 0 && before == 0 {
		latest := m.Latest
		if latest == 0 {
			latest = -1 // all
		}
		return `SELECT best.rowid, best.score, m.created_at
			FROM (SELECT rowid, score FROM (
					SELECT rowid, -bm25(words, ` + weights + `) AS score FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?)
				ORDER BY score DESC LIMIT ?) AS best
			CROSS JOIN memory AS m ON m.id = best.rowid ORDER BY best.score DESC, m.created_at DESC, m.id`,
			[]any{expression, latest, limit}
	}
	c := conditions{}
	c.add("words MATCH ?", expression)
	if after != 0 {
		c.add("m.created_at >= ?", after)
	}
	if before != 0 {
		c.add("m.created_at < ?", before)
	}
	return `SELECT words.rowid, -bm25(words, ` + weights + `) AS score, m.created_at
		FROM words CROSS JOIN memory AS m ON m.id = words.rowid` + c.where() + `
		ORDER BY score DESC, m.created_at DESC, m.id LIMIT ?`, append(c.args, limit)
}

// Count returns how many memories match, counting no further than limit. Times
// of the filter are not looked at.
func (s *Store) Count(ctx context.Context, m Match, limit int) (int, error) {
	var n int
	err := s.read(ctx, func(r reader) error {
		expression, err := r.expression(m)
		if err != nil || expression == "" {
			return err
		}
		err = r.row(`SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)`, expression, limit).Scan(&n)
		if err != nil {
			return fmt.Errorf("count matches: %w", err)
		}
		return nil
	})
	return n, err
}

// Spellings returns the terms of the index that begin so, in order, at most limit.
func (s *Store) Spellings(ctx context.Context, beginning string, limit int) ([]string, error) {
	var out []string
	err := s.read(ctx, func(r reader) (err error) {
		out, err = column[string](r.rows(`SELECT term FROM vocabulary WHERE term >= ?1 AND term < ?1 || char(0x10ffff) LIMIT ?2`, beginning, limit))
		if err != nil {
			return fmt.Errorf("read the vocabulary: %w", err)
		}
		return nil
	})
	return out, err
}

// expression writes m in the language of FTS5 (https://sqlite.org/fts5.html).
// Every term is quoted, so that nothing in it is an operator. It is empty when m
// asks for nothing.
func (r reader) expression(m Match) (string, error) {
	var groups []string
	for _, g := range m.All {
		groups = append(groups, anyOf(g))
	}
	if len(groups) == 0 {
		some := make([]string, 0, len(m.Any)+len(m.Prefix))
		for _, t := range m.Any {
			some = append(some, quoted(t))
		}
		for _, t := range m.Prefix {
			some = append(some, quoted(t)+" *")
		}
		if len(some) > 0 {
			groups = append(groups, "("+strings.Join(some, " OR ")+")")
		}
	}
	if m.Own {
		for i, g := range groups {
			groups[i] = "{lead rest} : " + g
		}
	}
	if !m.During.From.IsZero() {
		groups = append(groups, m.During.group())
	}
	scope, err := r.scopeGroups(m.Filter)
	if err != nil {
		return "", err
	}
	groups = append(groups, scope...)
	if len(groups) == 0 && !(m.Filter.After.IsZero() && m.Filter.Before.IsZero()) {
		groups = append(groups, anyLayer(ambry.Layers))
	}
	if len(groups) == 0 {
		return "", nil
	}
	out := strings.Join(groups, " AND ")
	for _, g := range m.Not {
		out = "(" + out + ") NOT " + allOf(g)
	}
	if !m.Filter.Archived {
		out = "(" + out + ") NOT " + quoted(archivedTerm)
	}
	return out, nil
}

// group asks for the days of d; for the months, if there are many.
func (d Days) group() string {
	var terms []string
	if d.To.Sub(d.From) <= maxWindowDays*24*time.Hour {
		for at := d.From; at.Before(d.To); at = at.AddDate(0, 0, 1) {
			terms = append(terms, dayTerm(at))
		}
		return anyOf(terms)
	}
	first := time.Date(d.From.Year(), d.From.Month(), 1, 0, 0, 0, 0, time.UTC)
	for at := first; at.Before(d.To) && len(terms) < maxWindowMonths; at = at.AddDate(0, 1, 0) {
		terms = append(terms, monthTerm(at))
	}
	return anyOf(terms)
}

// How many days are asked for one by one, and how many months.
const (
	maxWindowDays   = 35
	maxWindowMonths = 24
)

func anyLayer(layers []ambry.Layer) string {
	terms := make([]string, len(layers))
	for i, l := range layers {
		terms[i] = layerTerm(l)
	}
	return anyOf(terms)
}

// What the names in a filter stand for.
const (
	agentIDs   = `SELECT id FROM agent WHERE name IN (SELECT value FROM json_each(?))`
	projectIDs = `SELECT id FROM project WHERE path = ?1 OR substr(path, -length(?1) - 1) IN ('/' || ?1, '\' || ?1)`
	sessionIDs = `SELECT id FROM session WHERE external = ?`
)

// scopeGroups writes the parts of a filter that are terms.
func (r reader) scopeGroups(f Filter) ([]string, error) {
	var out []string
	if len(f.Layers) > 0 {
		out = append(out, anyLayer(f.Layers))
	}
	for _, tag := range f.Tags {
		out = append(out, quoted(tagTerm(tag)))
	}
	if len(f.Agents) > 0 {
		names, err := json.Marshal(f.Agents)
		if err != nil {
			return nil, fmt.Errorf("filter by agent: %w", err)
		}
		group, err := r.scopeGroup(agentTerm, agentIDs, string(names))
		if err != nil {
			return nil, err
		}
		out = append(out, group)
	}
	if f.Project != "" {
		group, err := r.scopeGroup(projectTerm, projectIDs, f.Project)
		if err != nil {
			return nil, err
		}
		out = append(out, group)
	}
	if f.Session != "" {
		group, err := r.scopeGroup(sessionTerm, sessionIDs, f.Session)
		if err != nil {
			return nil, err
		}
		out = append(out, group)
	}
	return out, nil
}

// scopeGroup looks up ids. Without any it gives a term that nothing has.
func (r reader) scopeGroup(term func(int64) string, query string, arg any) (string, error) {
	ids, err := column[int64](r.rows(query, arg))
	if err != nil {
		return "", fmt.Errorf("look up a filter: %w", err)
	}
	if len(ids) == 0 {
		ids = []int64{0}
	}
	terms := make([]string, len(ids))
	for i, id := range ids {
		terms[i] = term(id)
	}
	return anyOf(terms), nil
}

func anyOf(terms []string) string { return joined(terms, " OR ") }

func allOf(terms []string) string { return joined(terms, " AND ") }

func joined(terms []string, operator string) string {
	out := make([]string, len(terms))
	for i, t := range terms {
		out[i] = quoted(t)
	}
	return "(" + strings.Join(out, operator) + ")"
}

func quoted(term string) string { return `"` + strings.ReplaceAll(term, `"`, `""`) + `"` }

// Text is a memory with what was said in it.
type Text struct {
	ambry.Memory
	Row  int64
	Body string // of a note
	Said []Said // of a trace
}

// Said is a visible message, and where it stands.
type Said struct {
	Role   ambry.Role
	Text   string
	Calls  []ambry.ToolCall // name, input and output only
	Source ambry.Source
}

// Texts reads memories by their rows, in their order. One that was forgotten
// meanwhile is missing, and so are those after the first least that would make it
// more than budget bytes as they are stored.
func (s *Store) Texts(ctx context.Context, rows []int64, least, budget int) ([]Text, error) {
	ids, err := json.Marshal(rows)
	if err != nil {
		return nil, fmt.Errorf("read texts: %w", err)
	}
	var out []Text
	err = s.read(ctx, func(r reader) error {
		texts, err := r.packedTexts(string(ids), least, budget)
		if err != nil {
			return fmt.Errorf("read texts: %w", err)
		}
		out = make([]Text, 0, len(texts))
		for _, t := range texts {
			if t.packed != nil {
				if t.Said, err = s.said(r, t.packed, t.turn, t.Source); err != nil {
					return err
				}
			}
			out = append(out, t.Text)
		}
		return nil
	})
	return out, err
}

// packedText is a Text whose turn is not unpacked yet.
type packedText struct {
	Text
	turn   int64
	packed []byte
}

// packedTexts reads no further than Texts promises.
func (r reader) packedTexts(ids string, least, budget int) ([]packedText, error) {
	rows, err := r.rows(`SELECT `+memoryColumns+`, m.id, coalesce(m.body, ''), coalesce(t.id, 0), t.body
		FROM json_each(?) AS j CROSS JOIN `+memoryTables+` WHERE m.id = j.value`, ids)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var out []packedText
	for rows.Next() {
		var t packedText
		if t.Memory, err = scanMemory(rows, &t.Row, &t.Body, &t.turn, &t.packed); err != nil {
			return nil, err
		}
		if budget -= len(t.packed) + len(t.Body); budget < 0 && len(out) >= least {
			return out, nil
		}
		out = append(out, t)
	}
	return out, rows.Err()
}

// said returns the visible messages of a turn. Most stand in the turn's own
// source, others in that of another session's copy.
func (s *Store) said(r reader, packed []byte, turn int64, at ambry.Source) ([]Said, error) {
	shown, err := s.unpackShown(packed)
	if err != nil {
		return nil, err
	}
	out := make([]Said, 0, len(shown))
	for _, m := range shown {
		source := at
		if m.From != 0 {
			err := r.row(`SELECT coalesce(f.path, ''), c.line, c.start, c.stop, c.row FROM copy AS c
				LEFT JOIN source AS f ON f.id = c.source WHERE c.turn = ? AND c.session = ?`, turn, m.From).Scan(
				&source.Path, &source.Line, &source.Offset, &source.End, &source.Row)
			if err != nil {
				return nil, fmt.Errorf("read the source of a message: %w", err)
			}
		}
		if m.Line != 0 || m.Offset != 0 {
			source.Line, source.Offset, source.End = m.Line, m.Offset, 0
		}
		out = append(out, Said{Role: m.Role, Text: m.Text, Calls: m.Calls, Source: source})
	}
	return out, nil
}
