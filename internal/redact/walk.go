package redact

import (
	"slices"

	"ambry.dev/ambry"
)

// Every text is cleaned, also those that ought to have no secret in them: ids
// and paths are made from what people typed. One that has none stays the same,
// byte for byte, so that ids still say what is the same turn.

func conversation(c ambry.Conversation, found *int) ambry.Conversation {
	s := &c.Session
	wash(found, &s.ID, &s.Agent, &s.ParentID, (*string)(&s.Relation), &s.Title, &s.Cwd, &s.Project, &s.Branch, &s.Model, &s.Version)
	c.Turns = cleaned(c.Turns, found, turn)
	return c
}

func turn(t *ambry.Turn, found *int) {
	wash(found, &t.ID, &t.Cwd, &t.Branch, &t.Model, &t.Source.Path, &t.Source.Row)
	t.Messages = cleaned(t.Messages, found, message)
}

func message(m *ambry.Message, found *int) {
	wash(found, &m.ID, (*string)(&m.Role), &m.Text, &m.Model)
	m.Calls = cleaned(m.Calls, found, call)
	m.Files = cleaned(m.Files, found, attached)
}

func call(c *ambry.ToolCall, found *int) {
	wash(found, &c.ID, &c.Name, &c.Input, &c.Output, &c.Session)
}

func attached(a *ambry.Attached, found *int) {
	wash(found, &a.Kind, &a.Mime, &a.Name)
}

func note(n ambry.Note, found *int) ambry.Note {
	wash(found, &n.Content, (*string)(&n.Layer), &n.Title, &n.Source, &n.Project, &n.SessionID, &n.TurnID)
	n.Tags = cleaned(n.Tags, found, func(tag *string, found *int) { wash(found, tag) })
	return n
}

// cleaned returns a copy of list whose elements clean has gone through.
func cleaned[T any](list []T, found *int, clean func(*T, *int)) []T {
	list = slices.Clone(list)
	for i := range list {
		clean(&list[i], found)
	}
	return list
}

// wash cleans the texts in place and adds what was found.
func wash(found *int, texts ...*string) {
	for _, text := range texts {
		clean, n := Text(*text)
		*text = clean
		*found += n
	}
}
