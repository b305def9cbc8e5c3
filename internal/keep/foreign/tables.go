package foreign

import (
	"context"
	"encoding/json"
	"strings"

	"ambry.dev/ambry"
)

// claudeMem is claude-mem: observations and summaries that a model wrote, and
// directives of the person, in ~/.claude-mem/claude-mem.db.
var claudeMem = fromDatabase("claude-mem", "claude-mem", []string{"claude-mem.db"},
	func(d *database) bool {
		return d.has("observations", "memory_session_id", "narrative") || d.has("observations", "sdk_session_id", "narrative") || d.has("session_summaries", "next_steps")
	},
	func(ctx context.Context, d *database, yield func(Item, error) bool) {
		take := func(table string, note func(row) ambry.Note) bool {
			if len(d.columns[table]) == 0 {
				return true
			}
			for r, err := range d.rows(ctx, table, `ORDER BY id`) {
				if err != nil {
					return yield(Item{}, err)
				}
				n := note(r)
				n.CreatedAt, n.Project = at(r["created_at_epoch"]), r["project"]
				n.SessionID = first(r["memory_session_id"], r["sdk_session_id"])
				if n.Content == "" {
					continue
				}
				key := table + ":" + first(r["content_hash"], r["id"]) + ":" + n.SessionID
				if !yield(item(n, "claude-mem", key), nil) {
					return false
				}
			}
			return true
		}
		_ = take("observations", func(r row) ambry.Note {
			return ambry.Note{
				Title: r["title"], Layer: ambry.L1, Tags: tags(r["type"], list(r["concepts"])...),
				Content: join(r["subtitle"], r["narrative"], r["text"], bullets(list(r["facts"])),
					titled("Files read", strings.Join(list(r["files_read"]), ", ")), titled("Files modified", strings.Join(list(r["files_modified"]), ", "))),
			}
		}) && take("session_summaries", func(r row) ambry.Note {
			return ambry.Note{
				Title: r["request"], Layer: ambry.L1, Tags: []string{"summary"},
				Content: join(titled("Request", r["request"]), titled("Investigated", r["investigated"]), titled("Learned", r["learned"]),
					titled("Completed", r["completed"]), titled("Next steps", r["next_steps"]), titled("Notes", r["notes"])),
			}
		}) && take("directives", func(r row) ambry.Note {
			return ambry.Note{Layer: ambry.L2, Tags: tags("directive", r["status"]), Content: r["content"]}
		})
	})

// engram is engram: notes that agents saved, in ~/.engram/engram.db.
var engram = fromDatabase("engram", "engram", []string{"engram.db"},
	func(d *database) bool {
		return d.has("observations", "session_id", "type", "title", "content") && d.has("sessions", "id", "project")
	},
	func(ctx context.Context, d *database, yield func(Item, error) bool) {
		places := map[string]string{} // of sessions
		for r, err := range d.rows(ctx, "sessions", "") {
			if err != nil {
				yield(Item{}, err)
				return
			}
			places[r["id"]] = r["directory"]
			if r["summary"] == "" {
				continue
			}
			n := ambry.Note{Title: "Summary of a session", Content: r["summary"], Project: first(r["directory"], r["project"]), SessionID: r["id"], Tags: []string{"summary"}, CreatedAt: at(first(r["ended_at"], r["started_at"]))}
			if !yield(item(n, "engram", "session:"+r["id"]), nil) {
				return
			}
		}
		for r, err := range d.rows(ctx, "observations", "ORDER BY id") {
			if err != nil {
				yield(Item{}, err)
				return
			}
			if r["deleted_at"] != "" || r["content"] == "" {
				continue
			}
			n := ambry.Note{
				Title: r["title"], Content: r["content"], Project: first(places[r["session_id"]], r["project"]), SessionID: r["session_id"],
				Tags: tags(r["type"], r["topic_key"], r["scope"]), CreatedAt: at(r["created_at"]), Layer: layerOf(r["type"]),
			}
			if !yield(item(n, "engram", "observation:"+first(r["sync_id"], r["id"])), nil) {
				return
			}
		}
	})

// layerOf maps the kinds that programs give to memories to layers.
func layerOf(kind string) ambry.Layer {
	switch strings.ToLower(kind) {
	case "decision", "preference", "pattern", "rule", "directive", "policy", "convention", "learning":
		return ambry.L2
	case "architecture", "config", "fact", "discovery", "world_model":
		return ambry.L3
	case "skill", "procedure":
		return ambry.Skill
	}
	return ambry.L1
}

