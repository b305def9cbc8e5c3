package main

import (
	"fmt"
	"path/filepath"

	"ambry.dev/ambry"
)

// loadCMRC reads CMRC 2018 (github.com/ymcui/cmrc2018): simplified Chinese.
func loadCMRC(o options) ([]corpus, error) {
	return loadPassages("cmrc", filepath.Join(o.data, "cmrc2018", "cmrc2018_dev.json"))
}

// loadDRCD reads DRCD (github.com/DRCKnowledgeTeam/DRCD): traditional Chinese.
func loadDRCD(o options) ([]corpus, error) {
	return loadPassages("drcd", filepath.Join(o.data, "drcd", "DRCD_test.json"))
}

// loadPassages reads a set in the form of SQuAD into one memory: a passage is a
// turn, and the questions are to find the one they were made for.
func loadPassages(name, path string) ([]corpus, error) {
	var file struct {
		Data []struct {
			Paragraphs []struct {
				Context   string `json:"context"`
				Questions []struct {
					ID       string `json:"id"`
					Question string `json:"question"`
				} `json:"qas"`
			} `json:"paragraphs"`
		} `json:"data"`
	}
	if err := readJSON(path, &file); err != nil {
		return nil, err
	}
	c := corpus{name: name}
	for i, document := range file.Data {
		s := ambry.Conversation{Session: ambry.Session{ID: fmt.Sprint(name, " ", i), Agent: name}}
		for j, p := range document.Paragraphs {
			id := fmt.Sprintf("%d/%d", i, j)
			s.Turns = append(s.Turns, utterance(id, ambry.User, asked, p.Context, j+1))
			for _, q := range p.Questions {
				c.questions = append(c.questions, question{id: q.ID, query: ambry.Query{Query: q.Question}, want: []string{id}})
			}
		}
		c.sessions = append(c.sessions, s)
	}
	if len(c.questions) == 0 {
		return nil, fmt.Errorf("no question in it")
	}
	return []corpus{c}, nil
}
