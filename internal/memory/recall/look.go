package recall

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/memory/when"
)

// look is what was seen of a memory when it was read for a question.
type look struct {
	best    passage
	phrases []bool    // of the question, which of them are in it
	has     []float64 // by unit: its weight if it is there, less if only a part of it is
	often   []float64 // by unit: how often, where what a person said counts full
	size    float64   // in words, roughly, counted like often
	pairs   float64   // weight of the neighbours of the question that are neighbours here
	speaker string    // who said it, in lower case, if it begins like "Ana: "
	asking  bool      // it only asks
	telling bool      // it names a time
	alike   []float64 // by unit: like has, where another form of the word counts half
	ends    bool      // it ends with a question
	number  bool      // it has a number
}

// restCounts is how much a word counts in often that no person says: answers and
// outputs are long, and a word in them says less of what the turn is about.
const restCounts = 0.25

// On how many cores memories are looked at.
const (
	maxLookers = 4
	worthALook = 128 << 10 // bytes; fewer are not worth another core
)

// lookAtAll reads memories, several at a time if there is much in them.
func (r *Recall) lookAtAll(m *matcher, texts []*store.Text) []look {
	out := make([]look, len(texts))
	units := len(m.asked.units)
	room := make([]float64, 3*units*len(texts))
	for i := range out {
		l, own := &out[i], room[3*units*i:3*units*(i+1)]
		l.has, l.often, l.alike = own[:units:units], own[units:2*units:2*units], own[2*units:]
		l.phrases = make([]bool, len(m.asked.phrases))
	}
	var next atomic.Int64
	read := func(m *matcher) {
		for i := int(next.Add(1)) - 1; i < len(texts); i = int(next.Add(1)) - 1 {
			out[i].at(m, texts[i])
		}
	}
	var others sync.WaitGroup
	size := 0
	for _, t := range texts {
		size += t.Size()
	}
	for range min(size/worthALook+1, len(texts), runtime.GOMAXPROCS(0), maxLookers) - 1 {
		c := r.borrow()
		other := m.with(c) // before m is used: its room changes then
		others.Go(func() {
			defer r.cutters.Put(c)
			read(other)
		})
	}
	read(m)
	others.Wait()
	return out
}

// at reads a memory.
func (l *look) at(m *matcher, t *store.Text) {
	if len(t.Said) == 0 {
		l.read(m, t.Body, -1, 1)
		l.notice(m.asked, t.Body)
	}
	for i, s := range t.Said {
		counts := restCounts
		if s.Role == ambry.User {
			counts = 1
		}
		l.read(m, s.Text, i, counts)
		if i == 0 || s.Role == ambry.User || i == len(t.Said)-1 {
			l.notice(m.asked, s.Text)
		}
		for _, c := range s.Calls {
			l.read(m, c.Input, i, restCounts)
			l.read(m, c.Output, i, restCounts)
		}
	}
	switch {
	case len(t.Said) == 0:
		l.hear(t.Body)
	case len(t.Said) == 1 && len(t.Said[0].Calls) == 0:
		l.hear(t.Said[0].Text)
	}
	if n := len(t.Said); n > 0 {
		l.ends = endsAsking(t.Said[n-1].Text)
	}
	l.best.spans = slices.Clone(l.best.spans)
}

// read looks for the question in one text.
func (l *look) read(m *matcher, text string, said int, counts float64) {
	if text == "" {
		return
	}
	literal := -1
	for i, p := range m.asked.phrases {
		if at := indexFold(text, p); at >= 0 {
			l.phrases[i], literal = true, at
		}
	}
	if len(m.asked.phrases) == 0 && len(m.asked.units) > 1 {
		literal = m.literal.index(text)
	}
	p := passageOf(m, text, literal)
	p.said = said
	if p.better(&l.best) {
		l.best = p
		m.best, m.spans = m.spans, m.best // the room of what was the best is free
	}
	l.size += counts * float64(len(text)) / 6
	for i, s := range p.spans {
		l.alike[s.unit] = max(l.alike[s.unit], m.gain(s))
		if s.like {
			continue
		}
		l.has[s.unit] = max(l.has[s.unit], m.gain(s))
		if s.part {
			continue
		}
		l.often[s.unit] += counts
		if i > 0 {
			l.pair(m, p.spans[i-1], s)
		}
	}
}

// maxGap is how many bytes may stand between neighbours: a stop word.
const maxGap = 5

// pair counts two spans that follow each other here and in the question.
func (l *look) pair(m *matcher, a, b span) {
	if a.part || a.like || b.unit != a.unit+1 || b.start-a.end > maxGap {
		return
	}
	l.pairs = max(l.pairs, 0) + min(m.asked.units[a.unit].weight, m.asked.units[b.unit].weight)
}

// hear reads the only thing that is said.
func (l *look) hear(text string) {
	l.asking, l.speaker = onlyAsks(text), speakerOf(text)
}

// notice reads what a message says beside the words that were asked for.
func (l *look) notice(a asked, text string) {
	if a.forNumber && !l.number {
		l.number = strings.ContainsAny(clip(text, maxExcerpt), "0123456789") || when.Counted(clip(text, maxExcerpt))
	}
	if a.forTime && !l.telling {
		l.telling = when.Told(clip(text, maxExcerpt))
	}
}

// clip returns the beginning of text, on whole characters.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "")
}

// maxAsking is how long a message can be that only asks.
const maxAsking = 160

func onlyAsks(text string) bool {
	text = strings.TrimSpace(text)
	return len(text) <= maxAsking && (strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？"))
}

// maxName is the longest name that stands before what somebody said.
const maxName = 24

// speakerOf returns the name that a message begins with, as in a log of a chat.
func speakerOf(text string) string {
	name, _, ok := strings.Cut(clip(text, maxName+2), ": ")
	if !ok || name == "" {
		return ""
	}
	for i, r := range name {
		if i == 0 && !unicode.IsUpper(r) || !unicode.IsLetter(r) && r != ' ' {
			return ""
		}
	}
	return strings.ToLower(name)
}

// bm25 scores words that are there so often in a text of a size; average is the
// mean size, and b how much a text that is longer must say more.
func bm25(a asked, often []float64, size, average, b float64) float64 {
	const k = 1.2
	norm := k * (1 - b + b*size/max(average, 1))
	score := 0.0
	for i, n := range often {
		if n > 0 {
			score += a.units[i].weight * n * (k + 1) / (n + norm)
		}
	}
	return score
}

func sum(values []float64) float64 {
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total
}

// endingBytes is how much of a message is its end.
const endingBytes = 200

// endsAsking reports whether the end of a message asks something.
func endsAsking(text string) bool {
	text = text[max(len(text)-endingBytes, 0):]
	return strings.Contains(text, "?") || strings.Contains(text, "？")
}
