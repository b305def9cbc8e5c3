package agent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
)

func said(id, text string) ambry.Message {
	return ambry.Message{ID: id, Role: ambry.Assistant, Text: text}
}

func TestAMessageToldInPiecesIsOne(t *testing.T) {
	b := NewBuilder("f", "")
	b.Begin(ambry.Turn{ID: "t"})
	first := said("m", "thinking")
	first.Tokens = ambry.Tokens{Input: 100, Cached: 50, Output: 1}
	first.Calls = []ambry.ToolCall{{ID: "c1", Name: "Read"}}
	again := said("m", "thinking")
	again.Tokens = ambry.Tokens{Input: 100, Cached: 50, Output: 40}
	again.Model = "model-1"
	again.Calls = []ambry.ToolCall{{ID: "c1", Name: "Read"}, {ID: "c2", Name: "Edit"}}
	more := said("m", "answer")
	more.Tokens = ambry.Tokens{Input: 100, Output: 30}
	more.Files = []ambry.Attached{{Kind: "image"}}
	for _, m := range []ambry.Message{first, again, more} {
		b.Add(m)
	}

	got := b.Finish().Turns
	if len(got) != 1 || len(got[0].Messages) != 1 {
		t.Fatalf("got %+v", got)
	}
	want := ambry.Message{
		ID: "m", Role: ambry.Assistant, Text: "thinking\n\nanswer", Model: "model-1",
		Tokens: ambry.Tokens{Input: 100, Cached: 50, Output: 40},
		Calls:  []ambry.ToolCall{{ID: "c1", Name: "Read"}, {ID: "c2", Name: "Edit"}},
		Files:  []ambry.Attached{{Kind: "image"}},
	}
	if diff := cmp.Diff(want, got[0].Messages[0]); diff != "" {
		t.Error(diff)
	}
	if got[0].Tokens != want.Tokens {
		t.Errorf("the turn cost %+v", got[0].Tokens)
	}
}

func TestMessagesWithoutIDsAreNeverJoined(t *testing.T) {
	b := NewBuilder("f", "")
	b.Begin(ambry.Turn{ID: "t"})
	b.Add(said("", "a"))
	b.Add(said("", "a"))
	if got := len(b.Finish().Turns[0].Messages); got != 2 {
		t.Errorf("%d messages, want 2", got)
	}
}

func TestCallsArePairedWithTheirResults(t *testing.T) {
	one, three := 1, 3
	b := NewBuilder("f", "")
	b.Begin(ambry.Turn{ID: "t"})
	ask := said("m1", "")
	ask.Calls = []ambry.ToolCall{{ID: "a", Name: "Bash", Input: "ls"}, {ID: "b", Name: "Bash", Input: "cat x"}, {ID: "never", Name: "Task"}}
	b.Add(ask)
	b.Result(ambry.ToolCall{ID: "b", Output: "no such file", Failed: true, ExitCode: &one})
	b.Add(said("m2", "meanwhile"))
	b.Result(ambry.ToolCall{ID: "a", Output: "x y"})
	b.Result(ambry.ToolCall{ID: "b", Output: "no such file: x", Session: "child", ExitCode: &three})
	b.Result(ambry.ToolCall{ID: "stray", Name: "Gone", Output: "late"})

	got := b.Finish().Turns[0].Messages
	want := []ambry.ToolCall{
		{ID: "a", Name: "Bash", Input: "ls", Output: "x y", Done: true},
		{ID: "b", Name: "Bash", Input: "cat x", Output: "no such file: x", Done: true, Failed: true, ExitCode: &three, Session: "child"},
		{ID: "never", Name: "Task"},
	}
	if diff := cmp.Diff(want, got[0].Calls); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]ambry.ToolCall{{ID: "stray", Name: "Gone", Output: "late", Done: true}}, got[1].Calls); diff != "" {
		t.Error(diff)
	}
}

func TestAResultBeforeAnyMessageIsKept(t *testing.T) {
	b := NewBuilder("f", "")
	b.Result(ambry.ToolCall{ID: "c", Output: "late"})
	got := b.Finish().Turns
	if len(got) != 1 || got[0].ID != "c" || len(got[0].Messages) != 1 || got[0].Messages[0].Calls[0].Output != "late" {
		t.Errorf("got %+v", got)
	}
}

