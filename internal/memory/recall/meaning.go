package recall

import (
	"context"
	_ "embed"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"sync"

	"ambry.dev/ambry/internal/memory/store"
)

// Meaning finds memories by what they mean.
type Meaning interface {
	// Near returns the memories that pass a filter and are nearest to a text, at
	// most n, and those of also that have a meaning, however far they are. Scores
	// are from 0, as like as any two memories are, to 1. It finds none rather than
	// to wait for long, and asks for also, once at most, when it has the others.
	Near(ctx context.Context, text string, f store.Filter, n int, also func() []int64) ([]store.Candidate, error)
	// Space names the model.
	Space() string
}

// maxNear is how many memories are candidates for their meaning alone.
const maxNear = 40

// Fit are the numbers of a model. They are in meaning.json, by the beginning of
// the name of its space, and were chosen by bench/quality -fit-meaning.
type Fit struct {
	Weight float64 `json:"weight"` // of the sign
	Unsaid float64 `json:"unsaid"` // what is added when nothing of the question is said anywhere
	Enough float64 `json:"enough"` // so alike is an answer, whatever the words are
}

//go:embed meaning.json
var fittedJSON []byte

var fits = sync.OnceValue(func() map[string]Fit {
	var all map[string]Fit
	if err := json.Unmarshal(fittedJSON, &all); err != nil {
		panic(err) // a bug of ours
	}
	return all
})

// fitOf returns the numbers of a model; those of "" if it is not known.
func fitOf(space string) Fit {
	all, best := fits(), ""
	for name := range all {
		if strings.HasPrefix(space, name) && len(name) > len(best) {
			best = name
		}
	}
	return all[best]
}

// UseMeaning makes searches look at what memories mean, too, with the numbers
// that fit its model, or others. Call it before any search.
func (r *Recall) UseMeaning(m Meaning, other *Fit) {
	r.meaning, r.fit = m, fitOf(m.Space())
	if other != nil {
		r.fit = *other
	}
}

// worthApart is in how many memories what was meant is looked for while the words
// are. In fewer, both are found sooner one after the other: to hand work to another
// core takes as long as to do it.
const worthApart = 1 << 15

// pending is a search for what was meant.
type pending struct {
	find  func(words func() []int64) ([]store.Candidate, error)
	words chan []int64 // the rows that have the words; nil if it has not begun
	done  chan struct{}
	near  []store.Candidate
	err   error
}

// beginNear begins to look for what was meant, or leaves it to scores, which is to
// be called in any case; nil if only words count.
func (r *Recall) beginNear(ctx context.Context, a asked) *pending {
	if r.meaning == nil || r.fit.Weight+r.fit.Unsaid == 0 || a.meant == "" || len(a.phrases) > 0 || a.single() {
		return nil
	}
	p := &pending{find: func(words func() []int64) ([]store.Candidate, error) {
		return r.meaning.Near(ctx, a.meant, a.filter, maxNear, words)
	}}
	if r.store.Indexed() >= worthApart {
		p.words, p.done = make(chan []int64, 1), make(chan struct{})
		go func() {
			defer close(p.done)
			p.near, p.err = p.find(func() []int64 { return <-p.words })
		}()
	}
	return p
}

// scores returns the memories that are nearest to what was meant, and how near
// those are that were found by words.
func (p *pending) scores(found []store.Candidate) ([]store.Candidate, error) {
	if p == nil {
		return nil, nil
	}
	rows := make([]int64, len(found))
	for i, f := range found {
		rows[i] = f.Row
	}
	if p.words == nil {
		return p.find(func() []int64 { return rows })
	}
	p.words <- rows
	<-p.done
	return p.near, p.err
}

// likeness is what the search for what was meant says of candidates, by row.
type likeness map[int64]alike

type alike struct {
	score float64
	only  bool // it was found by nothing else
}

// withAlike adds candidates that mean what was asked to those that say it.
func (r *Recall) withAlike(ctx context.Context, a asked, found, near []store.Candidate) ([]store.Candidate, likeness, error) {
	like := make(likeness, len(near))
	for _, n := range near {
		like[n.Row] = alike{n.Score, true}
	}
	for _, f := range found {
		if one, ok := like[f.Row]; ok {
			like[f.Row] = alike{one.score, false}
		}
	}
	if len(a.not) > 0 || len(a.filter.Tags) > 0 {
		if err := r.wanted(ctx, a, like); err != nil {
			return nil, nil, err
		}
	}
	for _, n := range near {
		if like[n.Row].only {
			n.Score = 0 // of its words
			found = append(found, n)
		}
	}
	return found, like, nil
}

// wanted leaves out of what was found by meaning alone what is not asked for.
func (r *Recall) wanted(ctx context.Context, a asked, like likeness) error {
	var others []int64
	for row, one := range like {
		if one.only {
			others = append(others, row)
		}
	}
	if len(others) == 0 {
		return nil
	}
	kept, err := r.store.Only(ctx, a.any(), others)
	if err != nil {
		return err
	}
	for _, row := range others {
		like[row] = alike{like[row].score, slices.Contains(kept, row)}
	}
	return nil
}

// maxAlike is how many memories are looked at closely for their meaning alone.
const maxAlike = 12

// alikeFirst moves the candidates that are most alike before those that would
// not be looked at, and returns how many are to be looked at now.
func alikeFirst(found []store.Candidate, like likeness, least int) int {
	if len(like) == 0 || len(found) <= least {
		return least
	}
	rest := found[least:]
	n := min(maxAlike, len(rest))
	for i := range n {
		best, score := i, like[rest[i].Row].score
		for j := i + 1; j < len(rest); j++ {
			if s := like[rest[j].Row].score; s > score {
				best, score = j, s
			}
		}
		next := rest[best]
		copy(rest[i+1:best+1], rest[i:best]) // the others stay in their order
		rest[i] = next
	}
	return least + n
}

// mostSaid is the share of a question that is enough for its words to count alone,
// but for the weight that meaning always has.
const mostSaid = 0.4

// weighMeaning sets the sign. The less of a question is said anywhere, the more
// its meaning counts: the words of a question in another language find nothing,
// or something by chance. What was at another time than the question is about
// does not answer it, however alike it is: the words that say when are not part
// of what is compared. A time at which nothing was found is one that was talked
// about, as years of history are; then it is nothing to go by.
func (r *Recall) weighMeaning(a asked, all []ranked, like likeness) {
	if len(like) == 0 {
		return
	}
	said := 0.0
	for i := range all {
		said = max(said, sum(all[i].look.has)/max(a.weight, 1e-9))
	}
	weight := r.fit.Weight + r.fit.Unsaid*math.Pow(1-min(said/mostSaid, 1), 2)
	then := 0.0 // how near the time what was found comes
	for i := range all {
		then = max(then, a.during(all[i].text.CreatedAt))
	}
	for i := range all {
		s := &all[i].signs[byMeaning]
		*s = weight * like[all[i].text.Row].score
		if then > 0 {
			*s *= a.during(all[i].text.CreatedAt)
		}
	}
}
