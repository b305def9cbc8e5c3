package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ambry.dev/ambry"
)

// A corpus is text files of invented sessions. A session begins with "== id agent
// project date", the project with "sub:" before it for a sub-agent. Each line then
// is "U: " what the person says (which begins a turn), "A: " what the agent says,
// "$ " a command, "< " a line it printed, "!" its exit code, "R: " a file that is
// read, "E: " one that is changed. "+rule words" says that the turn holds something
// to be learned by that rule, in which these words stand; "-task words" that the
// turn ends such a task. Lines with "#" are remarks.

// planted is something to be learned, or a task that was done.
type planted struct {
	session, words string
	rule           ambry.Rule
	done           bool
}

func (p planted) String() string { return p.session + " " + string(p.rule) + ": " + p.words }

// everything reads all files of a corpus.
func everything(dir string) ([]ambry.Conversation, []planted, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, nil, err
	}
	var r reader
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, nil, err
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			if err := r.line(strings.TrimRight(line, "\n")); err != nil {
				return nil, nil, fmt.Errorf("%s:%d: %w", filepath.Base(file), n, err)
			}
		}
	}
	if len(r.sessions) == 0 {
		return nil, nil, fmt.Errorf("%s holds no sessions", dir)
	}
	slices.SortStableFunc(r.sessions, func(a, b ambry.Conversation) int { return a.Session.StartedAt.Compare(b.Session.StartedAt) })
	return r.sessions, r.planted, nil
}

// reader is what was read of a corpus.
type reader struct {
	sessions []ambry.Conversation
	planted  []planted
	lines    int
}

var errPlace = errors.New("a line that does not belong here")

func (r *reader) line(line string) error {
	r.lines++
	if head, ok := strings.CutPrefix(line, "== "); ok {
		return r.begin(strings.Fields(head))
	}
	if line == "" || line[0] == '#' {
		return nil
	}
	if len(r.sessions) == 0 {
		return errPlace
	}
	c := &r.sessions[len(r.sessions)-1]
	if said, ok := strings.CutPrefix(line, "U: "); ok {
		at := c.Session.StartedAt.Add(time.Duration(len(c.Turns)) * 7 * time.Minute)
		c.Session.EndedAt = at
		c.Turns = append(c.Turns, ambry.Turn{
			ID: fmt.Sprintf("%s.%d", c.Session.ID, len(c.Turns)+1), At: at, Cwd: c.Session.Cwd,
			Messages: []ambry.Message{{ID: strconv.Itoa(r.lines), Role: ambry.User, Text: said, At: at}},
		})
		return nil
	}
	if len(c.Turns) == 0 {
		return errPlace
	}
	if line[0] == '+' || line[0] == '-' {
		rule, words, ok := strings.Cut(line[1:], " ")
		if !ok || !slices.Contains(ambry.Rules, ambry.Rule(rule)) {
			return fmt.Errorf("what rule is %q?", rule)
		}
		r.planted = append(r.planted, planted{c.Session.ID, strings.ToLower(words), ambry.Rule(rule), line[0] == '-'})
		return nil
	}
	return follow(&c.Turns[len(c.Turns)-1], c.Session, r.lines, line)
}

func (r *reader) begin(head []string) error {
	if len(head) != 4 {
		return errPlace
	}
	at, err := time.Parse(time.DateOnly, head[3])
	if err != nil {
		return err
	}
	project, sub := strings.CutPrefix(head[2], "sub:")
	s := ambry.Session{ID: head[0], Agent: head[1], Cwd: "/home/ada/" + project, Project: "/home/ada/" + project, StartedAt: at.Add(9 * time.Hour), Relation: ambry.Root}
	if sub {
		s.Relation, s.Background = ambry.Subagent, true
	}
	r.sessions = append(r.sessions, ambry.Conversation{Session: s})
	return nil
}

// follow adds what the agent says or does to a turn.
func follow(t *ambry.Turn, s ambry.Session, nth int, line string) error {
	last := &t.Messages[len(t.Messages)-1]
	if output, ok := strings.CutPrefix(line, "<"); ok && len(last.Calls) > 0 {
		c := &last.Calls[len(last.Calls)-1]
		c.Output += strings.TrimPrefix(output, " ") + "\n"
		return nil
	}
	if code, ok := strings.CutPrefix(line, "!"); ok && len(last.Calls) > 0 {
		n, err := strconv.Atoi(code)
		c := &last.Calls[len(last.Calls)-1]
		c.ExitCode, c.Failed = &n, true
		return err
	}
	m := ambry.Message{ID: strconv.Itoa(nth), Role: ambry.Assistant, At: t.At.Add(time.Duration(nth) * time.Millisecond)}
	kind, rest, _ := strings.Cut(line, " ")
	call := ambry.ToolCall{ID: m.ID, Done: true, At: m.At}
	codex := s.Agent == "codex"
	switch kind {
	case "A:":
		m.Text = rest
		t.Messages = append(t.Messages, m)
		return nil
	case "$":
		call.ExitCode, call.Name, call.Input = new(0), "Bash", arguments("command", rest)
		if codex {
			call.Name, call.Input = "shell", arguments("command", []string{"bash", "-lc", rest})
		}
	case "R:":
		call.Name, call.Input = "Read", arguments("file_path", s.Cwd+"/"+rest)
	case "E:":
		call.Name, call.Input = "Edit", arguments("file_path", s.Cwd+"/"+rest)
		if codex {
			call.Name, call.Input = "apply_patch", arguments("path", rest)
		}
	default:
		return errPlace
	}
	m.Calls = []ambry.ToolCall{call}
	t.Messages = append(t.Messages, m)
	return nil
}

func arguments(name string, value any) string {
	text, _ := json.Marshal(map[string]any{name: value}) // strings can always be written
	return string(text)
}

// hits counts what was found of what was planted.
type hits struct {
	planted, found, elsewhere int
	missed                    []planted
}

// recalled compares what was learned with what was planted: by its rule, or only
// by another one.
func recalled(plants []planted, rows []row) map[string]*hits {
	out := map[string]*hits{}
	for _, p := range plants {
		name := string(p.rule)
		if p.done {
			name += " done"
		}
		h := cmp.Or(out[name], &hits{})
		out[name] = h
		h.planted++
		found, elsewhere := p.in(rows)
		switch {
		case found:
			h.found++
		case elsewhere:
			h.elsewhere++
			h.missed = append(h.missed, p)
		default:
			h.missed = append(h.missed, p)
		}
	}
	return out
}

// in reports whether something planted is among what was learned; of a task that
// was done, whether it is known to be.
func (p planted) in(rows []row) (found, elsewhere bool) {
	for _, r := range rows {
		if !strings.Contains(strings.ToLower(r.title+" "+r.body), p.words) {
			continue
		}
		switch {
		case p.done:
			found = found || r.rule == p.rule && r.ended
		case slices.Contains(r.sessions, p.session):
			found = found || r.rule == p.rule
			elsewhere = true
		}
	}
	return found, elsewhere && !found
}
