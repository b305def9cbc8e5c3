package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"ambry.dev/ambry"
)

// beamReference is what the makers of BEAM append to a message; no person would
// write it.
var beamReference = regexp.MustCompile(`\s*->->\s*[\d,\s]*$`)

// beam reads the chats of BEAM's 100K size (github.com/mohammadtavakoli78/BEAM): each is
// a project, a batch of messages a session, and a request with its answer a turn.
func beam(dir string) ([]ambry.Conversation, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "chat.json"))
	if err != nil || len(files) == 0 {
		return nil, cmp.Or(err, errors.New("no chat in "+dir))
	}
	var all []ambry.Conversation
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var batches []struct {
			Turns [][]struct {
				Role    ambry.Role `json:"role"`
				ID      int        `json:"id"`
				Anchor  string     `json:"time_anchor"`
				Content string     `json:"content"`
			} `json:"turns"`
		}
		if err := json.Unmarshal(text, &batches); err != nil {
			return nil, err
		}
		chat := filepath.Base(filepath.Dir(file))
		at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
		for i, b := range batches {
			c := ambry.Conversation{Session: ambry.Session{ID: fmt.Sprintf("%s.%d", chat, i), Agent: "codex", Project: "/beam/" + chat, Cwd: "/beam/" + chat}}
			for _, messages := range b.Turns {
				for _, m := range messages {
					if day, err := time.Parse("January-2-2006", m.Anchor); err == nil && day.After(at) {
						at = day
					}
					at = at.Add(time.Second)
					id := strconv.Itoa(m.ID)
					said := ambry.Message{ID: id, Role: m.Role, Text: beamReference.ReplaceAllString(m.Content, ""), At: at}
					if n := len(c.Turns); m.Role == ambry.Assistant && n > 0 {
						c.Turns[n-1].Messages = append(c.Turns[n-1].Messages, said)
						continue
					}
					c.Turns = append(c.Turns, ambry.Turn{ID: chat + "." + id, At: at, Messages: []ambry.Message{said}})
				}
			}
			all = append(all, c)
		}
	}
	return all, nil
}

// quality reads the invented sessions of bench/quality, whose README tells their
// format.
func quality(dir string) ([]ambry.Conversation, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, cmp.Or(err, errors.New("no sessions in "+dir))
	}
	var r reader
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var p struct {
			Cwd      string `yaml:"cwd"`
			Sessions []struct {
				ID    string              `yaml:"id"`
				Agent string              `yaml:"agent"`
				At    string              `yaml:"at"`
				Talk  []map[string]string `yaml:"talk"`
			} `yaml:"sessions"`
		}
		if err := yaml.Unmarshal(text, &p); err != nil {
			return nil, err
		}
		for _, s := range p.Sessions {
			at, err := time.Parse("2006-01-02 15:04", s.At)
			if err != nil {
				return nil, err
			}
			r.sessions = append(r.sessions, ambry.Conversation{Session: ambry.Session{ID: s.ID, Agent: s.Agent, Cwd: p.Cwd, Project: p.Cwd, StartedAt: at}})
			for _, step := range s.Talk {
				for _, line := range lines(step) {
					if err := r.line(line); err != nil {
						return nil, fmt.Errorf("session %s: %w", s.ID, err)
					}
				}
			}
		}
	}
	return r.sessions, nil
}

// lines is a step of such a session in the form of a corpus.
func lines(step map[string]string) []string {
	var out []string
	for _, form := range []struct{ key, begin string }{{"user", "U: "}, {"say", "A: "}, {"run", "$ "}, {"read", "R: "}, {"edit", "E: "}} {
		if text := strings.TrimSpace(step[form.key]); text != "" {
			out = append(out, form.begin+text)
		}
	}
	if text := strings.TrimSpace(step["out"]); text != "" {
		for line := range strings.Lines(text) {
			out = append(out, "< "+strings.TrimRight(line, "\n"))
		}
	}
	if code := step["exit"]; code != "" && code != "0" {
		out = append(out, "!"+code)
	}
	return out
}
