//go:build agents

package agents

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ambry.dev/ambry"
)

// fact is what one agent is told and the next one is asked for.
type fact struct{ tell, ask, word string }

func factOf(c cli) fact {
	word := "zephyr" + c.name
	return fact{
		tell: fmt.Sprintf("Please remember for later: the staging host of the %s billing importer is called %s.", c.name, word),
		ask:  fmt.Sprintf("What is the staging host of the %s billing importer called?", c.name),
		word: word,
	}
}

// TestAgents goes through a person's day with all the agents that are installed:
// each is connected, told a fact, and asked for the fact that the one before it
// was told.
func TestAgents(t *testing.T) {
	var installed []cli
	for _, c := range clis {
		if _, err := exec.LookPath(c.name); err == nil {
			installed = append(installed, c)
			continue
		}
		t.Run(c.name, func(t *testing.T) { t.Skip("is not installed; see scripts/agents.sh for why it may not be") })
	}
	if len(installed) < 2 {
		t.Fatalf("only %d agents are installed; see make e2e-agents", len(installed))
	}
	w := newWorld(t)
	for _, c := range installed {
		c.prepare(w)
	}
	for i, c := range installed {
		before := installed[(i+len(installed)-1)%len(installed)]
		t.Run(c.name, func(t *testing.T) {
			at := w.at(t)
			defer at.dump(t)
			if !at.knows(factOf(before).word) {
				at.add(factOf(before)) // nobody was told of it yet
			}
			at.day(c, factOf(before))
		})
	}
}

// dump keeps what the model was asked last, if the test failed and -artifacts is
// given.
func (w *world) dump(t *testing.T) {
	if !t.Failed() {
		return
	}
	var all strings.Builder
	for _, r := range w.model.Requests() {
		fmt.Fprintf(&all, "%s\n%s\n\n", r.Path, r.Body)
	}
	if err := os.WriteFile(filepath.Join(t.ArtifactDir(), fmt.Sprintf("requests-%d.txt", len(all.String()))), []byte(all.String()), 0o600); err != nil {
		t.Error(err)
	}
}

// at is the world in another test.
func (w *world) at(t *testing.T) *world {
	other := *w
	other.t = t
	return &other
}

func (w *world) knows(word string) bool {
	a, err := w.memory.Search(w.t.Context(), ambry.Query{Query: word})
	return err == nil && len(a.Hits) > 0
}

func (w *world) add(f fact) {
	w.t.Helper()
	if _, err := w.memory.Add(w.t.Context(), ambry.Note{Content: f.tell, Project: w.project}, ""); err != nil {
		w.t.Fatal(err)
	}
}

// day is what a person does with one agent.
func (w *world) day(c cli, earlier fact) {
	clean := w.files(c.dirs...)
	w.must(w.command(program, "connect", c.agent, "--allow"))
	if maps.Equal(w.files(c.dirs...), clean) {
		w.t.Error("connecting changed nothing")
	}
	w.must(w.command(program, "disconnect", c.agent))
	w.same("connected and disconnected", clean, w.files(c.dirs...))
	w.must(w.command(program, "connect", c.agent))

	w.servers(c)
	own := factOf(c)
	if c.end != nil {
		defer func() { w.must(c.end(w)) }()
	}

	w.model.Forget()
	w.must(c.ask(w, own.tell))
	if !w.model.Saw(own.word) {
		w.t.Fatal("the model was not asked; the test sees nothing")
	}
	if c.keeps {
		w.until("what the agent was told is in the memory", func() bool { return w.knows(own.word) })
	}

	w.model.Forget()
	w.must(c.ask(w, earlier.ask))
	injected := w.model.Saw(earlier.word) && w.model.Saw("recalled_history") // some write < in other ways
	if injected != c.injects {
		breaker, _ := os.ReadFile(filepath.Join(w.home, ".ambry", "hooks", "breaker.json"))
		w.t.Logf("breaker: %s", breaker)
		w.t.Errorf("with the prompt, what another agent was told reached the model: %v, want %v", injected, c.injects)
		w.dump(w.t)
	}

	if c.calls {
		w.model.Forget()
		w.must(c.ask(w, `Please call tool memory_search with {"query":"`+earlier.word+`"}`))
		if !w.model.Saw("past conversations") || !w.model.Saw("searchEventId") && !w.model.Saw("untrusted history") || !w.model.Saw("staging host") {
			w.t.Error("the tool was not called, or did not answer")
		}
	}

	if c.keeps {
		w.once(own, c)
	}
	w.must(w.command(program, "disconnect", c.agent))
	for path, text := range w.files(c.dirs...) {
		if strings.Contains(text, program) && !records.MatchString(path) {
			w.t.Errorf("%s still names us", path)
		}
	}
}

// records are what agents write of what happened.
var records = regexp.MustCompile(`/(projects|sessions|backups|tmp|log|logs|cache|history|debug)/|\.jsonl$|\.sqlite|\.db|\.orig$`)

// once checks that the turn is in the memory once, though the agent told of it
// and its log does too.
func (w *world) once(f fact, c cli) {
	w.t.Helper()
	if done, err := w.scan(); err != nil || !done.Succeeded {
		w.t.Fatalf("scan: %+v, %v", done, err)
	}
	a, err := w.memory.Search(w.t.Context(), ambry.Query{Query: f.word, Agents: []string{c.agent}, Limit: 50})
	if err != nil {
		w.t.Fatal(err)
	}
	told := 0
	for _, h := range a.Hits {
		if strings.Contains(h.Title, "Please remember for later") {
			told++
		}
	}
	if told != 1 {
		w.t.Errorf("the turn is there %d times: %+v", told, a.Hits)
	}
}

func (w *world) scan() (ambry.ScanCompletion, error) {
	started, err := w.memory.Scan(w.t.Context(), ambry.ScanRequest{Mode: ambry.Incremental})
	if err != nil {
		return ambry.ScanCompletion{}, err
	}
	return w.memory.WaitScan(w.t.Context(), started.JobID, func(ambry.ScanProgress) {})
}

// servers checks that the agent itself says that our MCP server is connected.
func (w *world) servers(c cli) {
	w.t.Helper()
	if c.servers == nil {
		return
	}
	out := w.must(w.with(w.command(c.name, c.servers...)))
	for line := range strings.Lines(out) {
		if strings.Contains(line, c.connected) {
			w.t.Logf("%s: %s", c.name, strings.TrimSpace(line))
			if strings.Contains(line, "✗") || strings.Contains(strings.ToLower(line), "fail") || strings.Contains(strings.ToLower(line), "disconnected") {
				w.t.Error("our server is not connected")
			}
			return
		}
	}
	w.t.Errorf("our server is not listed:\n%s", out)
}

// same compares the files of an agent.
func (w *world) same(what string, want, got map[string]string) {
	w.t.Helper()
	for path, text := range want {
		if now, ok := got[path]; !ok || now != text {
			w.t.Errorf("%s: %s is not as it was:\n%s\nwas\n%s", what, path, now, text)
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			w.t.Errorf("%s: %s is new", what, path)
		}
	}
}
