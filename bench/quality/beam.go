package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"ambry.dev/ambry"
)

// loadBeam reads the chats of BEAM's 100K size (github.com/mohammadtavakoli78/BEAM),
// a memory each: a message is a turn, a batch of them a session.
func loadBeam(o options) ([]corpus, error) {
	dirs, err := filepath.Glob(filepath.Join(o.data, "beam", "100K", "*"))
	if err != nil {
		return nil, err
	}
	if len(dirs) == 0 {
		return nil, fmt.Errorf("no chat in %s", filepath.Join(o.data, "beam", "100K"))
	}
	var all []corpus
	for _, dir := range dirs {
		c := corpus{name: "beam100K/" + filepath.Base(dir)}
		known, err := c.readChat(filepath.Join(dir, "chat.json"))
		if err != nil {
			return nil, fmt.Errorf("chat of %s: %w", c.name, err)
		}
		if err := c.readProbes(filepath.Join(dir, "probing_questions", "probing_questions.json"), known); err != nil {
			return nil, fmt.Errorf("questions of %s: %w", c.name, err)
		}
		all = append(all, c)
	}
	return all, nil
}

// reference is what the makers of BEAM append to a message to say what it
// belongs to; no person would write it.
var reference = regexp.MustCompile(`\s*->->\s*[\d,\s]*$`)

func (c *corpus) readChat(path string) (known map[string]bool, err error) {
	var batches []struct {
		Turns [][]struct {
			Role    ambry.Role `json:"role"`
			ID      int        `json:"id"`
			Anchor  string     `json:"time_anchor"`
			Content string     `json:"content"`
		} `json:"turns"`
	}
	if err := readJSON(path, &batches); err != nil {
		return nil, err
	}
	known = map[string]bool{}
	for i, b := range batches {
		s := ambry.Conversation{Session: ambry.Session{ID: fmt.Sprint("batch ", i), Agent: "beam"}}
		for _, messages := range b.Turns {
			for _, m := range messages {
				if at, err := time.Parse("January-2-2006", m.Anchor); err == nil {
					c.now = at
				}
				id := strconv.Itoa(m.ID)
				known[id] = true
				s.Turns = append(s.Turns, utterance(id, m.Role, c.now, reference.ReplaceAllString(m.Content, ""), len(s.Turns)+1))
			}
		}
		c.sessions = append(c.sessions, s)
	}
	return known, nil
}

func (c *corpus) readProbes(path string, known map[string]bool) error {
	var kinds map[string][]struct {
		Question string `json:"question"`
		Sources  any    `json:"source_chat_ids"`
	}
	if err := readJSON(path, &kinds); err != nil {
		return err
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		for i, probe := range kinds[kind] {
			var want []string
			for _, id := range numbers(probe.Sources) {
				if known[id] && !slices.Contains(want, id) {
					want = append(want, id)
				}
			}
			if len(want) == 0 || probe.Question == "" {
				continue
			}
			c.questions = append(c.questions, question{
				id: fmt.Sprintf("%s/%s/%d", c.name, kind, i), kind: kind, query: ambry.Query{Query: probe.Question}, want: want,
			})
		}
	}
	return nil
}

// numbers returns the numbers in a value: BEAM gives a list, or lists by name.
func numbers(v any) []string {
	var all []string
	switch v := v.(type) {
	case float64:
		all = append(all, strconv.Itoa(int(v)))
	case []any:
		for _, inner := range v {
			all = append(all, numbers(inner)...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(all, numbers(v[name])...)
		}
	}
	return all
}

func readJSON(path string, to any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}
