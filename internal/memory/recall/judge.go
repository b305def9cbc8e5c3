package recall

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/memory/when"
	"ambry.dev/ambry/internal/memory/words"
)

// judge fills in the signs of all that was looked at, and their scores.
func judge(c *words.Cutter, a asked, all []ranked, now time.Time) {
	named := speakers(a, all)
	a = named.leaveOut(c, a, all)
	weight := max(a.weight, 1e-9)
	size := 0.0
	for i := range all {
		size += all[i].look.size
	}
	size /= float64(max(len(all), 1))
	pairs := a.pairWeight()
	own, brief := 0.0, 0.0
	for i := range all {
		r, l := &all[i], &all[i].look
		s := &r.signs
		*s = [signs]float64{byWords: s[byWords], byMeaning: s[byMeaning]} // it may be judged again
		s[byOwn] = bm25(a, l.often, l.size, size, 0.75)
		own = max(own, s[byOwn])
		s[byCover] = min(sum(l.has)/weight, 1)
		s[byNear] = min(r.passage.near, 1)
		s[byAlike] = min(sum(l.alike)/weight, 1)
		s[byBrief] = 1 / (1 + math.Log1p(l.size/10))
		brief += s[byBrief] / float64(len(all))
		s[byNumber] = yes(a.forNumber && l.number)
		s[byPair] = min(l.pairs/pairs, 1)
		s[byPhrase] = yes(r.passage.phrase)
		s[bySpeaker] = named.match(l.speaker)
		s[byAsking] = yes(l.asking)
		s[byTelling] = yes(a.forTime && l.telling)
		s[byTime] = a.during(r.text.CreatedAt)
		s[byRecent] = recent(r.text.CreatedAt, now)
	}
	for i := range all {
		all[i].signs[byOwn] /= max(own, 1e-9)
	}
	byGroups(a, all)
	byNeighbours(a, all, size)
	short := shortness(brief)
	for i := range all {
		all[i].short = short
		all[i].signs[byBrief] -= brief
		all[i].add()
	}
	if a.tense != when.Past && a.window.From.IsZero() && !a.single() {
		replaced(c, a, all)
	}
}

