package hook

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"ambry.dev/ambry"
)

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"session_id":"s","prompt":"hello","cwd":"/a","turn_id":"t"}`,
		`{"session_id":"s","prompt":[{"type":"text","text":"a"},{"content":[{"text":"b"}]}]}`,
		`{"taskId":"1","userPromptSubmit":{"prompt":"x"},"workspaceRoots":["/a"]}`,
		`{"extra":{"user_message":"x"},"extra":null}`, `{"prompt":null}`, `[1]`, `"x"`, "\ufeff{}", `{"a":"\ud800"}`,
		`{"session_id":"` + strings.Repeat("x", 200) + `"}`, `{"prompt":` + strings.Repeat(`[`, 50) + `"x"` + strings.Repeat(`]`, 50) + `}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in, err := parse(data)
		if err == nil && !json.Valid([]byte(strings.TrimPrefix(strings.TrimSpace(string(data)), "\ufeff"))) {
			t.Fatal("what is no JSON was understood")
		}
		for _, s := range []string{in.session, in.turn} {
			if s != "" && ambry.SessionName(s) != s {
				t.Fatalf("%q is no id", s)
			}
		}
		if size := len(in.prompt) + len(in.answer); size > 3*len(data) {
			t.Fatalf("%d bytes of text from %d", size, len(data))
		}
	})
}

func FuzzTranscript(f *testing.F) {
	f.Add([]byte(`{"type":"assistant","timestamp":"2026-06-01T12:00:02Z","message":{"content":[{"type":"text","text":"x"}]}}` + "\n{"))
	f.Add([]byte("\n\n\n"))
	f.Add([]byte(`{"type":"assistant"}`))
	f.Fuzz(func(_ *testing.T, data []byte) { answerIn(data, time.Time{}) })
}

func FuzzWithoutFence(f *testing.F) {
	f.Add("a<recalled_history x>b</recalled_history>c<recalled_history")
	f.Fuzz(func(t *testing.T, s string) {
		if once := withoutFence(s); withoutFence(once) != once {
			t.Fatalf("%q is not done", once)
		}
	})
}
