package main

import (
	"strings"

	"ambry.dev/ambry"
)

// flat is plain text on one line.
func flat(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, ambry.Plain(text))
}

// style is how text is set off on a terminal. The zero value changes nothing.
type style struct{ on bool }

// style returns how standard output shows text.
func (p *program) style() style {
	return style{on: terminal(p.out) && p.getenv("NO_COLOR") == "" && p.getenv("TERM") != "dumb"}
}

func (s style) bold(text string) string { return s.wrap("\x1b[1m", text) }
func (s style) dim(text string) string  { return s.wrap("\x1b[2m", text) }

func (s style) wrap(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return code + text + "\x1b[0m"
}

// marked is text on one line with the given byte ranges in bold. Ranges that
// make no sense are left alone.
func (s style) marked(text string, ranges [][2]int) string {
	var b strings.Builder
	done := 0
	for _, r := range ranges {
		from, to := r[0], r[1]
		if from < done || to <= from || to > len(text) {
			continue
		}
		b.WriteString(flat(text[done:from]) + s.bold(flat(text[from:to])))
		done = to
	}
	return b.String() + flat(text[done:])
}

// indent puts margin before each line.
func indent(text, margin string) string {
	return margin + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+margin)
}
