package claudecode_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
)

// TestGeneratedHome reads a home that a generator wrote, which also says what a
// correct reader finds in it.
func TestGeneratedHome(t *testing.T) {
	dir := os.Getenv("AMBRY_GENLOGS_HOME")
	if dir == "" {
		t.Skip("AMBRY_GENLOGS_HOME names no generated home")
	}
	data, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct{ Agents map[string]map[string]int64 }
	if err := json.Unmarshal(data, &manifest); err != nil {
		t.Fatal(err)
	}
	want := manifest.Agents["claude"]
	a := read(t, agent.Home{Dir: dir, OS: "linux"})
	got := count(a)
	for key, n := range got {
		if want := want[key]; n != want {
			t.Errorf("%s: got %d, want %d", key, n, want)
		}
	}
	if got, want := int64(len(a.sessions))-got["subagents"], want["sessions"]+want["copies"]; got != want {
		t.Errorf("sessions and copies: got %d, want %d", got, want)
	}
	if int64(a.skipped) != want["malformed_lines"] {
		t.Errorf("skipped: got %d, want %d", a.skipped, want["malformed_lines"])
	}
}

// count counts what the generator's manifest tells.
func count(a *archive) map[string]int64 {
	n := map[string]int64{}
	messages, called := map[string]bool{}, map[string]bool{}
	for _, turn := range a.turns {
		n["input_tokens"] += turn.Tokens.Input
		n["output_tokens"] += turn.Tokens.Output
		for _, m := range turn.Messages {
			switch {
			case m.Role == ambry.User && !m.Hidden:
				n["user_messages"]++
			case m.Role == ambry.Assistant:
				messages[m.ID] = true
			}
			for _, c := range m.Calls {
				called[c.ID] = true
				if c.Done {
					n["tool_results"]++
				}
			}
		}
	}
	n["assistant_messages"], n["tool_calls"] = int64(len(messages)), int64(len(called))
	for _, session := range a.sessions {
		if session.Relation == ambry.Subagent {
			n["subagents"]++
		}
	}
	return n
}
