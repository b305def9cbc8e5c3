package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
)

func answer() ambry.Answer {
	return ambry.Answer{
		Total: 12, TookMs: 3.7,
		Hits: []ambry.Hit{
			{
				ID: "tr_1", Title: "A mutex held over a call", Snippet: "the mutex was held\nwhile calling back",
				Highlights: [][2]int{{4, 9}}, Agent: "claude_code", Project: "/srv/tidewatch",
				Source: ambry.Source{Path: "/srv/s1.jsonl", Line: 120}, CreatedAt: day,
			},
			{ID: "tr_2", Title: "use tabs", Snippet: "use tabs, always", CreatedAt: day},
		},
	}
}

func TestSearchPrintsWhereEachHitComesFrom(t *testing.T) {
	s := fakeService(t, map[string]any{"POST /api/v1/memory/search": answer()})
	got := ambryIn(t, s.home, "search", "why", "mutex", "-n", "3", "--agent", "codex,claude_code", "--layer", "l1", "--project", "/srv/tidewatch", "--after", "2026-03-01T00:00:00Z")
	date := day.Local().Format(time.DateOnly)
	want := `1  A mutex held over a call
   the mutex was held while calling back
   claude_code · /srv/tidewatch · ` + date + ` · /srv/s1.jsonl:120
   tr_1

2  use tabs, always
   note · ` + date + `
   tr_2

2 of 12 memories in 4 ms; "ambry show tr_1" shows the first
`
	if diff := cmp.Diff(outcome{code: 0, out: want}, got, cmp.AllowUnexported(outcome{})); diff != "" {
		t.Error(diff)
	}
	wantBody := `POST /api/v1/memory/search {"query":"why mutex","limit":3,"layers":["L1"],"agents":["codex","claude_code"],"project":"/srv/tidewatch","after":"2026-03-01T00:00:00Z"}`
	if diff := cmp.Diff([]string{wantBody}, s.sent("POST /api/v1/memory/search")); diff != "" {
		t.Error(diff)
	}
}

func TestSearchAsJSONIsTheAnswer(t *testing.T) {
	s := fakeService(t, map[string]any{"POST /api/v1/memory/search": answer()})
	got := ambryIn(t, s.home, "search", "x", "--json")
	var a ambry.Answer
	if err := json.Unmarshal([]byte(got.out), &a); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(answer(), a); diff != "" || got.code != 0 || got.err != "" {
		t.Errorf("%+v %s", got, diff)
	}
}

func TestSearchFindsNothing(t *testing.T) {
	s := fakeService(t, map[string]any{
		"POST /api/v1/memory/search": ambry.Answer{},
		"GET /api/v1/panel/overview": ambry.Overview{},
	})
	got := ambryIn(t, s.home, "search", "x")
	got.check(t, 0, "Nothing found.", "ambry scan --allow")
	if got.out != "" {
		t.Errorf("got %q on standard output", got.out)
	}
}

func TestSearchSaysWhenTheMemoryIsDown(t *testing.T) {
	s := fakeService(t, map[string]any{
		"POST /api/v1/memory/search": ambry.MemoryUnavailable.Errorf("the memory is restarting"),
	})
	ambryIn(t, s.home, "search", "x").check(t, 1, "ambry: the memory is restarting\n", `hint: "ambry doctor"`)
	got := ambryIn(t, s.home, "search", "x", "--json")
	got.check(t, 1)
	var doc struct{ Error failure }
	if err := json.Unmarshal([]byte(got.out), &doc); err != nil || doc.Error.Code != ambry.MemoryUnavailable || doc.Error.Message == "" {
		t.Errorf("got %+v, %v", doc, err)
	}
}

func TestSearchIsCalledWrongly(t *testing.T) {
	s := fakeService(t, nil)
	for _, args := range [][]string{
		{"search"},
		{"search", " "},
		{"search", "x", "--limit", "0"},
		{"search", "x", "--limit", "101"},
		{"search", "x", "--limit", "many"},
		{"search", "x", "--layer", "L9"},
		{"search", "x", "--after", "yesterday"},
		{"search", "x", "--before", "soon"},
		{"search", "x", "--nope"},
	} {
		got := ambryIn(t, s.home, args...)
		if got.code != exitUsage || !strings.HasPrefix(got.err, "ambry: ") || !strings.Contains(got.err, "--help") {
			t.Errorf("%q: got %+v", args, got)
		}
	}
	if len(s.asked) > 0 {
		t.Errorf("the service was asked %q", s.asked)
	}
}

// A history holds what any program printed, also what steers a terminal.
func TestTheTerminalIsNotSteered(t *testing.T) {
	evil := "x\x1b]0;owned\a\x1b[2J\u202E"
	a := ambry.Answer{Hits: []ambry.Hit{{ID: "tr_1", Title: evil, Snippet: "s" + evil, Highlights: [][2]int{{0, 3}}, Agent: evil, Project: evil, Source: ambry.Source{Path: evil}}}}
	d := ambry.Detail{Memory: ambry.Memory{ID: "tr_1", Title: evil, Tags: []string{evil}}, Turn: &ambry.Turn{Messages: []ambry.Message{
		{Role: "user", Text: evil, Model: evil, Files: []ambry.Attached{{Kind: evil, Name: evil}}, Calls: []ambry.ToolCall{
			{Name: evil, Input: evil, Output: evil}, {Name: "x", Input: `{"a":"` + "\\u001b[2J" + `"}`},
		}},
	}}}
	s := fakeService(t, map[string]any{
		"POST /api/v1/memory/search": a,
		"GET /api/v1/memory/tr_1":    d,
		"GET /api/v1/memory/tr_2":    ambry.NotFound.Errorf("%s", evil),
	})
	for _, args := range [][]string{{"search", "x"}, {"show", "tr_1"}, {"show", "tr_2"}} {
		got := ambryIn(t, s.home, args...)
		if strings.ContainsAny(got.out+got.err, "\x1b\a\u202E") || !strings.Contains(got.out+got.err, "owned") {
			t.Errorf("%q: got %q", args, got.out+got.err)
		}
	}
}

func TestMarked(t *testing.T) {
	on := style{on: true}
	for _, tt := range []struct {
		text   string
		ranges [][2]int
		want   string
	}{
		{"one two", [][2]int{{4, 7}}, "one \x1b[1mtwo\x1b[0m"},
		{"one two", [][2]int{{0, 3}, {4, 7}}, "\x1b[1mone\x1b[0m \x1b[1mtwo\x1b[0m"},
		{"one\ntwo", nil, "one two"},
		{"one", [][2]int{{-1, 2}, {2, 9}, {2, 1}, {3, 3}}, "one"},
		{"one two", [][2]int{{4, 7}, {0, 3}}, "one \x1b[1mtwo\x1b[0m"},
	} {
		if got := on.marked(tt.text, tt.ranges); got != tt.want {
			t.Errorf("%q %v: got %q, want %q", tt.text, tt.ranges, got, tt.want)
		}
		if got := (style{}).marked(tt.text, tt.ranges); got != flat(tt.text) {
			t.Errorf("%q without style: got %q", tt.text, got)
		}
	}
}
