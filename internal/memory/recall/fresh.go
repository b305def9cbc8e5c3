package recall

import (
	"cmp"
	"slices"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/memory/when"
	"ambry.dev/ambry/internal/memory/words"
)

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
	best := pointers(all)
	slices.SortStableFunc(best, func(x, y *ranked) int { return cmp.Compare(y.score, x.score) })
	best = best[:min(len(best), maxReplaced)]
	slices.SortStableFunc(best, func(x, y *ranked) int { return x.text.CreatedAt.Compare(y.text.CreatedAt) })
	for i, newer := range best {
		changed, read := false, false // it is read for a change only if that can matter
		for _, old := range best[:i] {
			if !newer.replaces(a, old) || newer.signs[byAlike] < sameAnswer*old.signs[byAlike] {
				continue
			}
			if !read {
				changed, read = changes(newer.text), true
			}
			same := newer.signs[byAlike] >= sameState*old.signs[byAlike]
			if changed || a.tense == when.Present && same && !newer.look.asking {
				newer.signs[byFresh] = round(newer.signs[byFresh] + old.score - newer.score + 0.001)
				newer.add()
			}
		}
	}
}

// maxChange bounds how much of a message is read for signs of a change.
const maxChange = 600

// changes reports whether a person says in it that something is to be otherwise,
// or an edit put another value in the place of one.
func changes(t *store.Text) bool {
	rest := maxEdits
	for _, s := range t.Said {
		if s.Role == ambry.User && when.Changed(clip(s.Text, maxChange)) {
			return true
		}
		for _, c := range s.Calls {
			if revalues(c, &rest) {
				return true
			}
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
		r.text.In.Project == old.text.In.Project && (r.text.In.Project != 0 || r.text.In.Session == 0 && old.text.In.Session == 0) &&
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
