package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
)

// toyState is what the toy parser remembers.
type toyState struct {
	Turn string
	Said int
}

// toy is an agent whose records say what they are: {"session":"s","title":"x"},
// {"begin":"t","copy":true}, {"end":true}, {"say":"text","call":"c"}, {"result":"c","out":"y"}.
// One record may do all of it, in the order result, begin, say.
var toy = agent.Files[toyState]{
	Dirs:  func(h agent.Home) []string { return []string{filepath.Join(h.Dir, "a"), filepath.Join(h.Dir, "b")} },
	Match: func(rel string) bool { return strings.HasSuffix(rel, ".jsonl") || strings.HasSuffix(rel, ".json") },
	Whole: func(path string) bool { return strings.HasSuffix(path, ".json") },
	Start: func(src agent.Source, b *agent.Builder) toyState {
		b.Session.ID = strings.TrimSuffix(filepath.Base(src.Path), ".jsonl")
		b.Session.Agent = "toy"
		return toyState{}
	},
	Parse: parseToy,
}

func parseToy(s *toyState, v agent.Value, b *agent.Builder) {
	for e := range v.List() {
		parseToy(s, e, b)
	}
	if title := v.Text("title"); title != "" {
		b.Session.Title = title
	}
	if id := v.Text("result"); id != "" {
		b.Result(ambry.ToolCall{ID: id, Output: v.Text("out")})
	}
	if id := v.Text("begin"); id != "" {
		s.Turn, s.Said = id, 0
		b.Begin(ambry.Turn{ID: id, Cwd: v.Text("cwd")})
		if v.Bool("copy") {
			b.Withhold()
		}
	}
	if v.Bool("end") {
		b.Vouch()
	}
	if v.Get("say").Exists() {
		s.Said++
		m := ambry.Message{ID: fmt.Sprint(s.Said), Role: ambry.User, Text: v.Text("say"), Tokens: ambry.Tokens{Output: 1}}
		if id := v.Text("call"); id != "" {
			m.Calls = []ambry.ToolCall{{ID: id, Name: "tool"}}
		}
		b.Turn(s.Turn).Branch = "main"
		b.Add(m)
	}
}

// write makes a file below dir, and its directories.
func write(t *testing.T, dir, rel, text string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(rel))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// source describes the file at path as Sources does.
func source(t *testing.T, path string) agent.Source {
	t.Helper()
	h := agent.Home{Dir: filepath.Dir(filepath.Dir(path))}
	src, ok := toy.Locate(h, path)
	if !ok {
		t.Fatalf("%s is no source", path)
	}
	return src
}

// read returns the items that follow a mark, which has been stored meanwhile.
func read(t *testing.T, h agent.History, src agent.Source, from agent.Mark) []agent.Item {
	t.Helper()
	data, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	var stored agent.Mark
	if err := json.Unmarshal(data, &stored); err != nil {
		t.Fatal(err)
	}
	var items []agent.Item
	for item, err := range h.Read(t.Context(), src, stored) {
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, item)
	}
	if len(items) == 0 || !items[len(items)-1].Next.Done {
		t.Fatalf("%d items, and the last is not done", len(items))
	}
	return items
}

// told are turns by id and part, as a store keeps them.
type told map[string]ambry.Turn

func (all told) add(items ...agent.Item) told {
	for _, item := range items {
		for _, turn := range item.Conversation.Turns {
			all[fmt.Sprintf("%s/%d", turn.ID, turn.Part)] = turn
		}
	}
	return all
}

// texts tells a reading as "id/part: text | text".
func texts(items []agent.Item) (all []string) {
	for _, item := range items {
		for _, turn := range item.Conversation.Turns {
			var said []string
			for _, m := range turn.Messages {
				for _, c := range m.Calls {
					m.Text += "(" + c.ID + ":" + c.Output + ")"
				}
				said = append(said, m.Text)
			}
			all = append(all, fmt.Sprintf("%s/%d: %s", turn.ID, turn.Part, strings.Join(said, " | ")))
		}
	}
	return all
}

