package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

func (r *result) print(w io.Writer) {
	perQuestion := float64(r.took.Microseconds()) / 1000 / float64(max(len(r.found), 1))
	fmt.Fprintf(w, "%s: %d questions, %.1f ms each\n", r.set, len(r.found), perQuestion)
	fmt.Fprintf(w, "  %-26s %5s %6s %6s %6s %6s %6s %6s %6s\n", "", "n", "R@1", "R@5", "R@10", "hit@1", "hit@5", "nDCG", "MRR")
	for _, name := range r.groups {
		t := r.tally[name]
		fmt.Fprintf(w, "  %-26s %5d %6.1f %6.1f %6.1f %6.1f %6.1f %6.1f %6.1f", name, t.n, t.percent(t.r1), t.percent(t.r5), t.percent(t.r10),
			t.percent(t.hit1), t.percent(t.hit5), t.percent(t.ndcg10), t.percent(t.mrr))
		if t.stale > 0 {
			fmt.Fprintf(w, "  stale first %d of %d", t.outranked, t.stale)
		}
		fmt.Fprintln(w)
	}
	if r.wrong.whole > 0 {
		fmt.Fprintf(w, "  context injected: %d of %d without an answer (should be none), %d of %d with one\n",
			r.wrong.part, r.wrong.whole, r.right.part, r.right.whole)
	}
	fmt.Fprintln(w)
}

// printMisses shows what came before the evidence.
func (r *result) printMisses(w io.Writer) {
	for _, f := range r.found {
		q := f.question
		if len(q.want) == 0 {
			fmt.Fprintf(w, "  %s %s: %s\n", q.id, q.kind, q.query.Query)
			f.printHits(w, 1)
			continue
		}
		places, last := f.places()
		if last <= len(q.want) {
			continue
		}
		fmt.Fprintf(w, "  %s %s %s: %s\n", q.id, q.kind, q.lang, q.query.Query)
		fmt.Fprintf(w, "      wanted %s\n", strings.Join(places, ", "))
		f.printHits(w, 3)
	}
	fmt.Fprintln(w)
}

// places tells where each evidence stands, and the worst place.
func (f found) places() (texts []string, last int) {
	for _, id := range f.question.want {
		place := slices.Index(f.turns, id) + 1
		if place == 0 {
			texts, last = append(texts, id+" not found"), hitsOfTurns+1
			continue
		}
		texts, last = append(texts, fmt.Sprintf("%s at %d", id, place)), max(last, place)
	}
	return texts, last
}

func (f found) printHits(w io.Writer, n int) {
	for i, id := range f.turns[:min(n, len(f.turns))] {
		mark := ""
		switch {
		case slices.Contains(f.question.want, id):
			mark = "*"
		case slices.Contains(f.question.stale, id):
			mark = "stale "
		}
		fmt.Fprintf(w, "      %d %.3f %s%s %.90s\n", i+1, f.scores[i], mark, id, f.titles[i])
	}
}

// floor is a number that must be reached, in percent.
type floor struct {
	set, group, name string
	value            func(*tally) float64
	least            float64
	first, goal      float64 // what the first release must reach, and what we aim at
}

// floors are what the product must find without a model. They are raised when it
// finds more; LoCoMo's and BEAM's are over the questions that their makers count.
var floors = []floor{
	{"own", all, "R@10", recall10, 82, 85, 92},
	{"own", "zh", "R@10", recall10, 82, 85, 92},
	{"own", all, "fresh before stale", freshFirst, 100 - 300./7, 100 - 100./7, 100},
	{"locomo", all, "R@10", recall10, 72, 79, 86},
	{"locomo", all, "nDCG@10", func(t *tally) float64 { return t.percent(t.ndcg10) }, 55, 64, 70},
	{"locomo", all, "MRR", func(t *tally) float64 { return t.percent(t.mrr) }, 53, 63, 68},
	{"locomo", "sessions", "hit@1", func(t *tally) float64 { return t.percent(t.hit1) }, 76, 78, 85},
	{"locomo", "sessions", "hit@5", func(t *tally) float64 { return t.percent(t.hit5) }, 93.5, 94, 97},
	{"beam", all, "R@10", recall10, 48, 54, 60},
	{"cmrc", all, "R@1", func(t *tally) float64 { return t.percent(t.r1) }, 96, 97, 98},
}

func recall10(t *tally) float64 { return t.percent(t.r10) }

// freshFirst is the share of the updated facts whose old value did not come
// before the new one.
func freshFirst(t *tally) float64 {
	if t.stale == 0 {
		return 0
	}
	return 100 * float64(t.stale-t.outranked) / float64(t.stale)
}

// printFloors compares what was measured with the floors and returns how many
// numbers are below.
func printFloors(w io.Writer, results []*result) (low int) {
	fmt.Fprintf(w, "%-36s %8s %8s %8s %8s\n", "", "measured", "floor", "first", "goal")
	for _, f := range floors {
		i := slices.IndexFunc(results, func(r *result) bool { return r.set == f.set })
		if i < 0 || results[i].tally[f.group] == nil {
			continue
		}
		value, mark := f.value(results[i].tally[f.group]), ""
		if value < f.least {
			low++
			mark = "  below the floor"
		}
		fmt.Fprintf(w, "%-36s %8.1f %8.1f %8.1f %8.1f%s\n", f.set+" "+f.group+", "+f.name, value, f.least, f.first, f.goal, mark)
	}
	return low
}
