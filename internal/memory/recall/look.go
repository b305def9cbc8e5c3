package recall

import (
	"strings"
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
}

// restCounts is how much a word counts in often that no person says: answers and
// outputs are long, and a word in them says less of what the turn is about.
const restCounts = 0.25

// lookAt reads a memory.
func lookAt(m *matcher, t store.Text) look {
	units := len(m.asked.units)
	l := look{phrases: make([]bool, len(m.asked.phrases)), has: make([]float64, units), often: make([]float64, units)}
	if len(t.Said) == 0 {
		l.read(m, t.Body, t.Source, 1)
		l.notice(m.asked, t.Body)
	}
	for i, s := range t.Said {
		counts := restCounts
		if s.Role == ambry.User {
			counts = 1
		}
		l.read(m, s.Text, s.Source, counts)
		if i == 0 || s.Role == ambry.User || i == len(t.Said)-1 {
			l.notice(m.asked, s.Text)
		}
		for _, c := range s.Calls {
			l.read(m, c.Input, s.Source, restCounts)
			l.read(m, c.Output, s.Source, restCounts)
		}
	}
	if len(t.Said) == 1 && len(t.Said[0].Calls) == 0 {
		l.asking = onlyAsks(t.Said[0].Text)
		l.speaker = speakerOf(t.Said[0].Text)
	}
	if l.best.text == "" { // found by its title, its tags or its neighbours
		l.best = opening(t)
	}
	l.best.finish()
	return l
}

// read looks for the question in one text.
func (l *look) read(m *matcher, text string, at ambry.Source, counts float64) {
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
		literal = indexFold(text, m.asked.literal)
	}
	p := passageOf(m, text, literal)
	p.source = at
	if p.better(l.best) {
		l.best = p
	}
	l.size += counts * float64(len(text)) / 6
	for i, s := range p.spans {
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
	if a.part || b.unit != a.unit+1 || b.start-a.end > maxGap {
		return
	}
	l.pairs = max(l.pairs, 0) + min(m.asked.units[a.unit].weight, m.asked.units[b.unit].weight)
}

// notice reads what a message says beside the words that were asked for.
func (l *look) notice(a asked, text string) {
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

// bm25 scores what a memory itself says; average is the mean size.
func (l *look) bm25(a asked, average float64) float64 {
	const k, b = 1.2, 0.75
	norm := k * (1 - b + b*l.size/max(average, 1))
	score := 0.0
	for i, n := range l.often {
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
