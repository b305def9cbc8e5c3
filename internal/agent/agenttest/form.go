package agenttest

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// form checks what holds of every item.
func (s suite) form(t *testing.T) {
	for _, src := range s.all(t) {
		read := int64(0)
		for item, err := range s.History.Read(t.Context(), src, agent.Mark{}) {
			if err != nil {
				t.Fatalf("%s: %v", src.Path, err)
			}
			read += item.Read
			s.item(t, src, item)
			if item.Next.Done && !item.Next.Covers(src) {
				t.Errorf("%s: the last mark does not cover the source", src.Path)
			}
		}
		if filepath.Ext(src.Path) == ".jsonl" && read != src.Size {
			t.Errorf("%s: %d bytes read of %d", src.Path, read, src.Size)
		}
	}
}

func (s suite) item(t *testing.T, src agent.Source, item agent.Item) {
	t.Helper()
	c := item.Conversation
	if len(c.Turns) == 0 && c.Session.ID == "" { // the last item of a database
		return
	}
	if err := c.Validate(); err != nil {
		t.Errorf("%s: %v", src.Path, err)
	}
	if c.Session.Agent != s.ID {
		t.Errorf("%s: a session of agent %q, not %q", src.Path, c.Session.Agent, s.ID)
	}
	if len(c.Session.Title) > agent.MaxTitle {
		t.Errorf("%s: a title of %d bytes", src.Path, len(c.Session.Title))
	}
	for _, at := range []time.Time{c.Session.StartedAt, c.Session.EndedAt} {
		utc(t, src.Path, at)
	}
	seen := map[key]bool{}
	for _, turn := range c.Turns {
		k := key{turn.ID, turn.Part}
		if seen[k] {
			t.Logf("%s: turn %s/%d is in the source twice", src.Path, turn.ID, turn.Part)
		}
		seen[k] = true
		s.turn(t, src, turn)
	}
}

func (s suite) turn(t *testing.T, src agent.Source, turn ambry.Turn) {
	t.Helper()
	name := s.rel(src.Path) + ", turn " + turn.ID
	if turn.Source.Path != src.Path {
		t.Errorf("%s: is said to come from %q", name, turn.Source.Path)
	}
	if turn.Source.Row == "" && (turn.Source.End <= turn.Source.Offset || turn.Source.End > src.Size && filepath.Ext(src.Path) == ".jsonl") {
		t.Errorf("%s: bytes %d to %d of %d", name, turn.Source.Offset, turn.Source.End, src.Size)
	}
	if len(turn.Messages) == 0 {
		t.Errorf("%s: is empty", name)
	}
	utc(t, name, turn.At)
	var sum ambry.Tokens
	ids, calls, last := map[string]bool{}, map[string]bool{}, int64(0)
	for _, m := range turn.Messages {
		if m.ID != "" && ids[m.ID] {
			t.Errorf("%s: message %s comes twice", name, m.ID)
		}
		ids[m.ID] = true
		if m.Offset < last {
			t.Errorf("%s: message %s stands before the one before it", name, m.ID)
		}
		last, sum = m.Offset, sum.Add(m.Tokens)
		message(t, name, m)
		for _, c := range m.Calls {
			if c.ID != "" && calls[c.ID] {
				t.Errorf("%s: call %s comes twice", name, c.ID)
			}
			calls[c.ID] = true
		}
	}
	if sum != turn.Tokens {
		t.Errorf("%s: %+v tokens, its messages have %+v", name, turn.Tokens, sum)
	}
}

func message(t *testing.T, name string, m ambry.Message) {
	t.Helper()
	const note = 64 // bytes that tell of a cut
	switch m.Role {
	case ambry.User, ambry.Assistant, ambry.System, ambry.Summary:
	default:
		t.Errorf("%s: a message of role %q", name, m.Role)
	}
	if len(m.Text) > agent.MaxText+note || !utf8.ValidString(m.Text) {
		t.Errorf("%s: a text of %d bytes, valid %v", name, len(m.Text), utf8.ValidString(m.Text))
	}
	if m.Tokens.Cached > m.Tokens.Input || m.Tokens.Cached < 0 || m.Tokens.Output < 0 {
		t.Errorf("%s: %+v tokens", name, m.Tokens)
	}
	utc(t, name, m.At)
	for _, c := range m.Calls {
		if len(c.Input) > agent.MaxInput+note || len(c.Output) > agent.MaxOutput+note || !utf8.ValidString(c.Input+c.Output) {
			t.Errorf("%s: call %s with %d bytes in, %d bytes out", name, c.ID, len(c.Input), len(c.Output))
		}
		utc(t, name, c.At)
	}
}

func utc(t *testing.T, name string, at time.Time) {
	t.Helper()
	if at.Location() != time.UTC {
		t.Errorf("%s: the time %v is not in UTC", name, at)
	}
}

// golden compares what is read with the files of a directory, one for a source.
func (s suite) golden(t *testing.T, dir string) {
	if *update {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	left, made := map[string]bool{}, map[string]bool{}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		left[file] = true
	}
	for _, src := range s.all(t) {
		file := filepath.Join(dir, strings.TrimSuffix(filepath.Base(src.Path), ".jsonl")+".json")
		if made[file] {
			t.Errorf("two sources are called %s; give them other names", filepath.Base(src.Path))
		}
		made[file] = true
		got := s.portrait(t, src)
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%v (-update makes it)", err)
			continue
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.rel(src.Path), diff)
		}
		delete(left, file)
	}
	for file := range left {
		t.Errorf("%s is of no source", file)
	}
}

// conversation is what a golden file shows of a session.
type conversation struct {
	Session ambry.Session `json:"session"`
	Turns   []ambry.Turn  `json:"turns"`
}

// portrait returns all that a source tells, as people can review it.
func (s suite) portrait(t *testing.T, src agent.Source) []byte {
	t.Helper()
	h := s.whole(t, src)
	var shown struct {
		*conversation `json:",omitempty"`
		Sessions      []conversation `json:"sessions,omitempty"`
		Skipped       int            `json:"skipped,omitempty"`
		Notes         []string       `json:"notes,omitempty"`
	}
	for _, c := range h.conversations() {
		for i := range c.Turns {
			c.Turns[i].Source.Path = "~/" + s.rel(c.Turns[i].Source.Path)
		}
		shown.Sessions = append(shown.Sessions, conversation{c.Session, c.Turns})
	}
	if len(shown.Sessions) == 1 {
		shown.conversation, shown.Sessions = &shown.Sessions[0], nil
	}
	shown.Skipped, shown.Notes = h.Skipped, h.Notes
	data, err := json.MarshalIndent(shown, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(data, '\n')
}

func (s suite) twice(t *testing.T) {
	for _, src := range s.all(t) {
		same(t, s.rel(src.Path), s.whole(t, src), s.whole(t, src))
	}
}
