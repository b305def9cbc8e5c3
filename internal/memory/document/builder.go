package document

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/sqlite"
	"ambry.dev/ambry/internal/memory/words"
)

// Builder holds what it takes to get a turn ready for the disk. It is for one
// goroutine.
type Builder struct {
	*packer
	cutter *words.Cutter
	lead   []byte
	rest   []byte
}

// NewBuilder returns a builder.
func NewBuilder() *Builder { return &Builder{packer: newPacker(), cutter: words.NewCutter()} }

// Content is a turn or note ready for the disk.
type Content struct {
	Packed         []byte // nil for a note
	Title, Summary string
	Terms          Terms
	At             int64 // Unix milliseconds, 0 if unknown
	Counts         Counts
	Tags           []string // that a new memory gets
	Visible        bool     // there is something to show and to find
}

// Terms are the two columns of the text index that hold text.
type Terms struct{ Lead, Rest string }

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

// Content makes a turn ready; encoded is the JSON of b.
func (w *Builder) Content(b Body, encoded []byte) Content {
	c := Content{Packed: w.pack(encoded), Counts: b.counts()}
	if at := b.Began().UTC(); !at.IsZero() && at.Year() >= 0 && at.Year() <= 9999 { // others cannot be written as JSON
		c.At = at.UnixMilli()
	}
	c.Title, c.Summary = headline(b)
	c.Terms = w.Terms(b)
	c.Visible = c.Terms != Terms{}
	return c
}

// Terms cuts the visible texts of a turn.
func (w *Builder) Terms(b Body) Terms {
	w.lead, w.rest = w.lead[:0], w.rest[:0]
	w.cutter.Begin()
	left := maxRequest
	for _, m := range b.Messages {
		if m.Role == ambry.User && !m.Hidden && left > 0 {
			text := Head(m.Text, left)
			left -= len(text)
			w.lead = w.cutter.Append(w.lead, text)
		}
	}
	w.cutter.Begin()
	left, all := maxReply, maxIndexed
	add := func(text string) {
		text = Head(text, all)
		all -= len(text)
		w.rest = w.cutter.Append(w.rest, text)
	}
	for _, m := range b.Messages {
		if m.Hidden {
			continue
		}
		if m.Role != ambry.User {
			text := Head(m.Text, left)
			left -= len(text)
			add(text)
		}
		for _, call := range m.Calls {
			add(call.Name)
			add(Head(call.Input, maxInput))
			add(Head(call.Output, maxOutputHead))
			if over := len(call.Output) - maxOutputHead; over > 0 {
				add(tail(call.Output, min(over, maxOutputTail)))
			}
		}
		for _, f := range m.Files {
			add(f.Name)
		}
	}
	return Terms{Lead: string(w.lead), Rest: string(w.rest)}
}

// NoteTerms cuts a note: its title, tags and beginning lead.
func (w *Builder) NoteTerms(title string, tags []string, text string) Terms {
	w.cutter.Begin()
	w.lead = w.cutter.Append(w.lead[:0], title)
	for _, tag := range tags {
		w.lead = w.cutter.Append(w.lead, tag)
	}
	first := Head(text, maxRequest)
	w.lead = w.cutter.Append(w.lead, first)
	w.cutter.Begin()
	w.rest = w.cutter.Append(w.rest[:0], Head(text[len(first):], maxIndexed))
	return Terms{Lead: string(w.lead), Rest: string(w.rest)}
}

// Cut returns the terms of a text.
func (w *Builder) Cut(text string) string {
	w.cutter.Begin()
	return string(w.cutter.Append(nil, text))
}

// Day returns the terms of the day of a time, as people write it.
func (w *Builder) Day(at int64) string {
	w.cutter.Begin()
	return string(w.cutter.Append(nil, sqlite.Time(at).Format("2 January 2006 Monday")))
}

// Lengths of titles and summaries, in characters.
const (
	titleRunes   = 120
	summaryRunes = 280
)

// headline makes a title of what was asked and a summary of how it ended.
func headline(b Body) (title, summary string) {
	called := ""
	for _, m := range b.Messages {
		if m.Hidden {
			continue
		}
		switch {
		case m.Role == ambry.User && title == "":
			title = TitleOf(m.Text)
		case m.Role == ambry.Assistant:
			if line := SummaryOf(m.Text); line != "" {
				summary = line
			}
		}
		if called == "" && len(m.Calls) > 0 {
			called = shorten(m.Calls[0].Name+" "+Head(m.Calls[0].Input, summaryRunes), titleRunes)
		}
	}
	if title == "" {
		title = TitleOf(summary)
	}
	if title == "" {
		title = called
	}
	if title == "" {
		title = "(untitled)"
	}
	return title, summary
}

// TitleOf makes a title of a text.
func TitleOf(text string) string { return shorten(text, titleRunes) }

// SummaryOf makes a summary of a text.
func SummaryOf(text string) string { return shorten(text, summaryRunes) }

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

// Head returns the beginning of s, at most n bytes and whole characters.
func Head(s string, n int) string {
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

// Note makes a note ready for the disk.
func (w *Builder) Note(n ambry.Note) Content {
	c := Content{Title: TitleOf(n.Title), Summary: SummaryOf(n.Content), Visible: true}
	if c.Title == "" {
		c.Title = TitleOf(n.Content)
	}
	c.At = sqlite.Millis(n.CreatedAt)
	c.Terms = w.NoteTerms(n.Title, n.Tags, n.Content)
	return c
}
