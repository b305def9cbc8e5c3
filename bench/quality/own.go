package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"ambry.dev/ambry"
)

// The invented sessions, a file for each project with the questions to it. The
// format is told in README.md.
//
//go:embed data/*.yaml
var data embed.FS

// The halves of our own set. Weights are chosen on one and reported on the
// other; a project is in one of them whole.
const (
	fit   = "fit"
	judge = "judge"
)

// asked is when the questions of our own set are asked: a Wednesday.
var asked = time.Date(2026, 6, 17, 16, 0, 0, 0, time.UTC)

// project is a file of our own set.
type project struct {
	Name      string        `yaml:"project"`
	About     string        `yaml:"about"`
	Cwd       string        `yaml:"cwd"`
	Half      string        `yaml:"half"`
	Sessions  []ownSession  `yaml:"sessions"`
	Questions []ownQuestion `yaml:"questions"`
}

type ownSession struct {
	ID     string    `yaml:"id"`
	Agent  string    `yaml:"agent"`
	Lang   string    `yaml:"lang"`
	At     string    `yaml:"at"`
	Branch string    `yaml:"branch"`
	Title  string    `yaml:"title"`
	Talk   []ownStep `yaml:"talk"`
}

// ownStep is one thing that is said or done; one of the first five is set. Each
// User begins a turn.
type ownStep struct {
	User string `yaml:"user"`
	Say  string `yaml:"say"`
	Run  string `yaml:"run"`
	Read string `yaml:"read"`
	Edit string `yaml:"edit"`
	Out  string `yaml:"out"`
	Exit int    `yaml:"exit"`
}

type ownQuestion struct {
	ID    string   `yaml:"id"`
	Kind  string   `yaml:"kind"`
	Lang  string   `yaml:"lang"`
	Ask   string   `yaml:"ask"`
	Want  []string `yaml:"want"`
	Stale []string `yaml:"stale"`
	Only  struct {
		Project string `yaml:"project"`
		Agent   string `yaml:"agent"`
	} `yaml:"only"`
}

func readProjects() ([]project, error) {
	names, err := fs.Glob(data, "data/*.yaml")
	if err != nil {
		return nil, err
	}
	var all []project
	for _, name := range names {
		text, err := data.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var p project
		if err := yaml.UnmarshalWithOptions(text, &p, yaml.Strict()); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, p)
	}
	return all, nil
}

// loadOwn makes one memory of all projects: what is asked about one must not be
// found in another.
func loadOwn(o options) ([]corpus, error) {
	projects, err := readProjects()
	if err != nil {
		return nil, err
	}
	c := corpus{name: "own", now: asked}
	for _, p := range projects {
		for _, s := range p.Sessions {
			conversation, err := s.conversation(p)
			if err != nil {
				return nil, fmt.Errorf("session %s: %w", s.ID, err)
			}
			c.sessions = append(c.sessions, conversation)
		}
		if o.half != "" && p.Half != o.half {
			continue
		}
		for _, q := range p.Questions {
			c.questions = append(c.questions, q.question(p))
		}
	}
	return []corpus{c}, nil
}

func (q ownQuestion) question(p project) question {
	query := ambry.Query{Query: q.Ask, Project: q.Only.Project}
	if q.Only.Agent != "" {
		query.Agents = []string{q.Only.Agent}
	}
	return question{id: q.ID, kind: q.Kind, lang: q.Lang, half: p.Half, query: query, want: q.Want, stale: q.Stale}
}

// conversation is the session as an agent's history would give it: seven
// minutes a turn.
func (s ownSession) conversation(p project) (ambry.Conversation, error) {
	at, err := time.Parse("2006-01-02 15:04", s.At)
	if err != nil {
		return ambry.Conversation{}, err
	}
	c := ambry.Conversation{Session: ambry.Session{
		ID: s.ID, Agent: s.Agent, Title: s.Title, Cwd: p.Cwd, Project: p.Cwd, Branch: s.Branch, StartedAt: at,
	}}
	for i, step := range s.Talk {
		if step.User != "" {
			begun := at.Add(time.Duration(len(c.Turns)) * 7 * time.Minute)
			id := fmt.Sprintf("%s.%d", s.ID, len(c.Turns)+1)
			turn := utterance(id, ambry.User, begun, strings.TrimSpace(step.User), i+1)
			turn.Cwd, turn.Branch, turn.Source.Path = p.Cwd, s.Branch, s.ID+".jsonl"
			c.Turns = append(c.Turns, turn)
			c.Session.EndedAt = begun
			continue
		}
		if len(c.Turns) == 0 {
			return ambry.Conversation{}, fmt.Errorf("step %d is before the first request", i+1)
		}
		follow(&c.Turns[len(c.Turns)-1], step, i+1, s.Agent, p.Cwd)
	}
	return c, nil
}

// follow adds an answer or the use of a tool to a turn. A tool that is used
// right after something was said belongs to that message.
func follow(t *ambry.Turn, step ownStep, line int, agent, cwd string) {
	if step.Say != "" {
		t.Messages = append(t.Messages, message(ambry.Assistant, line, t.At))
		t.Messages[len(t.Messages)-1].Text = strings.TrimSpace(step.Say)
		return
	}
	if t.Messages[len(t.Messages)-1].Role != ambry.Assistant {
		t.Messages = append(t.Messages, message(ambry.Assistant, line, t.At))
	}
	m := &t.Messages[len(t.Messages)-1]
	name, input := step.call(agent, cwd)
	call := ambry.ToolCall{
		ID: fmt.Sprint(line), Name: name, Input: input, Output: strings.TrimRight(step.Out, "\n"),
		Done: true, Failed: step.Exit != 0, At: m.At,
	}
	if step.Run != "" {
		call.ExitCode = &step.Exit
	}
	m.Calls = append(m.Calls, call)
}

func message(role ambry.Role, line int, begun time.Time) ambry.Message {
	return ambry.Message{ID: fmt.Sprint(line), Role: role, Line: line, At: begun.Add(time.Duration(line) * time.Second)}
}

// call returns the tool and its arguments as the agent writes them.
func (s ownStep) call(agent, cwd string) (name, input string) {
	codex := agent == "codex"
	switch {
	case s.Run != "" && codex:
		return "shell", arguments(map[string]any{"command": []string{"bash", "-lc", s.Run}, "workdir": cwd})
	case s.Run != "":
		return "Bash", arguments(map[string]any{"command": s.Run})
	case s.Read != "":
		return "Read", arguments(map[string]any{"file_path": cwd + "/" + s.Read})
	case codex:
		return "apply_patch", arguments(map[string]any{"path": s.Edit})
	}
	return "Edit", arguments(map[string]any{"file_path": cwd + "/" + s.Edit})
}

func arguments(fields map[string]any) string {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(fields) // strings can always be encoded
	return strings.TrimSpace(out.String())
}
