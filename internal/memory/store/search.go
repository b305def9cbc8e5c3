package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/index"
	"ambry.dev/ambry/internal/memory/sqlite"
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

// Candidates are memories that match.
type Candidates struct {
	Best    []Candidate // by relevance (BM25)
	Total   int         // how many match
	AtLeast bool        // or more: see [index.Index.Search]
}

// Candidates returns the memories that match, at most limit.
func (s *Store) Candidates(ctx context.Context, m Match, limit int) (Candidates, error) {
	q, err := s.indexQuery(ctx, m)
	if err != nil || len(q.All)+len(q.Any)+len(q.Prefix)+len(q.Scope) == 0 && q.From == 0 && q.Before == 0 {
		return Candidates{}, err
	}
	found, err := s.index.Search(q, limit)
	if err != nil {
		return Candidates{}, fmt.Errorf("search: %w", s.searched(err))
	}
	out := Candidates{Best: make([]Candidate, len(found.Hits)), Total: found.Total, AtLeast: found.AtLeast}
	for i, h := range found.Hits {
		out.Best[i] = Candidate{Row: h.Doc, Score: h.Score, At: sqlite.Time(h.At)}
	}
	return out, nil
}

// Frequencies returns how many memories say each of some terms themselves, of a
// frequent one about how many. Archived ones are among them.
func (s *Store) Frequencies(terms []string) ([]int, error) {
	out, err := s.index.Frequencies(terms)
	if err != nil {
		return nil, fmt.Errorf("count memories: %w", s.searched(err))
	}
	return out, nil
}

// Indexed returns how many memories can be found.
func (s *Store) Indexed() int64 { return s.index.Len() }

// Spellings returns the terms of the index that begin so and that keep keeps, in
// order. It reads about limit of them.
func (s *Store) Spellings(_ context.Context, beginning string, limit int, keep func(term []byte) bool) ([]string, error) {
	out, err := s.index.Terms(beginning, limit, keep)
	if err != nil {
		return nil, fmt.Errorf("read the vocabulary: %w", s.searched(err))
	}
	return out, nil
}

// indexQuery writes m as the index asks for it.
func (s *Store) indexQuery(ctx context.Context, m Match) (index.Query, error) {
	q := index.Query{All: m.All, Any: m.Any, Prefix: m.Prefix, Not: m.Not, Own: m.Own}
	q.From, q.Before = sqlite.Millis(m.Filter.After), sqlite.Millis(m.Filter.Before)
	if !m.During.From.IsZero() {
		q.From = max(q.From, sqlite.Millis(m.During.From))
		if to := sqlite.Millis(m.During.To); q.Before == 0 || to < q.Before {
			q.Before = to
		}
	}
	err := s.readers.Read(ctx, func(r sqlite.Reader) (err error) {
		q.Scope, err = scopeGroups(r, m.Filter)
		return err
	})
	if !m.Filter.Archived {
		q.Not = append(slices.Clone(q.Not), []string{archivedTerm})
	}
	return q, err
}

// What the names in a filter stand for.
const (
	agentIDs   = `SELECT id FROM agent WHERE name IN (SELECT value FROM json_each(?))`
	projectIDs = `SELECT id FROM project WHERE path = ?1 OR substr(path, -length(?1) - 1) IN ('/' || ?1, '\' || ?1)`
	sessionIDs = `SELECT id FROM session WHERE external = ?`
)

// scopeGroups are the parts of a filter that are terms.
func scopeGroups(r sqlite.Reader, f Filter) ([][]string, error) {
	var out [][]string
	if len(f.Layers) > 0 {
		var layers []string
		for _, l := range f.Layers {
			layers = append(layers, layerTerm(l))
		}
		out = append(out, layers)
	}
	for _, tag := range f.Tags {
		out = append(out, []string{tagTerm(tag)})
	}
	if len(f.Agents) > 0 {
		names, err := json.Marshal(f.Agents)
		if err != nil {
			return nil, fmt.Errorf("filter by agent: %w", err)
		}
		group, err := scopeGroup(r, agentTerm, agentIDs, string(names))
		if err != nil {
			return nil, err
		}
		out = append(out, group)
	}
	if f.Project != "" {
		group, err := scopeGroup(r, projectTerm, projectIDs, f.Project)
		if err != nil {
			return nil, err
		}
		out = append(out, group)
	}
	if f.Session != "" {
		group, err := scopeGroup(r, sessionTerm, sessionIDs, f.Session)
		if err != nil {
			return nil, err
		}
		out = append(out, group)
	}
	return out, nil
}

// scopeGroup looks up ids and returns a term for each. Without any it is a term
// that nothing has.
func scopeGroup(r sqlite.Reader, term func(int64) string, query string, arg any) ([]string, error) {
	ids, err := sqlite.Column[int64](r.Rows(query, arg))
	if err != nil {
		return nil, fmt.Errorf("look up a filter: %w", err)
	}
	if len(ids) == 0 {
		ids = []int64{0}
	}
	terms := make([]string, len(ids))
	for i, id := range ids {
		terms[i] = term(id)
	}
	return terms, nil
}
