package hook_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/agent/all"
)

var installed = regexp.MustCompile(`hook (\w+) (\w+)`)

func TestEachHookThatIsInstalledIsAnswered(t *testing.T) {
	w := newWorld(t)
	events := 0
	for _, a := range all.Agents() {
		if a.Lesson.Hooks == nil {
			continue
		}
		teaching := agent.Teaching{Home: agent.Home{Dir: t.TempDir(), OS: "linux", Getenv: func(string) string { return "" }}, Program: "/bin/ambry"}
		for _, edit := range a.Lesson.Hooks(teaching) {
			for _, m := range installed.FindAllStringSubmatch(fmt.Sprint(edit), -1) {
				events++
				w.silent(m[1], m[2], "{}")
				if m[1] != a.ID || len(w.reason) > 0 && (strings.HasPrefix(w.reason[0], "no agent") || strings.HasPrefix(w.reason[0], "nothing is done")) {
					t.Errorf("%s: %s: %v", a.ID, m[0], w.reason)
				}
			}
		}
	}
	if events < 20 {
		t.Errorf("only %d hooks were found; the test sees too little", events)
	}
}
