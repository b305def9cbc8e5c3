package codex_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/agent/codex"
)

// counts are those of manifest.json, which the generator of histories writes.
type counts struct {
	Sessions   int   `json:"sessions"`
	Copies     int   `json:"copies"`
	Files      int   `json:"files"`
	Users      int   `json:"user_messages"`
	Assistants int   `json:"assistant_messages"`
	Calls      int   `json:"tool_calls"`
	Results    int   `json:"tool_results"`
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	Malformed  int   `json:"malformed_lines"`
}

// TestEverythingIsFoundOnce reads a generated home and counts. A turn that is
// in several sessions is one.
func TestEverythingIsFoundOnce(t *testing.T) {
	home := os.Getenv("AMBRY_GENLOGS_HOME")
	if home == "" {
		t.Skip("AMBRY_GENLOGS_HOME names no home that the generator of histories made")
	}
	data, err := os.ReadFile(filepath.Join(home, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Agents struct{ Codex counts }
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		t.Fatal(err)
	}
	want := manifest.Agents.Codex
	var got counts
	type part struct {
		id string
		n  int
	}
	turns := map[part]ambry.Turn{}
	for src, err := range codex.Agent().History.Sources(t.Context(), agent.Home{Dir: home}) {
		if err != nil {
			t.Fatal(err)
		}
		got.Files++
		relation := ambry.Relation("")
		for item, err := range codex.Agent().History.Read(t.Context(), src, agent.Mark{}) {
			if err != nil {
				t.Fatal(err)
			}
			got.Malformed += item.Skipped
			relation = item.Conversation.Session.Relation
			for _, turn := range item.Conversation.Turns {
				turns[part{turn.ID, turn.Part}] = turn
			}
		}
		if relation == ambry.Fork {
			got.Copies++
		} else {
			got.Sessions++
		}
	}
	for _, turn := range turns {
		got.Input += turn.Tokens.Input
		got.Output += turn.Tokens.Output
		for _, m := range turn.Messages {
			switch {
			case m.Hidden:
			case m.Role == ambry.User:
				got.Users++
			case m.Role == ambry.Assistant && m.Text != "":
				got.Assistants++
			}
			for _, c := range m.Calls {
				got.Calls++
				if c.Done {
					got.Results++
				}
			}
		}
	}
	if got.Users == 0 {
		t.Fatal("nothing was found")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