func yes(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// add adds the signs up. The parts are rounded first, as an answer shows them.
func (r *ranked) add() {
	r.score = 0
	for s, v := range r.signs {
		r.score += round(weights.of(sign(s), r.short) * v)
	}
}

// Bounds of shortness: memories that are shorter or longer than those the
// weights were fitted to are taken for such.
const (
	shortest = 0.1
	longest  = -0.8
)

// shortness is 0 where memories have twenty words or so, and less where they are
// longer. Brief is the mean of what is said of them in judge.
func shortness(brief float64) float64 { return max(longest, min(4*(brief-0.5), shortest)) }

// pairWeight is the most that neighbours of the question can count.
func (a asked) pairWeight() float64 {
	total := 1e-9
	for i := 1; i < len(a.units); i++ {
		total += min(a.units[i-1].weight, a.units[i].weight)
	}
	return total
}

// during is 1 in the time that the question is about, and less near it: one
// talks about a day on it or after it.
func (a asked) during(at time.Time) float64 {
	if a.window.From.IsZero() {
		return 0
	}
	switch d := a.window.Distance(at); {
	case d == 0:
		return 1
	case d > 0 && d < 3, d < 0 && d > -1.5:
		return 0.4
	case d > 0 && d < 10:
		return 0.2
	}
	return 0
}

// recent is 1 for now and falls by half each 90 days.
func recent(at, now time.Time) float64 {
	days := now.Sub(at).Hours() / 24
	return math.Exp2(-max(days, 0) / 90)
}

// byGroups tells how well the sessions and projects fit that the memories are of.
func byGroups(a asked, all []ranked) {
	sessions, projects := groups{}, groups{}
	for i := range all {
		sessions.add(all[i].text.SessionID, &all[i])
		projects.add(all[i].text.Project, &all[i])
	}
	sessions.compare(func(g *group) float64 { return g.together(a) })
	projects.compare((*group).best)
	for i := range all {
		s := sessions[all[i].text.SessionID]
		all[i].signs[bySession] = s.share
		all[i].signs[byJoint] = min(sum(s.has)/max(a.weight, 1e-9), 1)
		all[i].signs[byProject] = projects[all[i].text.Project].share
	}
}

// groups are memories that belong together, by what they belong to. Those that
// belong to nothing are in a group that is empty.
type groups map[string]*group

type group struct {
	scores []float64 // of the index
	has    []float64 // by unit, as in look, of all together
	often  []float64
	share  float64 // of the best group's score
}

func (g groups) add(name string, r *ranked) {
	one := g[name]
	if one == nil {
		one = &group{has: make([]float64, len(r.look.has)), often: make([]float64, len(r.look.often))}
		g[name] = one
	}
	if name == "" {
		return
	}
	one.scores = append(one.scores, r.signs[byWords])
	for u := range r.look.has {
		one.has[u] = max(one.has[u], r.look.has[u])
		one.often[u] += r.look.often[u]
	}
}

// compare sets the share of each group.
func (g groups) compare(score func(*group) float64) {
	best := 0.0
	for _, one := range g {
		one.share = score(one)
		best = max(best, one.share)
	}
	for _, one := range g {
		one.share /= max(best, 1e-9)
	}
}

// together scores a group as if it were one long text.
func (g *group) together(a asked) float64 {
	const saturation = 2
	score := 0.0
	for u, n := range g.often {
		score += a.units[u].weight * n / (n + saturation)
	}
	return score
}

// best adds up the scores of the best memories of a group, each for less than the
// one before.
func (g *group) best() float64 {
	slices.SortFunc(g.scores, func(x, y float64) int { return cmp.Compare(y, x) })
	score := 0.0
	for i, share := range [...]float64{1, 0.5, 0.3, 0.2, 0.1} {
		if i < len(g.scores) {
			score += share * g.scores[i]
		}
	}
	return score
}

// talkers are those who speak in what was found.
type talkers struct {
	named, others bool
	asked         map[string]bool
}

// minSaid is how often somebody must have said something to be known as a
// speaker, so that "Error: " is none.
const minSaid = 3

// speakers finds out whether the question names some of those who speak, and not
// all of them.
func speakers(a asked, all []ranked) talkers {
	said := map[string]int{}
	for i := range all {
		if s := all[i].look.speaker; s != "" {
			said[s]++
		}
	}
	t := talkers{asked: map[string]bool{}}
	question := " " + strings.Map(func(r rune) rune {
		if r == '\'' || r == '’' || r == '?' || r == ',' || r == '.' {
			return ' '
		}
		return r
	}, a.literal) + " "
	for name, n := range said {
		if n < minSaid {
			continue
		}
		first, _, _ := strings.Cut(name, " ")
		if strings.Contains(question, " "+first+" ") {
			t.asked[name], t.named = true, true
		} else {
			t.others = true
		}
	}
	return t
}

// leaveOut takes the names of those who speak out of what is asked for: they
// stand before all that they say.
func (t talkers) leaveOut(c *words.Cutter, a asked, all []ranked) asked {
	if !t.named {
		return a
	}
	drop := map[string]bool{}
	for name := range t.asked {
		first, _, _ := strings.Cut(name, " ")
		c.Each(first, func(w words.Term) { drop[string(w.Text)] = true })
	}
	units := slices.Clone(a.units)
	for u := range units {
		if !drop[units[u].term] || len(drop) >= len(units) {
			continue
		}
		a.weight -= units[u].weight
		units[u].weight = 0
		for i := range all {
			l := &all[i].look
			l.has[u], l.often[u], l.alike[u] = 0, 0, 0
		}
	}
	a.units = units
	return a
}

func (t talkers) match(speaker string) float64 {
	switch {
	case speaker == "" || !t.named || !t.others:
		return 0
	case t.asked[speaker]:
		return 1
	}
	return -1
}

// A newer memory takes the place of an older one when it is nearly as good an
// answer and says enough of what the older one says of the question.
const (
	nearAnswer  = 0.35 // share of the older one's score
	sameAnswer  = 0.2  // share of what the older one says of the question, in whatever words
	sameState   = 0.5  // the same, for one that does not tell of a change
	sameSubject = 0.2  // share of the older one's words
	maxReplaced = 10   // so many of the best are compared
)

// replaced puts what is true now before what was: a memory that tells that
// something is to be otherwise goes before older ones about the same. When the
// question asks for the present, being newer is enough. Questions about the past
// are not given to it.
func replaced(c *words.Cutter, a asked, all []ranked) {
	best := make([]*ranked, len(all))
	for i := range all {
		best[i] = &all[i]
	}
	slices.SortStableFunc(best, func(x, y *ranked) int { return cmp.Compare(y.score, x.score) })
	best = best[:min(len(best), maxReplaced)]
	slices.SortStableFunc(best, func(x, y *ranked) int { return x.text.CreatedAt.Compare(y.text.CreatedAt) })
	for i, newer := range best {
		if !slices.ContainsFunc(best[:i], func(old *ranked) bool { return newer.replaces(a, old) }) {
			continue // cheaper to find out than whether it changes something
		}
		changed := changes(newer.text)
		if !changed && a.tense != when.Present {
			continue
		}
		least := sameState
		if changed {
			least = sameAnswer
		} else if newer.look.asking {
			continue
		}
		for _, old := range best[:i] {
			if newer.replaces(a, old) && newer.signs[byAlike] >= least*old.signs[byAlike] {
				newer.signs[byFresh] = round(newer.signs[byFresh] + old.score - newer.score + 0.001)
				newer.add()
			}
		}
	}
}

// maxChange bounds how much of a message is read for signs of a change.
const maxChange = 600

// changes reports whether a person says in it that something is to be otherwise.
func changes(t store.Text) bool {
	for _, s := range t.Said {
		if s.Role == ambry.User && when.Changed(clip(s.Text, maxChange)) {
			return true
		}
	}
	return len(t.Said) == 0 && when.Changed(clip(t.Body, maxChange))
}

// replaces reports whether r can say what is true now of something that an older
// memory says. What belongs to no project has that in common with everything, so
// only notes are compared then.
func (r *ranked) replaces(a asked, old *ranked) bool {
	for i, u := range a.units {
		if len(u.parts) > 0 && r.look.has[i] < old.look.has[i] {
			return false // it is about another identifier
		}
	}
	return old.signs[byPhrase] == 0 && r.score < old.score && r.score >= nearAnswer*old.score &&
		r.text.Project == old.text.Project && (r.text.Project != "" || r.text.SessionID == "" && old.text.SessionID == "") &&
		r.repeats(old) >= sameSubject
}

// repeats returns the share of what another memory says of the question that r
// says too.
func (r *ranked) repeats(o *ranked) float64 {
	both := 0.0
	for u, v := range o.look.has {
		both += min(v, r.look.has[u])
	}
	return both / max(sum(o.look.has), 1e-9)
}