func TestAResultIsNotOfAPerson(t *testing.T) {
	b := NewBuilder("f", "")
	b.Begin(ambry.Turn{ID: "t"})
	b.Add(ambry.Message{ID: "u", Role: ambry.User, Text: "run it"})
	b.Result(ambry.ToolCall{ID: "c", Output: "ran"})
	got := b.Finish().Turns[0].Messages
	if len(got) != 2 || len(got[0].Calls) != 0 || got[1].Role != ambry.Assistant || len(got[1].Calls) != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestAnEmptyResultTakesNothingAway(t *testing.T) {
	b := NewBuilder("f", "")
	b.Result(ambry.ToolCall{ID: "c", Output: "ran"})
	b.Result(ambry.ToolCall{ID: "c", Failed: true})
	if got := b.Finish().Turns[0].Messages[0].Calls[0]; got.Output != "ran" || !got.Failed {
		t.Errorf("got %+v", got)
	}
}

func TestSpendingIsOfTheLastMessage(t *testing.T) {
	b := NewBuilder("f", "")
	b.Spend(ambry.Tokens{Input: 1000}) // nobody's
	b.Begin(ambry.Turn{ID: "t"})
	b.Spend(ambry.Tokens{Input: 1})
	b.Add(said("m", "x"))
	b.Spend(ambry.Tokens{Input: 10, Output: 2})
	b.Spend(ambry.Tokens{Input: 20, Cached: 5})
	got := b.Finish().Turns
	if len(got) != 1 || got[0].Messages[1].Tokens != (ambry.Tokens{Input: 30, Cached: 5, Output: 2}) || got[0].Tokens.Input != 31 {
		t.Errorf("got %+v", got)
	}
}

func TestMessagesCanBeChangedAndHidden(t *testing.T) {
	b := NewBuilder("f", "")
	b.Begin(ambry.Turn{ID: "t"})
	b.Add(said("m", "x"))
	b.Change("m", func(m *ambry.Message) { m.Text = strings.Repeat("y", 2*MaxText) })
	b.Change("none", func(*ambry.Message) { t.Error("there is no such message") })
	b.Hide()
	b.Add(said("n", "z"))
	got := b.Finish().Turns // the text is long: a part ends
	if m := got[0].Messages[0]; !m.Hidden || len(m.Text) > MaxText || len(m.Text) < MaxText-cutNote {
		t.Errorf("hidden %v, %d bytes", m.Hidden, len(m.Text))
	}
	if got[1].Messages[0].Hidden {
		t.Error("what came later is hidden, too")
	}
}

func TestACopyIsToldWhenItIsWhole(t *testing.T) {
	long := strings.Repeat("x", 40<<10)
	b := NewBuilder("f", "")
	for _, id := range []string{"whole", "half", "own"} {
		b.Begin(ambry.Turn{ID: id})
		if id != "own" {
			b.Withhold()
		}
		for range 6 {
			b.Add(said("", long))
		}
		if id == "whole" {
			b.Vouch()
		}
	}
	want := []string{"whole/0:2", "whole/1:2", "whole/2:2", "half/0:2", "half/1:2", "own/0:2", "own/1:2", "own/2:2"}
	if diff := cmp.Diff(want, parts(b.Finish())); diff != "" {
		t.Error(diff)
	}
}

func TestTextsAreCut(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	b := NewBuilder("f", "")
	b.Session.Title = long
	b.Begin(ambry.Turn{ID: "t"})
	m := said("m", long)
	m.Calls = []ambry.ToolCall{{ID: "c", Input: long, Output: long}}
	m.Files = make([]ambry.Attached, 500)
	b.Add(m)
	b.Add(m)
	b.Result(ambry.ToolCall{ID: "c", Output: long})
	b.Result(ambry.ToolCall{ID: "d", Input: long, Output: long})

	c := b.Finish()
	got := c.Turns[0].Messages[0]
	for name, size := range map[string][2]int{
		"title": {len(c.Session.Title), MaxTitle}, "text": {len(got.Text), MaxText},
		"input": {len(got.Calls[0].Input), MaxInput}, "output": {len(got.Calls[0].Output), MaxOutput},
		"stray input": {len(got.Calls[1].Input), MaxInput}, "stray output": {len(got.Calls[1].Output), MaxOutput},
	} {
		if size[0] > size[1] || size[0] < size[1]-cutNote {
			t.Errorf("%s: %d bytes, want %d", name, size[0], size[1])
		}
	}
	if len(got.Files) != maxAttached {
		t.Errorf("%d files, want %d", len(got.Files), maxAttached)
	}
}

// parts tells the parts of a conversation as "id/part:messages".
func parts(c ambry.Conversation) (all []string) {
	for _, t := range c.Turns {
		all = append(all, fmt.Sprintf("%s/%d:%d", t.ID, t.Part, len(t.Messages)))
	}
	return all
}

func TestALongTurnGoesOnInParts(t *testing.T) {
	text := strings.Repeat("x", 20<<10)
	b := NewBuilder("f", "")
	b.Begin(ambry.Turn{ID: "t", Cwd: "/w", Branch: "main"}).Model = "model-1"
	for i := range 10 {
		b.Add(said(fmt.Sprint(i), text))
	}
	b.Begin(ambry.Turn{ID: "u"})
	b.Add(said("0", "short"))
	c := b.Finish()
	if diff := cmp.Diff([]string{"t/0:4", "t/1:4", "t/2:2", "u/0:1"}, parts(c)); diff != "" {
		t.Error(diff)
	}
	if last := c.Turns[2]; last.Cwd != "/w" || last.Branch != "main" || last.Model != "model-1" {
		t.Errorf("a part forgot where it is: %+v", last)
	}
}

func TestAPartWaitsForItsCalls(t *testing.T) {
	text := strings.Repeat("x", 20<<10)
	b := NewBuilder("f", "")
	b.Begin(ambry.Turn{ID: "t"})
	ask := said("ask", "")
	ask.Calls = []ambry.ToolCall{{ID: "c", Name: "Task"}}
	b.Add(ask)
	for i := range 6 {
		b.Add(said(fmt.Sprint(i), text))
	}
	b.Result(ambry.ToolCall{ID: "c", Output: "done"})
	b.Add(said("after", text))
	if diff := cmp.Diff([]string{"t/0:7", "t/1:1"}, parts(b.Finish())); diff != "" {
		t.Error(diff)
	}
}

func TestNothingGrowsWithoutEnd(t *testing.T) {
	text := strings.Repeat("x", 8<<10)
	for name, tell := range map[string]func(b *Builder, i int){
		"an open call": func(b *Builder, i int) {
			m := said(fmt.Sprint(i), text)
			m.Calls = []ambry.ToolCall{{ID: fmt.Sprint(i)}}
			b.Add(m)
		},
		"one message with many calls": func(b *Builder, i int) {
			m := said("m", "")
			m.Calls = []ambry.ToolCall{{ID: fmt.Sprint(i), Input: text}}
			b.Add(m)
		},
		"stray results": func(b *Builder, i int) { b.Result(ambry.ToolCall{ID: fmt.Sprint(i), Output: text}) },
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBuilder("f", "")
			b.Begin(ambry.Turn{ID: "t"})
			for i := range 2000 {
				tell(b, i)
				if b.partLen > partMost+partBytes {
					t.Fatalf("the open part has %d bytes", b.partLen)
				}
			}
			if n := len(b.Finish().Turns); n < 5 {
				t.Errorf("%d parts", n)
			}
		})
	}
}

