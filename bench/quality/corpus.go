package main

import (
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/recall"
	"ambry.dev/ambry/internal/model"
)

// corpus is one memory and the questions to it. The ids of its turns are unique
// in it; the evidence of a question names them.
type corpus struct {
	name      string
	now       time.Time // when the questions are asked; zero is now
	sessions  []ambry.Conversation
	questions []question
	model     model.Embedder // nil: words only
	fit       *recall.Fit    // of the model, if not its own
}

// question is something that a person or an agent asks the memory.
type question struct {
	id    string
	kind  string
	lang  string
	half  string
	query ambry.Query
	want  []string // turns that answer it; none if nothing does
	stale []string // turns that tell what was true before
}

func (c corpus) sessionByTurn() map[string]string {
	by := map[string]string{}
	for _, s := range c.sessions {
		for _, t := range s.Turns {
			by[t.ID] = s.Session.ID
		}
	}
	return by
}

// set is a corpus or several, measured alike.
type set struct {
	name   string
	public bool // read from -data; never part of this repository
	load   func(options) ([]corpus, error)
}

var sets = []set{
	{"own", false, loadOwn},
	{"locomo", true, loadLocomo},
	{"beam", true, loadBeam},
	{"cmrc", true, loadCMRC},
	{"drcd", true, loadDRCD},
}

func setNames() []string {
	var names []string
	for _, s := range sets {
		names = append(names, s.name)
	}
	return names
}

// utterance is a turn in which one thing is said.
func utterance(id string, role ambry.Role, at time.Time, text string, line int) ambry.Turn {
	return ambry.Turn{
		ID: id, At: at, Source: ambry.Source{Path: id, Line: line},
		Messages: []ambry.Message{{ID: "0", Role: role, Text: text, At: at, Line: line}},
	}
}
