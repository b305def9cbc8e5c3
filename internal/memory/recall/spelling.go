package recall

import (
	"context"
	"unicode/utf8"
)

// A word that is in no memory is looked for under the spelling that comes
// nearest. The index is read from the beginning of the word on, which mistakes
// seldom touch; unless the memory is small from half of it, since reading costs
// as much as the words there are frequent.
const (
	smallMemory  = 1000 // memories
	minSpelled   = 6    // characters
	minTwoWrong  = 10   // in a word so long two may be wrong
	beginning    = 2    // bytes that must be right
	maxSpellings = 4000
	maxSpelled   = 4 // words of a question
	spelledRight = 0.5
)

// spell gives units that are in no memory the term that was meant, if there is
// one.
func (r *Recall) spell(ctx context.Context, a *asked, memories int64) error {
	tried := 0
	for i := range a.units {
		u := &a.units[i]
		if u.known > 0 || len(u.parts) > 0 || tried == maxSpelled || !misspelled(u.term) {
			continue
		}
		tried++
		term, err := r.nearest(ctx, u.term, memories)
		if err != nil {
			return err
		}
		if term == "" {
			continue
		}
		found, err := r.frequencies([]string{term}, memories)
		if err != nil {
			return err
		}
		if n := found[0]; n > 0 {
			a.weight -= u.weight
			u.term, u.known, u.weight = term, n, spelledRight*rarity(n, memories)
			a.weight += u.weight
		}
	}
	return nil
}

// misspelled reports whether a term that nobody knows may be a word with a
// mistake: letters only.
func misspelled(term string) bool {
	for i := range len(term) {
		if c := term[i]; c < utf8.RuneSelf && (c < 'a' || c > 'z') {
			return false
		}
	}
	r, _ := utf8.DecodeRuneInString(term)
	return r < 0x3000 && utf8.RuneCountInString(term) >= minSpelled
}

// nearest returns the term with the fewest mistakes, or none.
func (r *Recall) nearest(ctx context.Context, term string, memories int64) (string, error) {
	word := []rune(term)
	wrong := 1
	if len(word) >= minTwoWrong {
		wrong = 2
	}
	most := wrong
	near := func(other []byte) bool {
		n := utf8.RuneCount(other)
		return n >= len(word)-most && n <= len(word)+most && misspelled(string(other))
	}
	best := ""
	for _, begins := range beginnings(term, memories) {
		known, err := r.store.Spellings(ctx, begins, maxSpellings, near)
		if err != nil {
			return "", err
		}
		for _, k := range known {
			if d := mistakes(word, []rune(k), wrong); d <= wrong && d > 0 {
				if wrong, best = d-1, k; d == 1 {
					return best, nil
				}
			}
		}
	}
	return best, nil
}

// beginnings are those that a word may have: its own, and the one it would have
// if its second and third letters were swapped.
func beginnings(term string, memories int64) []string {
	if memories >= smallMemory {
		return []string{term[:len(term)/2]}
	}
	own := term[:beginning]
	if term[1] < utf8.RuneSelf && term[2] < utf8.RuneSelf && term[1] != term[2] {
		return []string{own, string([]byte{term[0], term[2]})}
	}
	return []string{own}
}

// mistakes counts how many characters are missing, too many, wrong or swapped
// with the next one (optimal string alignment), up to limit.
func mistakes(a, b []rune, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > limit {
			return limit + 1
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
