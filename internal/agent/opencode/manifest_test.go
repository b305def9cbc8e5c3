package opencode_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
)

// counts are what the generator of histories says of a home.
type counts struct {
	Files      int
	Sessions   int
	Users      int   `json:"user_messages"`
	Assistants int   `json:"assistant_messages"`
	Calls      int   `json:"tool_calls"`
	Results    int   `json:"tool_results"`
	Input      int64 `json:"input_tokens"` // without what came from the cache
	Output     int64 `json:"output_tokens"`
}

// TestEverythingIsFoundOnce reads a generated home and counts.
func TestEverythingIsFoundOnce(t *testing.T) {
	dir := os.Getenv("AMBRY_GENLOGS_HOME")
	if dir == "" {
		t.Skip("AMBRY_GENLOGS_HOME names no home that the generator of histories made")
	}
	data, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct{ Agents map[string]counts }
	if err := json.Unmarshal(data, &manifest); err != nil {
		t.Fatal(err)
	}
	var got counts
	sessions := map[string]bool{}
	for _, src := range sources(t, agent.Home{Dir: dir}) {
		got.Files++
		for _, item := range read(t, src, agent.Mark{}) {
			if item.Skipped > 0 {
				t.Errorf("skipped: %q", item.Notes)
			}
			for _, turn := range item.Conversation.Turns {
				sessions[item.Conversation.Session.ID] = true
				got.count(turn)
			}
		}
	}
	got.Sessions = len(sessions)
	if diff := cmp.Diff(manifest.Agents["opencode"], got); diff != "" || got.Users == 0 {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func (c *counts) count(turn ambry.Turn) {
	c.Input += turn.Tokens.Input - turn.Tokens.Cached
	c.Output += turn.Tokens.Output
	for _, m := range turn.Messages {
		switch {
		case m.Hidden:
		case m.Role == ambry.User:
			c.Users++
		case m.Role == ambry.Assistant:
			c.Assistants++
		}
		for _, call := range m.Calls {
			c.Calls++
			if call.Done {
				c.Results++
			}
		}
	}
}
