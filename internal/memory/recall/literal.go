package recall

import (
	"context"
	"regexp"
	"strings"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/memory/words"
)

// Numbers of a search that reads texts rather than the index.
const (
	readingTime = 400 * time.Millisecond // then it tells what it has
	readAtOnce  = 128                    // memories
	maxPattern  = 1000                   // bytes of a regular expression
)

// pattern finds a place in a text, like [regexp.Regexp.FindStringIndex].
type pattern struct {
	find    func(text string) []int
	literal string // what every match begins with, or is; "" if that is not known
}

func patternOf(q ambry.Query) (pattern, error) {
	if q.Mode == ambry.ModeSubstring {
		needle := strings.ToLower(q.Query)
		return pattern{literal: q.Query, find: func(text string) []int {
			if i := indexFold(text, needle); i >= 0 {
				return []int{i, i + len(needle)}
			}
			return nil
		}}, nil
	}
	if len(q.Query) > maxPattern {
		return pattern{}, ambry.InvalidArgument.Errorf("the regular expression has %d bytes; %d are allowed", len(q.Query), maxPattern)
	}
	re, err := regexp.Compile(q.Query)
	if err != nil {
		return pattern{}, ambry.InvalidArgument.Errorf("the query is no regular expression: %v", err)
	}
	prefix, _ := re.LiteralPrefix()
	return pattern{literal: prefix, find: re.FindStringIndex}, nil
}

// reading gathers the memories whose text has a pattern.
type reading struct {
	r        *Recall
	pattern  pattern
	filter   store.Filter
	limit    int
	deadline time.Time
	known    map[int64]bool
	found    []ranked
}

// read answers a query by reading texts: first of memories that have the words
// of the pattern, best first, then of all, those that were added last first. It
// is out of time when it did not read them all.
func (r *Recall) read(ctx context.Context, c *words.Cutter, q ambry.Query, limit int) (found []ranked, outOfTime bool, err error) {
	p, err := patternOf(q)
	if err != nil {
		return nil, false, err
	}
	query := q
	query.Query = ""
	a := parse(c, query, time.Time{})
	rd := &reading{r: r, pattern: p, filter: a.filter, limit: limit, deadline: time.Now().Add(readingTime), known: map[int64]bool{}}
	if inner := innerWords(c, p.literal); len(inner) > 0 {
		found, err := r.store.Candidates(ctx, store.Match{All: inner, Own: true, Filter: a.filter}, maxFound)
		if err != nil {
			return nil, false, err
		}
		rows := make([]int64, len(found.Best))
		for i, b := range found.Best {
			rows[i] = b.Row
		}
		if err := rd.look(ctx, rows); err != nil {
			return nil, false, err
		}
	}
	for below := int64(0); !rd.done(); {
		rows, err := r.store.Newest(ctx, below, readAtOnce)
		if err != nil || len(rows) == 0 {
			return rd.found, false, err
		}
		below = rows[len(rows)-1]
		if rows, err = r.store.Only(ctx, store.Match{Filter: a.filter}, rows); err != nil {
			return nil, false, err
		}
		if err := rd.look(ctx, rows); err != nil {
			return nil, false, err
		}
	}
	return rd.found, len(rd.found) < limit, nil
}

func (rd *reading) done() bool { return len(rd.found) >= rd.limit || time.Now().After(rd.deadline) }

// look reads some memories.
func (rd *reading) look(ctx context.Context, rows []int64) error {
	for len(rows) > 0 && !rd.done() {
		n := min(len(rows), readAtOnce)
		texts, err := rd.r.store.Texts(ctx, rows[:n], n, 0)
		if err != nil {
			return err
		}
		rows = rows[n:]
		for i := range texts {
			t := &texts[i]
			if rd.known[t.Row] || len(rd.found) >= rd.limit || outside(rd.filter, t.CreatedAt) {
				continue
			}
			rd.known[t.Row] = true
			if p, ok := rd.place(t); ok {
				rd.found = append(rd.found, ranked{text: t, passage: &p})
				rd.found[len(rd.found)-1].signs[byPhrase] = 1
				rd.found[len(rd.found)-1].add()
			}
		}
	}
	return nil
}

// place returns where the pattern stands first.
func (rd *reading) place(t *store.Text) (passage, bool) {
	in := func(text string, at ambry.Source) (passage, bool) {
		i := rd.pattern.find(text)
		if i == nil {
			return passage{}, false
		}
		p := passage{text: text, source: at, at: i[0], phrase: true, spans: []span{{start: i[0], end: i[1]}}}
		p.finish()
		return p, true
	}
	if p, ok := in(t.Body, t.Source); ok {
		return p, true
	}
	for _, s := range t.Said {
		texts := []string{s.Text}
		for _, c := range s.Calls {
			texts = append(texts, c.Input, c.Output)
		}
		for _, text := range texts {
			if p, ok := in(text, s.Source); ok {
				return p, true
			}
		}
	}
	return passage{}, false
}

// innerWords returns the words of a literal that every text with it has as words,
// too: the first and the last one may be parts of longer ones.
func innerWords(c *words.Cutter, literal string) [][]string {
	var out [][]string
	c.Each(literal, func(t words.Term) {
		if t.Kind == words.Word && t.Start > 0 && t.End+1 < len(literal) && len(out) < maxUnits {
			out = append(out, []string{string(t.Text)})
		}
	})
	return out
}

// outside reports whether something happened at another time than a filter says.
func outside(f store.Filter, at time.Time) bool {
	return !f.After.IsZero() && at.Before(f.After) || !f.Before.IsZero() && !at.Before(f.Before)
}