func TestTurnsWithoutIDsAreNumbered(t *testing.T) {
	b := NewBuilder("f", "row-7")
	b.Session.ID = "s"
	for range 3 {
		b.Begin(ambry.Turn{})
		b.Add(said("", "x"))
	}
	c := b.Finish()
	if diff := cmp.Diff([]string{"s#1/0:1", "s#2/0:1", "s#3/0:1"}, parts(c)); diff != "" {
		t.Error(diff)
	}
	if got := c.Turns[0].Source.String(); got != "f#row-7" {
		t.Errorf("the source is %s", got)
	}
}

func TestATurnWithoutMessagesIsNone(t *testing.T) {
	b := NewBuilder("f", "")
	b.Begin(ambry.Turn{ID: "empty"})
	b.Begin(ambry.Turn{ID: "t"})
	b.Add(said("m", "x"))
	b.Begin(ambry.Turn{ID: "empty too"})
	if diff := cmp.Diff([]string{"t/0:1"}, parts(b.Finish())); diff != "" {
		t.Error(diff)
	}
}

func TestASessionSpansItsTimes(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 8, 1, hour, 0, 0, 0, time.UTC) }
	b := NewBuilder("f", "")
	b.Begin(ambry.Turn{ID: "t"})
	for _, m := range []ambry.Message{{Text: "no time"}, {At: at(12)}, {At: at(10), Model: "a"}, {At: at(15), Model: "b"}} {
		b.Add(m)
	}
	b.Seen(at(16))
	c := b.Finish()
	if s := c.Session; !s.StartedAt.Equal(at(10)) || !s.EndedAt.Equal(at(16)) || s.Model != "b" {
		t.Errorf("from %v to %v with %s", s.StartedAt, s.EndedAt, s.Model)
	}
	if got := c.Turns[0].At; !got.Equal(at(12)) {
		t.Errorf("the turn began at %v", got)
	}
}

func TestNotesAreFew(t *testing.T) {
	b := NewBuilder("f", "")
	for range 100 {
		b.Skip("not JSON")
	}
	if b.skipped != 100 || len(b.notes) != maxNotes {
		t.Errorf("%d skipped, %d notes", b.skipped, len(b.notes))
	}
}
