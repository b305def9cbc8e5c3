package claudecode_test

import (
	"fmt"
	"strings"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent/agenttest"
	"ambry.dev/ambry/internal/agent/claudecode"
)

// longTurn is a turn of many calls that needs several parts, with everything
// that can be at the seam of two parts.
func longTurn() string {
	var b strings.Builder
	b.WriteString(prompt("u1", clock(10, 0, 0), "Write the chapters."))
	for i := range 14 {
		message, call := fmt.Sprint("m", i), fmt.Sprint("t", i)
		b.WriteString(reply(fmt.Sprint("a", i), clock(10, i, 1), message, says(strings.Repeat("about errors ", 700+90*i)), [3]int{5, 1000 + i, 1}))
		b.WriteString(reply(fmt.Sprint("b", i), clock(10, i, 2), message, calls(call, "Write"), [3]int{5, 1000 + i, 900 + i}))
		b.WriteString(prompt(fmt.Sprint("r", i), clock(10, i, 3), append(results(call, strings.Repeat("written ", 900)), says("fine"))))
		b.WriteString(prompt(fmt.Sprint("h", i), clock(10, i, 4), "<system-reminder>"+strings.Repeat("go on ", 500)+"</system-reminder>", "isMeta", true))
		if i%5 == 4 {
			words := map[int]int{4: 7000, 9: 7}[i] // more than a part holds, and less
			b.WriteString(strings.TrimSuffix(reply(fmt.Sprint("c", i), clock(10, i, 5), fmt.Sprint("n", i), says("So far."), [3]int{1, 0, 1}), "\n"))
			b.WriteString(strings.TrimSuffix(prompt(fmt.Sprint("g", i), clock(10, i, 5), "Be brief.", "isMeta", true), "\n"))
			b.WriteString(prompt(fmt.Sprint("u", i), clock(10, i, 6), strings.Repeat("and then? ", words)+"<system-reminder>x</system-reminder>"))
		}
	}
	return b.String()
}

func TestLongTurns(t *testing.T) {
	home := write(t, map[string]string{first: longTurn()})
	a := read(t, home)
	parts, want := 0, ambry.Tokens{Input: 14*1005 + 91 + 2, Cached: 14*1000 + 91, Output: 14*900 + 91 + 2}
	for _, turn := range a.turns {
		if turn.Part > 0 {
			parts++
		}
	}
	if parts < 3 {
		t.Errorf("%d further parts: the turns are too short for this test", parts)
	}
	if got := a.tokens(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	agenttest.RunMade(t, claudecode.Agent(), home.Dir)
}
