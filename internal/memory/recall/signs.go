package recall

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"
)

// sign is something that speaks for a memory, or against it.
type sign int

// The signs. Each is from 0 to 1 unless it says otherwise; those that speak
// against a memory have a negative weight.
const (
	byWords   sign = iota // the index's own score (BM25), against that of the best
	byOwn                 // the score (BM25) of what it says itself, against that of the best
	byField               // the same of what it and, for less, its neighbours say
	byCover               // share of the question that stands in it, by weight
	byAlike               // byCover, where other forms of a word and words that mean the same count half
	byWide                // byAlike of it and its neighbours together
	byNear                // share that stands in one passage
	byPair                // neighbours of the question that are neighbours in it
	byPhrase              // has what was asked, literally
	byBefore              // byOwn of the turn before
	byBefore2             // of the turn before that
	byAfter               // of the turn after
	byAfter2              // of the turn after that
	byAnswer              // byBefore, if the turn before ends with a question
	bySession             // score of its session as if it were one text, against that of the best
	byJoint               // share of the question that its session says together
	bySeveral             // what the best of its session say of the question, against the best session; chats without a project only
	byBacked              // the best of its session: what other memories of the session say, too; see backed
	byProject             // score of the best memories of its project, against that of the best
	bySpeaker             // 1: said by whom the question names; -1: by another
	byAsking              // only asks, and answers nothing
	byTelling             // names a time, when that is what was asked for
	byNumber              // has a number, when that is what was asked for
	byBrief               // says less than others that were found; below 0 if more
	byTime                // when the question says it was
	byRecent              // new rather than old
	byFresh               // true now, while something better fitting was true before; what it lacks to be first
	byUses                // 1: always good for something when it was given; -1: always wrong
	byMeaning             // means what was asked, as the embedding model sees it; times the weight of the model
	signs
)

// names of the signs in an answer.
var names = [signs]string{
	"words", "own", "field", "cover", "alike", "wide", "near", "pair", "phrase", "before", "before2", "after", "after2", "answer",
	"session", "joint", "several", "backed", "project", "speaker", "asking", "telling", "number", "brief", "time", "recent", "fresh", "uses", "meaning",
}

// model says how much each sign counts. It was fitted to questions whose answers
// are known; "go run ./bench/quality -data DIR -fit FILE" does it again.
//
// A sign counts more or less where memories are short: what somebody says in a
// chat needs its neighbours, a long turn tells by itself what it is about. Short
// is what is added to the weight where they are as short as can be; it is taken
// away where they are long.
type model struct {
	Weight, Short [signs]float64
}

//go:embed weights.json
var fitted []byte

// weights are read when they are first needed: most commands search nothing.
var weights = sync.OnceValue(func() *model {
	m, err := ParseWeights(fitted)
	if err != nil {
		panic(err) // what is embedded is read by every test
	}
	all := m.model()
	return &all
})

// Weight is how much a sign counts.
type Weight struct {
	Weight float64 `json:"weight"`
	Short  float64 `json:"short"`
}

// Weights are the weights of the signs by their names.
type Weights map[string]Weight

// ParseWeights reads weights of all signs, and nothing else.
func ParseWeights(text []byte) (Weights, error) {
	var w Weights
	if err := json.Unmarshal(text, &w); err != nil {
		return nil, fmt.Errorf("weights of signs: %w", err)
	}
	for _, name := range names {
		if _, ok := w[name]; !ok {
			return nil, fmt.Errorf("weights of signs: %q has none", name)
		}
	}
	if len(w) != len(names) {
		return nil, fmt.Errorf("weights of signs: %d for %d signs", len(w), len(names))
	}
	return w, nil
}

func (w Weights) model() (m model) {
	for s, name := range names {
		m.Weight[s], m.Short[s] = w[name].Weight, w[name].Short
	}
	return m
}

// of returns the weight of a sign among memories that are so short.
func (m *model) of(s sign, short float64) float64 { return m.Weight[s] + short*m.Short[s] }
