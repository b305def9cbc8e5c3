package store

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/words"
)

// scribe holds what it takes to get a turn ready for the disk. It is for one
// goroutine.
type scribe struct {
	*packer
	cutter *words.Cutter
	lead   []byte
	rest   []byte
}

func newScribe() *scribe { return &scribe{packer: newPacker(), cutter: words.NewCutter()} }

// maxScribes bounds the memory of imports that run at the same time.
const maxScribes = 2

// borrow returns a scribe, and what gives it back.
func (s *Store) borrow(ctx context.Context) (*scribe, func(), error) {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	w, ok := s.scribes.Get().(*scribe)
	if !ok {
		w = newScribe()
	}
	return w, func() { s.scribes.Put(w); <-s.slots }, nil
}

// content is a turn or note ready for the disk.
type content struct {
	packed         []byte // nil for a note
	title, summary string
	terms          terms
	at             int64 // Unix milliseconds, 0 if unknown
	counts         counts
	tags           []string // that a new memory gets
	visible        bool     // there is something to show and to find
}

// terms are the two columns of the text index that hold text.
type terms struct{ lead, rest string }

// Caps of what is indexed of one turn, in bytes. What is longer is found by its
// beginning and, for outputs, by its end, where errors stand.
const (
	maxRequest    = 16 << 10
	maxReply      = 32 << 10
	maxInput      = 1000
	maxOutputHead = 2000
	maxOutputTail = 1000
	maxIndexed    = 256 << 10 // all texts of one turn together
)

// content makes a turn ready; encoded is the JSON of b.
func (s *scribe) content(b body, encoded []byte) content {
	c := content{packed: s.pack(encoded), counts: b.counts()}
	if at := b.at(); !at.IsZero() {
		c.at = at.UnixMilli()
	}
	c.title, c.summary = headline(b)
	c.terms = s.terms(b)
	c.visible = c.terms != terms{}
	return c
}

// terms cuts the visible texts of a turn.
func (s *scribe) terms(b body) terms {
	s.lead, s.rest = s.lead[:0], s.rest[:0]
	s.cutter.Begin()
	left := maxRequest
	for _, m := range b.Messages {
		if m.Role == ambry.User && !m.Hidden && left > 0 {
			text := head(m.Text, left)
			left -= len(text)
			s.lead = s.cutter.Append(s.lead, text)
		}
	}
	s.cutter.Begin()
	left, all := maxReply, maxIndexed
	add := func(text string) {
		text = head(text, all)
		all -= len(text)
		s.rest = s.cutter.Append(s.rest, text)
	}
	for _, m := range b.Messages {
		if m.Hidden {
			continue
		}
		if m.Role != ambry.User {
			text := head(m.Text, left)
			left -= len(text)
			add(text)
		}
		for _, call := range m.Calls {
			add(call.Name)
			add(head(call.Input, maxInput))
			add(head(call.Output, maxOutputHead))
			if over := len(call.Output) - maxOutputHead; over > 0 {
				add(tail(call.Output, min(over, maxOutputTail)))
			}
		}
		for _, f := range m.Files {
			add(f.Name)
		}
	}
	return terms{lead: string(s.lead), rest: string(s.rest)}
}

// noteTerms cuts a note: its title, tags and beginning lead.
func (s *scribe) noteTerms(title string, tags []string, text string) terms {
	s.cutter.Begin()
	s.lead = s.cutter.Append(s.lead[:0], title)
	for _, tag := range tags {
		s.lead = s.cutter.Append(s.lead, tag)
	}
	first := head(text, maxRequest)
	s.lead = s.cutter.Append(s.lead, first)
	s.cutter.Begin()
	s.rest = s.cutter.Append(s.rest[:0], head(text[len(first):], maxIndexed))
	return terms{lead: string(s.lead), rest: string(s.rest)}
}

// day returns the terms of the day of a time, as people write it.
func (s *scribe) day(at int64) string {
	s.cutter.Begin()
	return string(s.cutter.Append(nil, sqlite.Time(at).Format("2 January 2006 Monday")))
}

// Lengths of titles and summaries, in characters.
const (
	titleRunes   = 120
	summaryRunes = 280
)

// headline makes a title of what was asked and a summary of how it ended.
func headline(b body) (title, summary string) {
	called := ""
	for _, m := range b.Messages {
		if m.Hidden {
			continue
		}
		switch {
		case m.Role == ambry.User && title == "":
			title = shorten(m.Text, titleRunes)
		case m.Role == ambry.Assistant:
			if line := shorten(m.Text, summaryRunes); line != "" {
				summary = line
			}
		}
		if called == "" && len(m.Calls) > 0 {
			called = shorten(m.Calls[0].Name+" "+head(m.Calls[0].Input, summaryRunes), titleRunes)
		}
	}
	if title == "" {
		title = shorten(summary, titleRunes)
	}
	if title == "" {
		title = called
	}
	if title == "" {
		title = "(untitled)"
	}
	return title, summary
}

// shorten returns text on one line, cut after limit characters.
func shorten(text string, limit int) string {
	var out strings.Builder
	n, gap := 0, false
	for _, r := range text {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			gap = n > 0
			continue
		}
		if n >= limit {
			return out.String() + "…"
		}
		if gap {
			out.WriteByte(' ')
			n, gap = n+1, false
		}
		out.WriteRune(r)
		n++
	}
	return out.String()
}

// head returns the beginning of s, at most n bytes and whole characters.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:max(n, 0)]
}

// tail returns the end of s, at most n bytes and whole characters.
func tail(s string, n int) string {
	i := max(len(s)-n, 0)
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return s[i:]
}
