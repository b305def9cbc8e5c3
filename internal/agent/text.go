package agent

import (
	"strings"
	"unicode/utf8"
)

// Title makes a title of a text: one line of at most [MaxTitle] bytes that ends
// at a word.
func Title(text string) string {
	// No more than this is needed, however much white space is in it.
	text = text[:min(len(text), 16*MaxTitle)]
	title := strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if len(title) <= MaxTitle {
		return title
	}
	end := MaxTitle - len("…")
	if space := strings.LastIndexByte(title[:end+1], ' '); space > MaxTitle/2 {
		end = space
	}
	for !utf8.RuneStart(title[end]) {
		end--
	}
	return title[:end] + "…"
}

// Project returns the directory that groups the sessions which began in cwd. On
// Windows one directory is written in several ways; they become one.
func Project(cwd string) string {
	if len(cwd) < 2 || cwd[1] != ':' {
		if trimmed := strings.TrimRight(cwd, "/"); trimmed != "" {
			return trimmed
		}
		return cwd
	}
	drive, rest := strings.ToUpper(cwd[:1]), strings.ReplaceAll(cwd[2:], "/", `\`)
	if rest = strings.TrimRight(rest, `\`); rest == "" {
		rest = `\`
	}
	return drive + ":" + rest
}
