package foreign

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"ambry.dev/ambry"
)

// mem0 is mem0: the database of OpenMemory (openmemory.db), the history that the
// library keeps (~/.mem0/history.db), or memories as its API returns them (JSON).
var mem0 = Format{
	ID: "mem0", Name: "mem0 and OpenMemory",
	Is: func(path string) bool { return openMemory.Is(path) || mem0History.Is(path) || isMem0JSON(path) },
	Read: func(ctx context.Context, path string) iter.Seq2[Item, error] {
		switch {
		case openMemory.Is(path):
			return openMemory.Read(ctx, path)
		case mem0History.Is(path):
			return mem0History.Read(ctx, path)
		}
		return readMem0JSON(path)
	},
}

var openMemory = fromDatabase("mem0", "OpenMemory", []string{"openmemory.db"},
	func(d *database) bool { return d.has("memories", "content", "state", "app_id") },
	func(ctx context.Context, d *database, yield func(Item, error) bool) {
		apps := map[string]string{}
		if d.has("apps", "id", "name") {
			for r, err := range d.rows(ctx, "apps", "") {
				if err == nil {
					apps[r["id"]] = r["name"]
				}
			}
		}
		for r, err := range d.rows(ctx, "memories", "ORDER BY created_at, id") {
			if err != nil {
				yield(Item{}, err)
				return
			}
			if r["state"] == "deleted" || r["deleted_at"] != "" || strings.TrimSpace(r["content"]) == "" {
				continue
			}
			n := ambry.Note{Content: r["content"], Layer: ambry.L3, CreatedAt: at(r["created_at"])}
			if !yield(item(n, first(apps[r["app_id"]], "mem0"), r["id"]), nil) {
				return
			}
		}
	})

// mem0History is the log of changes: the last one of each memory counts. They
// stand in the order in which they happened; that a memory was deleted has no
// time, and that it was changed the time when it was made.
var mem0History = fromDatabase("mem0", "mem0", []string{"history.db"},
	func(d *database) bool { return d.has("history", "memory_id", "new_memory", "event") },
	func(ctx context.Context, d *database, yield func(Item, error) bool) {
		latest := map[string]row{}
		var order []string
		for r, err := range d.rows(ctx, "history", "ORDER BY rowid") {
			if err != nil {
				yield(Item{}, err)
				return
			}
			if _, known := latest[r["memory_id"]]; !known {
				order = append(order, r["memory_id"])
			}
			latest[r["memory_id"]] = r
		}
		for _, id := range order {
			r := latest[id]
			if strings.EqualFold(r["event"], "DELETE") || r["is_deleted"] == "1" || strings.TrimSpace(r["new_memory"]) == "" {
				continue
			}
			n := ambry.Note{Content: r["new_memory"], Layer: ambry.L3, CreatedAt: at(first(r["updated_at"], r["created_at"]))}
			if !yield(item(n, "mem0", id), nil) {
				return
			}
		}
	})

// mem0Memory is a memory as the API returns it.
type mem0Memory struct {
	ID        string   `json:"id"`
	Memory    string   `json:"memory"`
	AgentID   string   `json:"agent_id"`
	RunID     string   `json:"run_id"`
	Category  []string `json:"categories"`
	CreatedAt string   `json:"created_at"`
}

// maxJSON is how large a JSON file may be that is read as a whole.
const maxJSON = 512 << 20

func mem0JSON(path string) ([]mem0Memory, error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || !strings.EqualFold(filepath.Ext(path), ".json") || tooLarge(info, maxJSON) {
		return nil, fmt.Errorf("no JSON of mem0")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseMem0(data)
}

// parseMem0 reads a list of memories, bare or in an envelope.
func parseMem0(data []byte) ([]mem0Memory, error) {
	var in struct {
		Results  []mem0Memory `json:"results"`
		Memories []mem0Memory `json:"memories"`
	}
	var bare []mem0Memory
	if json.Unmarshal(data, &bare) != nil {
		if err := json.Unmarshal(data, &in); err != nil {
			return nil, fmt.Errorf("no JSON of mem0: %w", err)
		}
		bare = append(in.Results, in.Memories...)
	}
	for _, m := range bare {
		if m.ID != "" && m.Memory != "" {
			return bare, nil
		}
	}
	return nil, fmt.Errorf("no memories")
}

func isMem0JSON(path string) bool {
	_, err := mem0JSON(path)
	return err == nil
}

func readMem0JSON(path string) iter.Seq2[Item, error] {
	all, err := mem0JSON(path)
	if err != nil {
		return once(err)
	}
	return func(yield func(Item, error) bool) {
		for _, m := range all {
			if m.ID == "" || strings.TrimSpace(m.Memory) == "" {
				continue
			}
			n := ambry.Note{Content: m.Memory, Layer: ambry.L3, SessionID: m.RunID, Tags: tags("", m.Category...), CreatedAt: at(m.CreatedAt)}
			if !yield(item(n, first(m.AgentID, "mem0"), m.ID), nil) {
				return
			}
		}
	}
}
