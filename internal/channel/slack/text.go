package slack

import (
	"strconv"
	"strings"
	"time"
)

var (
	escaper   = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	unescaper = strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">")
)

// escape returns a text in which Slack sees no mention and no link with another
// name: these are in angle brackets.
func escape(text string) string { return escaper.Replace(text) }

// plain returns what people see of a text that Slack sends, without the mentions
// of me, and whether there are any.
func plain(text, me string) (string, bool) {
	var out strings.Builder
	mentioned := false
	for {
		before, rest, ok := strings.Cut(text, "<")
		out.WriteString(unescaper.Replace(before))
		if !ok {
			return strings.TrimSpace(out.String()), mentioned
		}
		inside, after, ok := strings.Cut(rest, ">")
		if !ok || strings.Contains(inside, "<") {
			out.WriteByte('<') // Slack does not send such
			text = rest
			continue
		}
		text = after
		if id, _, _ := strings.Cut(inside, "|"); id == "@"+me {
			mentioned = true
			continue
		}
		out.WriteString(unescaper.Replace(seen(inside)))
	}
}

// seen returns what people see of what is in angle brackets.
func seen(inside string) string {
	what, label, labelled := strings.Cut(inside, "|")
	switch {
	case strings.HasPrefix(what, "@"):
		if labelled && label != "" {
			return "@" + strings.TrimPrefix(label, "@")
		}
		return what
	case strings.HasPrefix(what, "#"):
		if labelled && label != "" {
			return "#" + strings.TrimPrefix(label, "#")
		}
		return what
	case strings.HasPrefix(what, "!"):
		if labelled && label != "" {
			return label
		}
		return "@" + strings.TrimPrefix(what, "!")
	case !labelled, strings.TrimPrefix(strings.TrimPrefix(what, "https://"), "http://") == label:
		return what
	case strings.TrimPrefix(strings.TrimPrefix(what, "mailto:"), "tel:") == label:
		return label
	}
	return label + " (" + what + ")"
}

// at returns the time of a message, now if it has none.
func at(ts string) time.Time {
	seconds, _, _ := strings.Cut(ts, ".")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || n < 0 || n > 1<<40 {
		return time.Now()
	}
	return time.Unix(n, 0)
}
