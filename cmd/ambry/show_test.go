package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
)

func TestShow(t *testing.T) {
	two := 2
	s := fakeService(t, map[string]any{"GET /api/v1/memory/tr_1": ambry.Detail{
		Memory: ambry.Memory{
			ID: "tr_1", Layer: ambry.L1, Title: "run the tests", Agent: "codex", Project: "/srv/p", Tags: []string{"go"},
			Source: ambry.Source{Path: "/srv/a.jsonl", Line: 7},
		},
		Session: &ambry.Session{ID: "s1", Branch: "main"},
		Turn: &ambry.Turn{Messages: []ambry.Message{
			{Role: ambry.System, Text: "injected", Hidden: true},
			{Role: ambry.User, Text: "run the tests\n", Files: []ambry.Attached{{Kind: "image", Name: "shot.png", Bytes: 2048}}},
			{Role: ambry.Assistant, Model: "m-1", Text: "I run them.", Calls: []ambry.ToolCall{
				{Name: "Bash", Input: `{"command":"go test\n./...","timeout":5}`, Output: "FAIL\n\nexit", Done: true, ExitCode: &two},
				{Name: "Raw", Input: "not JSON", Done: true},
			}},
		}},
	}})
	want := `run the tests
codex · /srv/p · /srv/a.jsonl:7
L1 · tr_1 · session s1 · main · tags go

user
run the tests
(image shot.png, 2.0 kB)

assistant · m-1
I run them.
> Bash (failed with exit code 2)
    command: 
      go test
      ./...
    timeout: 5
  | FAIL
  | 
  | exit
> Raw
    not JSON
`
	if diff := cmp.Diff(outcome{out: want}, ambryIn(t, s.home, "show", "tr_1"), cmp.AllowUnexported(outcome{})); diff != "" {
		t.Error(diff)
	}
	ambryIn(t, s.home, "show", "tr_1", "--hidden").check(t, 0, "system · hidden\ninjected\n")
	ambryIn(t, s.home, "show", "tr_1", "--json").check(t, 0, `"body": ""`, `"role": "user"`)
	ambryIn(t, s.home, "show", "tr_9").check(t, 1, "ambry: no route", `hint: "ambry search" prints ids`)
	ambryIn(t, s.home, "show").check(t, 2)
}

func TestShowANote(t *testing.T) {
	s := fakeService(t, map[string]any{"GET /api/v1/memory/tr_1": ambry.Detail{
		Memory: ambry.Memory{ID: "tr_1", Layer: ambry.L1, Title: "tabs"}, Body: "use tabs\n",
	}})
	if got := ambryIn(t, s.home, "show", "tr_1"); got.out != "tabs\nnote\nL1 · tr_1\n\nuse tabs\n" {
		t.Errorf("got %q", got.out)
	}
}

func TestAdd(t *testing.T) {
	s := fakeService(t, map[string]any{"POST /api/v1/memory/add": ambry.Memory{ID: "tr_7"}})
	ambryIn(t, s.home, "add", "use", "tabs", "--tag", "go,style", "--title", "Tabs").check(t, 0, "Remembered as tr_7.\n")
	ambryWith(t.Context(), t, "from a pipe\n", "add", "-", "--home", s.home).check(t, 0)
	ambryIn(t, s.home, "add", " ").check(t, 2, "content is empty")
	want := []string{
		`POST /api/v1/memory/add {"content":"use tabs","title":"Tabs","tags":["go","style"]}`,
		`POST /api/v1/memory/add {"content":"from a pipe\n"}`,
	}
	if diff := cmp.Diff(want, s.sent("POST /api/v1/memory/add")); diff != "" {
		t.Error(diff)
	}
}
