// Package redact takes secrets out of text before anything is stored, sent or
// logged. It does not decide what is worth keeping, and it knows no agent.
package redact

import (
	"encoding/json"

	"ambry.dev/ambry"
)

// Conversation is a conversation without secrets. Only [Clean] and the JSON
// decoder, which cleans, make one; so whatever takes a Conversation can store
// it. The zero value is an empty conversation.
type Conversation struct {
	clean ambry.Conversation
	found int
}

// Clean returns c with the secrets of every text in it replaced. c itself is
// not changed.
func Clean(c ambry.Conversation) Conversation {
	found := 0
	cleaned := conversation(c, &found)
	return Conversation{clean: cleaned, found: found}
}

// Conversation returns the cleaned conversation. It must not be changed.
func (c Conversation) Conversation() ambry.Conversation { return c.clean }

// Found is the number of secrets that were taken out.
func (c Conversation) Found() int { return c.found }

// MarshalJSON writes the cleaned conversation.
func (c Conversation) MarshalJSON() ([]byte, error) { return json.Marshal(c.clean) }

// UnmarshalJSON reads a conversation and cleans it.
func (c *Conversation) UnmarshalJSON(data []byte) error {
	var raw ambry.Conversation
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*c = Clean(raw)
	return nil
}

// Note is a note without secrets, made by [CleanNote].
type Note struct {
	clean ambry.Note
	found int
}

// CleanNote returns n with the secrets of every text in it replaced. n itself
// is not changed.
func CleanNote(n ambry.Note) Note {
	found := 0
	cleaned := note(n, &found)
	return Note{clean: cleaned, found: found}
}

// Note returns the cleaned note.
func (n Note) Note() ambry.Note { return n.clean }

// Found is the number of secrets that were taken out.
func (n Note) Found() int { return n.found }

// CleanPatch returns p with the secrets of every text in it replaced. p itself
// is not changed.
func CleanPatch(p ambry.Patch) ambry.Patch {
	p.Title, p.Summary = cleanText(p.Title), cleanText(p.Summary)
	if p.Tags != nil {
		tags := cleaned(*p.Tags, new(int), func(tag *string, found *int) { wash(found, tag) })
		p.Tags = &tags
	}
	return p
}

// cleanText returns the clean text of a pointer that may be nil.
func cleanText(text *string) *string {
	if text == nil {
		return nil
	}
	clean, _ := Text(*text)
	return &clean
}
