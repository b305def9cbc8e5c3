package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// unanswerable is the kind of question to which there is no answer. What such a
// question finds counts nowhere but among false injections.
const unanswerable = "unanswerable"

// result is what was measured of a set.
type result struct {
	set    string
	groups []string // in the order they are shown
	tally  map[string]*tally
	found  []found
	took   time.Duration // of the searches, one after the other

	// How many questions would have put something into a prompt: of those that
	// have an answer, and of those that have none.
	right, wrong share
}

// share is so many of so many.
type share struct{ part, whole int }

func (s *share) count(yes bool) {
	s.whole++
	if yes {
		s.part++
	}
}

func (s share) percent() float64 {
	if s.whole == 0 {
		return 0
	}
	return 100 * float64(s.part) / float64(s.whole)
}

// measure asks every question of a set.
func measure(ctx context.Context, name string, corpora []corpus) (*result, error) {
	r := &result{set: name, tally: map[string]*tally{}}
	for _, c := range corpora {
		all, err := answers(ctx, c, name == "locomo")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		for _, f := range all {
			r.add(f)
		}
	}
	slices.SortStableFunc(r.groups, func(a, b string) int { return strings.Compare(order(a), order(b)) })
	return r, nil
}

func (r *result) add(f found) {
	r.found = append(r.found, f)
	r.took += f.took
	q := f.question
	if len(q.want) == 0 {
		r.wrong.count(f.injected)
		return
	}
	r.right.count(f.injected)
	for _, group := range groups(q) {
		r.group(group).add(f.turns, q.want, q.stale)
	}
	if f.wantSessions != nil {
		r.group("sessions").add(f.sessions, f.wantSessions, nil)
	}
}

func (r *result) group(name string) *tally {
	t, ok := r.tally[name]
	if !ok {
		t = &tally{}
		r.tally[name], r.groups = t, append(r.groups, name)
	}
	return t
}

// all is the group by which a set is judged.
const all = "all"

// crossLingual is the kind of question in another language than its evidence.
const crossLingual = "cross_lingual"

// groups are the rows that a question counts in. Questions across languages are
// counted for themselves: words do not find their evidence, a model may. LoCoMo's adversarial questions
// are left out of its turn-level measure by everybody, since their evidence is
// that something was not said.
func groups(q question) []string {
	if q.kind == adversarial {
		return []string{adversarial}
	}
	if q.kind == crossLingual {
		return []string{crossLingual}
	}
	names := []string{all}
	for _, name := range []string{q.half, q.lang, q.kind} {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

// order sorts groups: the whole, the halves, the languages, the kinds.
func order(group string) string {
	switch {
	case group == all:
		return "0"
	case group == "sessions":
		return "1"
	case group == fit || group == judge:
		return "2" + group
	case len(group) == len("en"):
		return "3" + group
	}
	return "4" + group
}

// saved is the form of a result in a file. The rankings are in the form that
// other scorers read: an id, and ids, best first.
type saved struct {
	Set      string             `json:"set"`
	Groups   []savedGroup       `json:"groups"`
	Rankings []savedRanking     `json:"rankings"`
	Injected map[string]float64 `json:"injectedPercent,omitempty"`
}

type savedGroup struct {
	Name      string  `json:"name"`
	Questions int     `json:"questions"`
	R1        float64 `json:"r1"`
	R5        float64 `json:"r5"`
	R10       float64 `json:"r10"`
	Hit1      float64 `json:"hit1"`
	Hit5      float64 `json:"hit5"`
	NDCG10    float64 `json:"ndcg10"`
	MRR       float64 `json:"mrr"`
	Stale     int     `json:"stale,omitempty"`
	Outranked int     `json:"staleFirst,omitempty"`
}

type savedRanking struct {
	ID           string    `json:"id"`
	Kind         string    `json:"kind,omitempty"`
	Half         string    `json:"half,omitempty"`
	Query        string    `json:"query"`
	Want         []string  `json:"want"`
	Ranking      []string  `json:"ranking"`
	Scores       []float64 `json:"scores"`
	Sessions     []string  `json:"sessions,omitempty"`
	WantSessions []string  `json:"wantSessions,omitempty"`
	Injected     bool      `json:"injected"`
}

func (f found) saved() savedRanking {
	q := f.question
	return savedRanking{
		ID: q.id, Kind: q.kind, Half: q.half, Query: q.query.Query, Want: q.want,
		Ranking: f.turns, Scores: f.scores, Sessions: f.sessions, WantSessions: f.wantSessions, Injected: f.injected,
	}
}

func save(path string, results []*result) error {
	var out []saved
	for _, r := range results {
		s := saved{Set: r.set}
		for _, name := range r.groups {
			t := r.tally[name]
			s.Groups = append(s.Groups, savedGroup{
				name, t.n, t.percent(t.r1), t.percent(t.r5), t.percent(t.r10), t.percent(t.hit1), t.percent(t.hit5),
				t.percent(t.ndcg10), t.percent(t.mrr), t.stale, t.outranked,
			})
		}
		for _, f := range r.found {
			s.Rankings = append(s.Rankings, f.saved())
		}
		if r.wrong.whole > 0 {
			s.Injected = map[string]float64{"answerable": r.right.percent(), unanswerable: r.wrong.percent()}
		}
		out = append(out, s)
	}
	text, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
