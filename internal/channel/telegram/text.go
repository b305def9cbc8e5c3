package telegram

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"
)

// maxText is how long a message may be, in units of UTF-16.
const maxText = 4096

// mark is something that Telegram sees in a text. It counts in units of UTF-16.
type mark struct {
	Type   string `json:"type"`
	Offset int    `json:"offset"`
	Length int    `json:"length"`
	User   *user  `json:"user"` // of a mention of somebody without a name
}

// addressed returns a text without the mentions of us, and whether there are any.
func (r *reader) addressed(text string, marks []mark) (string, bool) {
	units := utf16.Encode([]rune(text))
	marks = slices.Clone(marks)
	slices.SortStableFunc(marks, func(a, b mark) int { return cmp.Compare(b.Offset, a.Offset) }) // from the end
	ours, begins := "@"+r.me.Username, len(units)
	mentioned := false
	for _, m := range marks {
		if m.Offset < 0 || m.Length <= 0 || m.Length > begins-m.Offset {
			continue // outside of the text, or inside of another
		}
		from, to := m.Offset, m.Offset+m.Length
		said := string(utf16.Decode(units[from:to]))
		switch {
		case m.Type == "mention" && r.me.Username != "" && strings.EqualFold(said, ours):
		case m.Type == "text_mention" && m.User != nil && m.User.ID == r.me.ID:
		case m.Type == "bot_command" && r.me.Username != "":
			// "/status@ambry_bot" is a command for us alone.
			at := strings.IndexByte(said, '@')
			if at < 0 || !strings.EqualFold(said[at:], ours) {
				continue
			}
			from += at // a command is ASCII
		default:
			continue
		}
		units, begins, mentioned = slices.Delete(units, from, to), from, true
	}
	if !mentioned {
		return strings.TrimSpace(text), false
	}
	return strings.TrimSpace(string(utf16.Decode(units))), true
}

// named is what Telegram takes for the name of somebody, whom it calls.
var named = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|[^A-Za-z0-9_])@([A-Za-z0-9_])`) })

// joiner is a character without width that ends a name.
const joiner = "\u2060"

// quiet returns a text that calls nobody.
func quiet(text string) string { return named().ReplaceAllString(text, "$1@"+joiner+"$2") }
