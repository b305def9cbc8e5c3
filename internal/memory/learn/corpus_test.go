package learn

import (
	"os"
	"strings"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
)

// example is a block of the corpus.
type example struct {
	name   string
	lesson store.Lesson
	want   []string
}

func corpus(t testing.TB) []example {
	t.Helper()
	data, err := os.ReadFile("testdata/corpus.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []example
	var e *example
	var text *string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		name, begins := strings.CutPrefix(line, "== ")
		switch {
		case begins:
			out = append(out, example{name: name, lesson: store.Lesson{
				Row: int64(len(out) + 1), Agent: "codex", Session: "s", Project: "/work/shop", Person: true, At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
			}})
			e, text = &out[len(out)-1], nil
		case strings.HasPrefix(line, "  ") && text != nil:
			*text += "\n" + line[2:]
		case e == nil || line == "" || line[0] == '#' || strings.HasPrefix(line, "--"):
			text = nil
		default:
			text = e.line(t, line)
		}
	}
	for i := range out {
		out[i].lesson.Messages = parts(t, out[i].lesson.Messages)
	}
	return out
}

// line adds a line of a block, and returns the text that may go on.
func (e *example) line(t testing.TB, line string) *string {
	key, rest, ok := strings.Cut(line, ":")
	rest = strings.TrimSpace(rest)
	if !ok {
		t.Fatalf("%s: what is %q?", e.name, line)
	}
	m := ambry.Message{Text: rest}
	switch key {
	case "user":
		m.Role = ambry.User
	case "agent":
		m.Role = ambry.Assistant
	case "call":
		m.Role = ambry.Assistant
		m.ID = "call"
	case "want":
		e.want = append(e.want, rest)
		return nil
	default:
		t.Fatalf("%s: what is %q?", e.name, line)
	}
	e.lesson.Messages = append(e.lesson.Messages, m)
	return &e.lesson.Messages[len(e.lesson.Messages)-1].Text
}

// parts makes calls of the messages that stand for them.
func parts(t testing.TB, ms []ambry.Message) []ambry.Message {
	for i := range ms {
		if ms[i].ID != "call" {
			continue
		}
		head, output, ok := strings.Cut(ms[i].Text, " =>")
		f := strings.SplitN(head, " ", 3)
		if !ok || len(f) != 3 {
			t.Fatalf("what call is %q?", ms[i].Text)
		}
		c := ambry.ToolCall{Name: f[0], Input: f[2], Output: strings.TrimPrefix(output, " "), Done: f[1] != "open", Failed: f[1] == "fail"}
		if f[1] == "ok" && shells[strings.ToLower(f[0])] {
			c.ExitCode = new(0)
		}
		ms[i].Text, ms[i].Calls = "", []ambry.ToolCall{c}
	}
	return ms
}

// shown are the claims that are memories by themselves, as the corpus names them.
func shown(l store.Lesson) []string {
	var out []string
	for _, c := range Claims(l) {
		if !c.Ends && c.Need <= 1 {
			out = append(out, string(c.Rule)+": "+c.Title)
		}
	}
	return out
}

func matches(got, want string) bool {
	rule, part, _ := strings.Cut(want, ":")
	return strings.HasPrefix(got, rule+": ") && strings.Contains(strings.ToLower(got), strings.ToLower(strings.TrimSpace(part)))
}

func TestTheCorpusTeachesWhatItShould(t *testing.T) {
	for _, e := range corpus(t) {
		t.Run(e.name, func(t *testing.T) {
			got := shown(e.lesson)
			for _, w := range e.want {
				found := false
				for _, g := range got {
					found = found || matches(g, w)
				}
				if !found {
					t.Errorf("did not learn %q, but %q", w, got)
				}
			}
			if len(got) > len(e.want) {
				t.Errorf("learned %q, want only %q", got, e.want)
			}
		})
	}
}
