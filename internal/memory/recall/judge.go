package recall

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

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
		r, l := &all[i], all[i].look
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
		s[byUses] = usefulness(r.text.Uses)
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
	backed(all)
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
	weights := weights()
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

// minSaying is how many memories that were found by words tell enough of their
// sessions.
const minSaying = 10

// byGroups tells how well the sessions and projects fit that the memories are of.
// A memory that was found for what it means says nothing of how well the words of
// its session fit, unless next to nothing else was found: every session has some
// that are alike.
func byGroups(a asked, all []ranked) {
	saying := 0
	for i := range all {
		saying += int(yes(!all[i].meant))
	}
	sessions, projects := newGroups(len(all), len(a.units)), newGroups(len(all), 0)
	for i := range all {
		if saying < minSaying || !all[i].meant {
			sessions.add(all[i].text.In.Session, &all[i])
		} else {
			sessions.of(all[i].text.In.Session)
		}
		projects.add(all[i].text.In.Project, &all[i])
	}
	sessions.compare(func(g *group) float64 { return g.together(a) })
	projects.compare((*group).best)
	several := 1e-9
	for _, g := range sessions.all {
		g.several = falling(g.alike, 1, 0.5, 0.25)
		several = max(several, g.several)
	}
	for i := range all {
		s := sessions.of(all[i].text.In.Session)
		all[i].signs[bySession] = s.share
		if all[i].text.In.Project == 0 {
			all[i].signs[bySeveral] = s.several / several
		}
		all[i].signs[byJoint] = min(sum(s.has)/max(a.weight, 1e-9), 1)
		all[i].signs[byProject] = projects.of(all[i].text.In.Project).share
	}
}

// maxBacked is how many of the best memories back each other.
const maxBacked = 20

// backed tells of the best memory of each session how much the others of the
// session vouch for it: a session that says several things of what was asked is
// rather meant than one that says one. Only the best one gains, so that a session
// does not push all it says before what others say. Each counts by what it is
// better than the last that is compared. What is of a project is not looked at:
// there a session is about many things.
func backed(all []ranked) {
	if len(all) < maxBacked {
		return
	}
	best := pointers(all)
	slices.SortStableFunc(best, func(x, y *ranked) int { return cmp.Compare(y.score, x.score) })
	first, least := map[int64]*ranked{}, best[maxBacked-1].score
	for _, r := range best[:maxBacked] {
		if r.text.In.Project != 0 || r.text.In.Session == 0 {
			continue
		}
		if of := first[r.text.In.Session]; of != nil {
			of.signs[byBacked] += r.score - least
		} else {
			first[r.text.In.Session] = r
		}
	}
	for _, r := range first {
		r.add()
	}
}

// groups are memories that belong together, by what they belong to. Those that
// belong to nothing are in a group that is empty.
type groups struct {
	all   map[int64]*group
	units int       // that are noted of a group
	room  []float64 // for them
}

// newGroups has room for as many groups as there are memories.
func newGroups(memories, units int) *groups {
	return &groups{all: make(map[int64]*group, memories), units: units, room: make([]float64, 2*memories*units)}
}

type group struct {
	scores []float64 // of the index
	alike  []float64 // byAlike of each
	has    []float64 // by unit, as in look, of all together
	often  []float64
	share  float64 // of the best group's score

	several float64 // what its best say
}

// of returns the group of what memories belong to, which may be new.
func (g *groups) of(id int64) *group {
	one := g.all[id]
	if one == nil {
		one = &group{has: g.room[:g.units], often: g.room[g.units : 2*g.units]}
		g.all[id], g.room = one, g.room[2*g.units:]
	}
	return one
}

func (g *groups) add(id int64, r *ranked) {
	one := g.of(id)
	if id == 0 {
		return
	}
	one.scores = append(one.scores, r.signs[byWords])
	one.alike = append(one.alike, r.signs[byAlike])
	for u := range one.has {
		one.has[u] = max(one.has[u], r.look.has[u])
		one.often[u] += r.look.often[u]
	}
}

// compare sets the share of each group.
func (g *groups) compare(score func(*group) float64) {
	best := 0.0
	for _, one := range g.all {
		one.share = score(one)
		best = max(best, one.share)
	}
	for _, one := range g.all {
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
func (g *group) best() float64 { return falling(g.scores, 1, 0.5, 0.3, 0.2, 0.1) }

// falling adds up the best values, each for its share; it sorts them.
func falling(values []float64, shares ...float64) float64 {
	slices.SortFunc(values, func(x, y float64) int { return cmp.Compare(y, x) })
	total := 0.0
	for i, share := range shares[:min(len(shares), len(values))] {
		total += share * values[i]
	}
	return total
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
			l := all[i].look
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
