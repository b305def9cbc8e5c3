package learn

import (
	"regexp"
	"strings"
	"sync"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
)

// scene is a turn as the rules see it.
type scene struct {
	store.Lesson
	said   []statement // by the person
	told   []statement // by the agent, at the end
	calls  []call      // of tools that run commands or change files, in order
	claims []store.Claim
}

// maxClaims bounds what is learned from one turn.
const maxClaims = 12

// lastWords is how much is read of what an agent says at the end, in bytes.
const lastWords = 6 << 10

func newScene(l store.Lesson) *scene {
	s := &scene{Lesson: l}
	for i, m := range l.Messages {
		if m.Role == ambry.User && l.Person {
			s.said = append(s.said, statements(m.Text)...)
		}
		if m.Role == ambry.Assistant {
			for _, c := range m.Calls {
				s.calls = append(s.calls, newCall(c, i))
			}
		}
	}
	for i := len(l.Messages) - 1; i >= 0; i-- {
		if m := l.Messages[i]; m.Role == ambry.Assistant && m.Text != "" {
			s.told = sentences(clean(clip(m.Text, lastWords)))
			break
		}
	}
	return s
}

// add adds a claim of a rule about the scene's project.
func (s *scene) add(c store.Claim) {
	if len(s.claims) >= maxClaims {
		return
	}
	for _, known := range s.claims {
		if known.Topic == c.Topic && known.Value == c.Value {
			return
		}
	}
	c.Body = strings.TrimSpace(c.Body)
	s.claims = append(s.claims, c)
}

// say adds what a statement says, in its own words.
func (s *scene) say(rule ambry.Rule, layer ambry.Layer, st *statement, about subject, sure float64) {
	st.taken = true
	c := store.Claim{
		Rule: rule, Layer: layer, Project: s.Project, Topic: about.topic(s.Project), Value: about.value,
		Title: st.text, Body: st.withBefore(), Sure: sure, Later: rule == ambry.OpenTask,
	}
	if about.everywhere {
		c.Project, c.Topic = "", about.topic("")
	}
	s.add(c)
	for _, ended := range about.ends {
		instead := c
		s.add(store.Claim{
			Rule: rule, Layer: layer, Project: c.Project, Topic: store.TopicOf(append([]string{c.Project}, ended...)...),
			Value: "instead: " + about.value, Ends: true, Instead: &instead, Sure: sure,
		})
	}
}

// subject is what a statement is about, and what it says of that.
type subject struct {
	about      []string
	value      string
	everywhere bool       // it holds in all projects
	ends       [][]string // subjects of which nothing else holds any more
}

func (s subject) topic(project string) store.Topic {
	return store.TopicOf(append([]string{project}, s.about...)...)
}

// pattern is an expression that is compiled when it is first used: most runs of
// the program learn nothing.
type pattern struct {
	source string
	get    func() *regexp.Regexp
}

func re(source string) *pattern {
	return &pattern{source: source, get: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(source) })}
}

func (p *pattern) in(text string) bool             { return p.get().MatchString(text) }
func (p *pattern) groups(text string) []string     { return p.get().FindStringSubmatch(text) }
func (p *pattern) without(text string) string      { return p.get().ReplaceAllString(text, "") }
func (p *pattern) place(text string) (at, end int) { return span(p.get().FindStringIndex(text)) }

func span(at []int) (int, int) {
	if at == nil {
		return -1, -1
	}
	return at[0], at[1]
}

// hasAny reports whether any of some cues is in a text. It is what most texts are
// spared the rules by.
func hasAny(text string, cues []string) bool {
	for _, c := range cues {
		if strings.Contains(text, c) {
			return true
		}
	}
	return false
}

// clip returns the beginning of a text, in whole characters.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "")
}
