package skill

import (
	_ "embed"
	"strings"

	"ambry.dev/ambry/internal/agent"
)

//go:embed texts/skill.md
var skillText string

//go:embed texts/note.md
var noteText string

//go:embed texts/resume.md
var resumeText string

// Teach returns what lessons are made with. Flags lead the program to the home
// of the service, if that is not the usual one.
func Teach(h agent.Home, program string, flags ...string) agent.Teaching {
	t := agent.Teaching{Home: h, Program: program, Flags: flags}
	words := append([]string{program}, flags...)
	for i, word := range words {
		words[i] = agent.Quote(word, h.OS)
	}
	fill := strings.NewReplacer("{{PROGRAM}}", strings.Join(words, " "))
	t.Skill, t.Note, t.Resume = fill.Replace(skillText), fill.Replace(noteText), fill.Replace(resumeText)
	return t
}
