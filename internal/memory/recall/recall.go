// Package recall finds memories: it understands a query, asks the text index for
// candidates, looks at the best of them closely, and picks the passage that
// answers. It stores nothing and calls no model.
package recall

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"sync"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/memory/words"
)

// Numbers of a search.
const (
	defaultLimit   = 10
	maxLimit       = 100
	maxCandidates  = 100      // what the index gives
	maxWholeDays   = 7        // a time so short is looked at whole
	maxInWindow    = 50       // of the time that a question is about
	minClose       = 20       // of which so many, or a quarter more than the limit, are looked at closely
	closeBytes     = 32 << 10 // as they are stored; more are looked at closely while they are no more
	likeBytes      = 24 << 10 // the same, when what is likely to be meant is among them
	maxFound       = 1000     // rows that Find returns
	defaultBudget  = 2000     // tokens of the context
	commonFrom     = 8_000
	commonFraction = 10   // a word in more than a tenth of so many memories is common
	worthGiving    = 0.4  // of the best memory's score, or enough of the question, must be in another that is given
	minCover       = 0.12 // of a question must be in the best memory, or nothing is given to a prompt
	minUnheard     = 0.4  // the same, for a question that names something that is in no memory
)

// Recall searches a store. All methods may be called at the same time.
type Recall struct {
	store   *store.Store
	now     func() time.Time
	cutters sync.Pool
	common  frequencies
	meaning Meaning // nil: words only
	fit     Fit
}

// New returns a Recall over s. A nil now is time.Now.
func New(s *store.Store, now func() time.Time) *Recall {
	if now == nil {
		now = time.Now
	}
	return &Recall{store: s, now: now}
}

// Search answers a query, best hit first. Nothing in the query is an error but
// its being empty.
func (r *Recall) Search(ctx context.Context, q ambry.Query) (ambry.Answer, error) {
	a, _, err := r.SearchAgain(ctx, q, func(ambry.Memory) bool { return false })
	return a, err
}

// SearchAgain is [Recall.Search] for somebody who was given memories before:
// those are left out of the context, though not out of the hits. It also returns
// what the context is made of.
func (r *Recall) SearchAgain(ctx context.Context, q ambry.Query, given func(ambry.Memory) bool) (ambry.Answer, []ambry.Section, error) {
	if err := q.Validate(); err != nil {
		return ambry.Answer{}, nil, err
	}
	began := time.Now()
	limit := defaultLimit
	if q.Limit > 0 {
		limit = min(q.Limit, maxLimit)
	}
	cutter := r.borrow()
	defer r.cutters.Put(cutter)
	asked := parse(cutter, q, r.now())
	var best []ranked
	var matching total
	var outOfTime bool
	var err error
	if q.Mode == ambry.ModeSubstring || q.Mode == ambry.ModeRegex {
		best, outOfTime, err = r.read(ctx, cutter, q, limit)
	} else {
		best, matching, err = r.byIndex(ctx, cutter, asked, limit)
	}
	if err != nil {
		return ambry.Answer{}, nil, err
	}
	best = best[:min(limit, len(best))]
	a := ambry.Answer{
		SearchID: newID(), Hits: make([]ambry.Hit, 0, len(best)), Total: max(matching.n, len(best)), TotalAtLeast: matching.atLeast,
		ServerTime: r.now().UTC(), Incomplete: outOfTime,
	}
	for i := range best {
		a.Hits = append(a.Hits, best[i].hit())
	}
	budget := defaultBudget
	if q.ContextBudget > 0 {
		budget = q.ContextBudget
	}
	if len(best) > 0 && !best[0].answers(asked) {
		best = nil
	}
	// What is left when the best was given before may not be worth giving.
	least := 0.0
	if len(best) > 0 {
		least = worthGiving * best[0].score
	}
	best = slices.DeleteFunc(best, func(r ranked) bool { return given(r.text.Memory) || r.score < least && !r.answers(asked) })
	sections := pack(best, budget)
	a.InjectedContext, a.TokenEstimate = fenced(sections)
	if q.Verbose {
		a.Debug = debug(a, sections)
	}
	a.TookMs = float64(time.Since(began).Microseconds()) / 1000
	return a, sections, nil
}

// total is how many memories match, or at least match.
type total struct {
	n       int
	atLeast bool
}

// byIndex finds memories and looks at the best of them closely.
func (r *Recall) byIndex(ctx context.Context, c *words.Cutter, asked asked, limit int) (best []ranked, matching total, err error) {
	near := r.beginNear(ctx, asked)
	var found []store.Candidate
	if err = r.weigh(ctx, &asked); err == nil {
		found, matching, err = r.candidates(ctx, asked, limit)
	}
	alike, nearErr := near.scores(found)
	if err != nil {
		return nil, total{}, err
	}
	if nearErr != nil {
		return nil, total{}, nearErr
	}
	found, like, err := r.withAlike(ctx, asked, found, alike)
	if err != nil {
		return nil, total{}, err
	}
	closely := max(minClose, limit+limit/4)
	if len(asked.phrases) > 0 {
		closely = maxCandidates // the index knows no phrases
	}
	best, err = r.rank(ctx, c, asked, found, like, closely)
	if err != nil {
		return nil, total{}, err
	}
	if len(asked.phrases) > 0 {
		matching = total{n: len(best)}
	}
	best = folded(best)
	best, err = r.described(ctx, best[:min(limit, len(best))])
	return best, matching, err
}

// Find returns the rows of the memories that have all words of a text, the best
// thousand of them at most. Archived ones are among them.
func (r *Recall) Find(ctx context.Context, text string) ([]int64, error) {
	cutter := r.borrow()
	defer r.cutters.Put(cutter)
	asked := parse(cutter, ambry.Query{Query: text}, time.Time{})
	asked.filter.Archived = true
	if len(asked.units) == 0 && asked.unfiltered() {
		return nil, nil
	}
	found, err := r.store.Candidates(ctx, asked.all(), maxFound)
	if err != nil {
		return nil, err
	}
	rows := make([]int64, len(found.Best))
	for i, c := range found.Best {
		rows[i] = c.Row
	}
	return rows, nil
}

func (r *Recall) borrow() *words.Cutter {
	if c, ok := r.cutters.Get().(*words.Cutter); ok {
		return c
	}
	return words.NewCutter()
}

func newID() string {
	var b [10]byte
	_, _ = rand.Read(b[:]) // never fails
	return "recall_" + hex.EncodeToString(b[:])
}

// debug repeats an answer for older clients.
func debug(a ambry.Answer, sections []ambry.Section) *ambry.AnswerDebug {
	d := &ambry.AnswerDebug{
		SearchID: a.SearchID, Hits: a.Hits, SourceMemoryIDs: []string{}, Status: []string{"words"},
		Sections: sections, TokenEstimate: a.TokenEstimate, ServerTime: a.ServerTime,
	}
	for _, h := range a.Hits {
		d.SourceMemoryIDs = append(d.SourceMemoryIDs, h.ID)
	}
	return d
}
