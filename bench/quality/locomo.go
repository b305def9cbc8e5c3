package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ambry.dev/ambry"
)

// The kinds of LoCoMo's questions by its numbers; the last is not part of the
// turn-level measure.
var locomoKinds = map[int]string{1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: adversarial}

const adversarial = "adversarial"

// dialogue is an entry of data/locomo10.json of github.com/snap-research/locomo.
type dialogue struct {
	ID           string                     `json:"sample_id"`
	Conversation map[string]json.RawMessage `json:"conversation"`
	Questions    []struct {
		Question string          `json:"question"`
		Category int             `json:"category"`
		Evidence json.RawMessage `json:"evidence"`
	} `json:"qa"`
}

// loadLocomo makes a memory of each dialogue: an utterance is a turn, and so that
// it can be found by who said it, the name stands before it. Every other dialogue
// is of the half to choose weights on.
func loadLocomo(o options) ([]corpus, error) {
	text, err := os.ReadFile(filepath.Join(o.data, "locomo", "locomo10.json"))
	if err != nil {
		return nil, err
	}
	var dialogues []dialogue
	if err := json.Unmarshal(text, &dialogues); err != nil {
		return nil, err
	}
	var all []corpus
	for i, d := range dialogues {
		half := []string{fit, judge}[i%2]
		if o.half != "" && o.half != half {
			continue
		}
		c, err := d.corpus()
		if err != nil {
			return nil, fmt.Errorf("dialogue %s: %w", d.ID, err)
		}
		for j := range c.questions {
			c.questions[j].half = half
		}
		all = append(all, c)
	}
	return all, nil
}

func (d dialogue) corpus() (corpus, error) {
	c := corpus{name: d.ID}
	known := map[string]bool{}
	for _, n := range d.sessionNumbers() {
		s, err := d.session(n)
		if err != nil {
			return corpus{}, err
		}
		for _, t := range s.Turns {
			known[t.ID] = true
			c.now = t.At
		}
		c.sessions = append(c.sessions, s)
	}
	for i, q := range d.Questions {
		var want []string
		for _, id := range evidence(q.Evidence) {
			if known[id] && !slices.Contains(want, id) {
				want = append(want, id)
			}
		}
		if len(want) > 0 {
			c.questions = append(c.questions, question{
				id: fmt.Sprintf("%s/%d", d.ID, i), kind: locomoKinds[q.Category], query: ambry.Query{Query: q.Question}, want: want,
			})
		}
	}
	return c, nil
}

// sessionNumbers returns the n of the fields session_n, in order.
func (d dialogue) sessionNumbers() []int {
	var all []int
	for field := range d.Conversation {
		if n, err := strconv.Atoi(strings.TrimPrefix(field, "session_")); err == nil {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all
}

func (d dialogue) session(n int) (ambry.Conversation, error) {
	name := fmt.Sprintf("session_%d", n)
	var turns []struct {
		Speaker string `json:"speaker"`
		ID      string `json:"dia_id"`
		Text    string `json:"text"`
		Caption string `json:"blip_caption"`
	}
	if err := json.Unmarshal(d.Conversation[name], &turns); err != nil {
		return ambry.Conversation{}, fmt.Errorf("%s: %w", name, err)
	}
	var clock string
	if err := json.Unmarshal(d.Conversation[name+"_date_time"], &clock); err != nil {
		return ambry.Conversation{}, fmt.Errorf("time of %s: %w", name, err)
	}
	at, err := time.Parse("3:04 pm on 2 January, 2006", strings.TrimSpace(clock))
	if err != nil {
		return ambry.Conversation{}, fmt.Errorf("time of %s: %w", name, err)
	}
	c := ambry.Conversation{Session: ambry.Session{ID: name, Agent: "locomo", StartedAt: at}}
	for i, t := range turns {
		text := t.Speaker + ": " + t.Text
		if t.Caption != "" {
			text += " [image: " + t.Caption + "]"
		}
		c.Turns = append(c.Turns, utterance(t.ID, ambry.User, at.Add(time.Duration(i)*time.Second), text, i+1))
	}
	return c, nil
}

// turnID matches the ids of evidence, of which some are written otherwise than
// in the dialogue, or several in one text.
var turnID = regexp.MustCompile(`D:?(\d+):0*(\d+)`)

func evidence(raw json.RawMessage) []string {
	var texts []string
	if json.Unmarshal(raw, &texts) != nil {
		var one string
		if json.Unmarshal(raw, &one) == nil {
			texts = []string{one}
		}
	}
	var ids []string
	for _, text := range texts {
		for _, m := range turnID.FindAllStringSubmatch(text, -1) {
			ids = append(ids, "D"+m[1]+":"+m[2])
		}
	}
	return ids
}
