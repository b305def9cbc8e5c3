package claudecode_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/agent/claudecode"
)

// Claude Code writes a record for each block of a message and repeats the
// usage on all of them. The reports show what becomes of that.

// ccusage/ccusage#901
func TestOutputOfAMessageIsTheLargestCount(t *testing.T) {
	a := readLines(t,
		prompt("u1", clock(10, 0, 0), "go"),
		reply("a1", clock(10, 0, 1), "m1", says("one"), [3]int{3, 100, 2}),
		reply("a2", clock(10, 0, 2), "m1", says("two"), [3]int{3, 100, 210}),
		reply("a3", clock(10, 0, 3), "m1", says("three"), [3]int{3, 100, 7}))
	wantTokens(t, a, 103, 100, 210)
}

// getagentseal/codeburn#201
func TestCallsInTheLastRecordOfAMessage(t *testing.T) {
	a := readLines(t,
		prompt("u1", clock(10, 0, 0), "go"),
		reply("a1", clock(10, 0, 1), "m1", says("I will look."), [3]int{3, 0, 1}),
		reply("a2", clock(10, 0, 9), "m1", calls("t1", "mcp__notes__search"), [3]int{3, 0, 50}),
		prompt("u2", clock(10, 0, 10), results("t1", "found")))
	wantTranscript(t, a, `
user: go
assistant: I will look. {mcp__notes__search=found}
`)
	if got, want := a.messages()[1].At, at(t, clock(10, 0, 1)); !got.Equal(want) {
		t.Errorf("the message is of %v, want the first time, %v", got, want)
	}
}

// jhlee0409/claude-code-history-viewer#283
func TestUsageOnEveryBlockCountsOnce(t *testing.T) {
	usage := [3]int{10, 1000, 50}
	a := readLines(t,
		prompt("u1", clock(10, 0, 0), "go"),
		reply("a1", clock(10, 0, 1), "m1", map[string]any{"type": "thinking", "thinking": "hm"}, usage),
		reply("a2", clock(10, 0, 2), "m1", says("Yes."), usage),
		reply("a3", clock(10, 0, 3), "m1", calls("t1", "Bash"), usage))
	wantTokens(t, a, 1010, 1000, 50)
	wantTranscript(t, a, "user: go\nassistant: Yes. {Bash=}\n")
}

// sirmalloc/ccstatusline#549
func TestEqualRecordsCountOnce(t *testing.T) {
	one := reply("a1", clock(10, 0, 1), "m1", says("Yes."), [3]int{10, 0, 50})
	two := reply("a2", clock(10, 0, 2), "m1", says("Of course."), [3]int{10, 0, 50})
	a := readLines(t, prompt("u1", clock(10, 0, 0), "go"), one, one, two, one)
	wantTokens(t, a, 10, 0, 50)
	wantTranscript(t, a, "user: go\nassistant: Yes.\n\nOf course.\n")
}

// titeya/dms-claudecode#52
func TestOnlyTheOutputGrows(t *testing.T) {
	lines := []string{prompt("u1", clock(10, 0, 0), "go")}
	for i, output := range []int{1, 1, 30, 30, 77} {
		lines = append(lines, reply("a"+string(rune('1'+i)), clock(10, 0, i+1), "m1", says(strings.Repeat("x", i+1)), [3]int{5, 20, output}))
	}
	wantTokens(t, readLines(t, lines...), 25, 20, 77)
}

// junhoyeo/tokscale#563
func TestMessageWithoutRequestID(t *testing.T) {
	a := readLines(t,
		prompt("u1", clock(10, 0, 0), "go"),
		reply("a1", clock(10, 0, 1), "m1", says("one"), [3]int{3, 0, 9}, "requestId", nil),
		reply("a2", clock(10, 0, 2), "m1", says("two"), [3]int{3, 0, 9}, "requestId", nil))
	wantTokens(t, a, 3, 0, 9)
}

// androidZzT/cc-statistics#3
func TestPrefillRecordsAddNoInput(t *testing.T) {
	a := readLines(t,
		prompt("u1", clock(10, 0, 0), "go"),
		reply("a1", clock(10, 0, 1), "m1", says(""), [3]int{700, 0, 1}),
		reply("a2", clock(10, 0, 2), "m1", says(""), [3]int{700, 0, 1}),
		reply("a3", clock(10, 0, 3), "m1", says("Done."), [3]int{700, 0, 88}))
	wantTokens(t, a, 700, 0, 88)
}

// getagentseal/codeburn#772
func TestMessageThatGoesOnAfterTheMark(t *testing.T) {
	home := write(t, map[string]string{first: prompt("u1", clock(10, 0, 0), "go") +
		reply("a1", clock(10, 0, 1), "m1", says("one"), [3]int{3, 100, 2})})
	a := read(t, home)
	wantTokens(t, a, 103, 100, 2)

	path := filepath.Join(home.Dir, ".claude", "projects", "-home-ana-app", first+".jsonl")
	mark := lastMark(t, home, path, agent.Mark{}, a)
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(reply("a2", clock(10, 0, 2), "m1", says("two"), [3]int{3, 100, 210})); err != nil {
		t.Fatal(err)
	}
	lastMark(t, home, path, mark, a)
	wantTokens(t, a, 103, 100, 210)
	wantTranscript(t, a, "user: go\nassistant: one\n\ntwo\n")
}

// lastMark reads on in a file and returns where that ended.
func lastMark(t *testing.T, home agent.Home, path string, from agent.Mark, a *archive) agent.Mark {
	t.Helper()
	history := claudecode.Agent().History
	src, ok := history.Locate(home, path)
	if !ok {
		t.Fatalf("%s is no source", path)
	}
	for item, err := range history.Read(t.Context(), src, from) {
		if err != nil {
			t.Fatal(err)
		}
		a.add(item)
		from = item.Next
	}
	return from
}

func TestPromptInTheMidstOfAMessage(t *testing.T) {
	a := readLines(t,
		prompt("u1", clock(10, 0, 0), "go"),
		reply("a1", clock(10, 0, 1), "m1", says("one"), [3]int{3, 100, 20}),
		row("attachment", "q1", clock(10, 0, 2), "attachment", map[string]any{"type": "queued_command", "prompt": "faster", "commandMode": "prompt"}),
		reply("a2", clock(10, 0, 3), "m1", says("two"), [3]int{3, 100, 50}))
	wantTokens(t, a, 103, 100, 50)
	wantTranscript(t, a, "user: go\nassistant: one\n--\nuser: faster\nassistant: two\n")
}

func TestUsage(t *testing.T) {
	for _, tt := range []struct {
		name  string
		usage map[string]any
		want  ambry.Tokens
	}{
		{"written to the cache", map[string]any{"input_tokens": 1, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 300, "output_tokens": 4}, ambry.Tokens{Input: 321, Cached: 300, Output: 4}},
		{"written by kind only", map[string]any{"input_tokens": 1, "cache_creation_input_tokens": 0, "cache_creation": map[string]any{"ephemeral_5m_input_tokens": 5, "ephemeral_1h_input_tokens": 6}}, ambry.Tokens{Input: 12}},
		{"null", nil, ambry.Tokens{}},
		{"as texts", map[string]any{"input_tokens": "7", "output_tokens": 8.0}, ambry.Tokens{Input: 7, Output: 8}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := readLines(t, prompt("u1", clock(10, 0, 0), "go"), row("assistant", "a1", clock(10, 0, 1),
				"message", map[string]any{"id": "m1", "role": "assistant", "model": "claude-x", "content": "hi", "usage": tt.usage}))
			if got := a.tokens(); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}
