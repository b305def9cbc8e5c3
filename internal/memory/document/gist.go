package document

import "strings"

const (
	gistTerms = 40  // that each neighbour lends
	shortTurn = 150 // terms of a turn that takes them
)

// Gist is what a turn means to its neighbours, with which a short one is indexed.
type Gist struct {
	Terms string // what it lends, each term with a space after it
	Short bool   // it takes from them
}

// Gist returns what a turn with these terms lends and takes.
func (s Terms) Gist() Gist {
	lead, n := opening(s.Lead, gistTerms)
	rest, _ := opening(s.Rest, gistTerms-n)
	_, m := opening(s.Lead, shortTurn+1)
	_, o := opening(s.Rest, shortTurn+1)
	return Gist{Terms: lead + rest, Short: m+o <= shortTurn}
}

// opening returns the first terms of a column, at most limit, and how many.
func opening(column string, limit int) (string, int) {
	end := 0
	for n := range limit {
		i := strings.IndexByte(column[end:], ' ')
		if i < 0 {
			return column[:end], n
		}
		end += i + 1
	}
	return column[:end], limit
}