// memmy is memmy: traces, policies, world models and skills, in
// ~/.memmy/memory-service/memory.sqlite.
var memmy = fromDatabase("memmy", "memmy", []string{"memory-service/memory.sqlite", "memory.sqlite"},
	func(d *database) bool { return d.has("memories", "memory_value", "memory_layer", "memory_key") },
	func(ctx context.Context, d *database, yield func(Item, error) bool) {
		for r, err := range d.rows(ctx, "memories", "ORDER BY id") {
			if err != nil {
				yield(Item{}, err)
				return
			}
			if r["deleted_at"] != "" || r["status"] == "deleted" || strings.TrimSpace(r["memory_value"]) == "" {
				continue
			}
			n := ambry.Note{
				Title: r["memory_key"], Content: r["memory_value"], Layer: ambry.L1, SessionID: r["session_id"],
				Tags: tags("", list(r["tags_json"])...), CreatedAt: at(r["created_at"]),
			}
			switch l := ambry.Layer(r["memory_layer"]); l {
			case ambry.L2, ambry.L3, ambry.Skill:
				n.Layer = l
			}
			if !yield(item(n, first(r["agent_id"], r["app_id"], "memmy"), r["id"]), nil) {
				return
			}
		}
	})

// memPalace is MemPalace: drawers in wings and rooms, kept by ChromaDB in
// ~/.mempalace/palace/chroma.sqlite3.
var memPalace = fromDatabase("mempalace", "MemPalace", []string{"chroma.sqlite3", "palace/chroma.sqlite3"},
	func(d *database) bool {
		return d.has("embedding_metadata", "id", "key", "string_value") && d.has("embeddings", "embedding_id")
	},
	func(ctx context.Context, d *database, yield func(Item, error) bool) {
		var facts row
		current := ""
		flush := func() bool {
			if facts == nil || strings.TrimSpace(facts["chroma:document"]) == "" {
				return true
			}
			n := ambry.Note{
				Content: facts["chroma:document"], Project: "", Tags: tags(facts["wing"], facts["room"], facts["hall"]),
				CreatedAt: at(first(facts["filed_at"], facts["created_at"], facts["date"])),
			}
			return yield(item(n, "mempalace", facts[" id"]), nil)
		}
		for r, err := range d.rows(ctx, "embedding_metadata", `AS m JOIN embeddings AS e ON e.id = m.id ORDER BY m.id`) {
			if err != nil {
				yield(Item{}, err)
				return
			}
			if r["id"] != current {
				if !flush() {
					return
				}
				facts, current = row{" id": r["embedding_id"]}, r["id"]
			}
			facts[r["key"]] = first(r["string_value"], r["int_value"], r["float_value"])
		}
		flush()
	})

// first returns the first text that is not empty.
func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// list reads a JSON list of texts, or a text that is none.
func list(s string) []string {
	if s == "" {
		return nil
	}
	var out []string
	if json.Unmarshal([]byte(s), &out) == nil {
		return out
	}
	var any []json.RawMessage
	if json.Unmarshal([]byte(s), &any) == nil {
		for _, v := range any {
			out = append(out, string(v))
		}
		return out
	}
	return []string{s}
}

func bullets(items []string) string {
	var out strings.Builder
	for _, i := range items {
		out.WriteString("- " + i + "\n")
	}
	return out.String()
}

// The bounds of what a note takes.
const (
	maxTags    = 16
	maxTag     = 64
	maxTitle   = 500
	maxProject = 4096
	maxID      = 256
)

// tags are texts as tags: those that there are, each once.
func tags(one string, more ...string) []string {
	var out []string
	seen := map[string]bool{}
	for _, t := range append([]string{one}, more...) {
		t = clip(strings.Join(strings.Fields(t), " "), maxTag)
		if t == "" || seen[t] || len(out) == maxTags {
			continue
		}
		seen[t] = true
		out = append(out, t)
	}
	return out
}

// item is a note of a program, within the bounds of notes.
func item(n ambry.Note, source, key string) Item {
	n.Source = clip(source, 128)
	n.Content = clip(n.Content, maxText)
	n.Title = clip(strings.Join(strings.Fields(n.Title), " "), maxTitle)
	n.Project = clip(n.Project, maxProject)
	n.SessionID = clip(n.SessionID, maxID)
	return Item{Note: &n, Key: clip(key, 160)}
}
