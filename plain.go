package ambry

import (
	"strings"
	"unicode"
)

// Plain takes out of text what steers a terminal or hides something from a
// reader: control characters, marks that turn the direction of writing, and tag
// characters, which show nothing and spell anything. Line ends and tabs stay.
// Histories hold whatever any program once printed.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), 0xE0000 <= r && r <= 0xE007F:
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
