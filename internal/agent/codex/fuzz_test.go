package codex_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/agent"
	"ambry.dev/ambry/internal/agent/codex"
)

// FuzzParse checks that whatever a file holds, reading it ends without a fault,
// what is told can be stored, and stopping after an item and reading on tells
// the same.
func FuzzParse(f *testing.F) {
	err := filepath.WalkDir("testdata/home", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) == ".zst" {
			return err
		}
		data, err := os.ReadFile(path)
		f.Add(data, uint8(1))
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(strings.Join(copied(10), "\n")), uint8(2))
	small := codex.Agent().History.(interface {
		Sized(itemBytes int) agent.History
	}).Sized(1)
	home := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte, stop uint8) {
		if len(data) > 256<<10 {
			return
		}
		path := save(t, home, rollout(parentID))
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		src, ok := small.Locate(agent.Home{Dir: home}, path)
		if !ok {
			t.Fatal("not found")
		}
		whole, _ := told(t, small, src, agent.Mark{}, -1)
		steps, mark := told(t, small, src, agent.Mark{}, 1+int(stop%8))
		rest, _ := told(t, small, src, mark, -1)
		maps.Copy(steps, rest)
		if diff := cmp.Diff(whole, steps); diff != "" {
			t.Errorf("stopped after item %d (-whole +steps):\n%s", 1+stop%8, diff)
		}
	})
}

// told reads at most n items and returns their turns and the last mark.
func told(t *testing.T, h agent.History, src agent.Source, from agent.Mark, n int) (map[string]ambry.Turn, agent.Mark) {
	t.Helper()
	turns := map[string]ambry.Turn{}
	for item, err := range h.Read(t.Context(), src, from) {
		if err != nil {
			t.Fatal(err)
		}
		if err := item.Conversation.Validate(); err != nil {
			t.Fatal(err)
		}
		for _, turn := range item.Conversation.Turns {
			turns[fmt.Sprintf("%s/%d", turn.ID, turn.Part)] = turn
		}
		from = item.Next
		if n--; n == 0 {
			break
		}
	}
	return turns, from
}
