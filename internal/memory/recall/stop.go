package recall

import "strings"

// stopWords carry no content in a question. They stay in the index, so that a
// query of nothing else still works.
var stopWords = func() map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(`
		a about after again all also am an and any are as at be because been before being between both but by can
		could did do does doing done down during each few find for from further get give go got had has have having
		he her here hers him his how i if in into is it its just let like make me more most my no nor not now of off
		on once only or other our out over own please same she should show so some such tell than that the their
		them then there these they this those through to too under until up us very was way we were what when where
		which while who whom why will with would you your
		ist das der die ein eine und oder wie was wo warum le la les un une des est et ou que qui el los las una es y`) {
		set[w] = true
	}
	return set
}()