func TestSourcesAreInOrderAndOnce(t *testing.T) {
	home, outside := t.TempDir(), t.TempDir()
	write(t, home, "b/z.jsonl", "")
	write(t, home, "a/2/x.jsonl", "1")
	write(t, home, "a/1/y.jsonl", "22")
	write(t, home, "a/1/notes.txt", "")
	write(t, home, "a/1/.tmp-y.jsonl.lock", "")
	write(t, outside, "linked.jsonl", "")
	for link, to := range map[string]string{
		"a/3":          outside,
		"a/4":          outside,        // the same directory again
		"a/2/up":       home + "/a",    // a loop
		"a/dead.jsonl": home + "/gone", // to nowhere
		"b/file.jsonl": home + "/b/z.jsonl",
	} {
		if err := os.Symlink(to, filepath.Join(home, link)); err != nil {
			t.Skip("this system makes no links: ", err)
		}
	}
	for range 2 {
		var got []string
		for src, err := range toy.Sources(t.Context(), agent.Home{Dir: home}) {
			if err != nil {
				t.Fatal(err)
			}
			rel, _ := filepath.Rel(home, src.Path)
			got = append(got, fmt.Sprintf("%s %d", filepath.ToSlash(rel), src.Size))
			if src.FileID == "" || src.ModTime.IsZero() {
				t.Errorf("%s has no identity", rel)
			}
		}
		want := []string{"a/1/y.jsonl 2", "a/2/x.jsonl 1", "a/3/linked.jsonl 0", "b/file.jsonl 0", "b/z.jsonl 0"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestOneBadPlaceDoesNotHideTheRest(t *testing.T) {
	home := t.TempDir()
	write(t, home, "a/1.jsonl", "")
	write(t, home, "b/2.jsonl", "")
	if err := os.Symlink("self.jsonl", filepath.Join(home, "a", "self.jsonl")); err != nil {
		t.Skip("this system makes no links: ", err)
	}
	found, failed := 0, 0
	for src, err := range toy.Sources(t.Context(), agent.Home{Dir: home}) {
		if err == nil {
			found++
		} else if failed++; src.Path == "" {
			t.Errorf("nobody knows what %v is about", err)
		}
	}
	if found != 2 || failed != 1 {
		t.Errorf("%d sources and %d errors", found, failed)
	}
}

func TestNoHistoryIsNoError(t *testing.T) {
	for src, err := range toy.Sources(t.Context(), agent.Home{Dir: filepath.Join(t.TempDir(), "none")}) {
		t.Errorf("found %v, %v", src, err)
	}
}

func TestTheWalkStops(t *testing.T) {
	home := t.TempDir()
	for i := range 5 {
		write(t, home, fmt.Sprintf("a/%d.jsonl", i), "")
	}
	n := 0
	for range toy.Sources(t.Context(), agent.Home{Dir: home}) {
		if n++; n == 2 {
			break
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range toy.Sources(ctx, agent.Home{Dir: home}) {
		n++
		cancel()
	}
	if n != 3 {
		t.Errorf("%d sources, want 2 and 1", n)
	}
}

func TestLocate(t *testing.T) {
	home := t.TempDir()
	path := write(t, home, "a/1/x.jsonl", "1")
	write(t, home, "a/x.txt", "")
	write(t, home, "c/x.jsonl", "")
	h := agent.Home{Dir: home}
	if src, ok := toy.Locate(h, path); !ok || src.Size != 1 || src.FileID == "" {
		t.Errorf("got %+v, %v", src, ok)
	}
	for _, rel := range []string{"a/x.txt", "c/x.jsonl", "a/gone.jsonl", "a", "a/../c/x.jsonl"} {
		if src, ok := toy.Locate(h, filepath.Join(home, filepath.FromSlash(rel))); ok {
			t.Errorf("%s: got %+v", rel, src)
		}
	}
}

func TestNewest(t *testing.T) {
	now := time.Now()
	sources := []agent.Source{{Path: "b", ModTime: now.Add(-1)}, {Path: "a", ModTime: now}, {Path: "c", ModTime: now.Add(-1)}}
	agent.Newest(sources)
	if got := sources[0].Path + sources[1].Path + sources[2].Path; got != "abc" {
		t.Errorf("got %s", got)
	}
}
