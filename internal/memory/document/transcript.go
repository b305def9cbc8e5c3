package document

import (
	"strings"

	"ambry.dev/ambry"
)

// Transcript writes the visible part of a turn as text: who speaks in a heading,
// and the tools that were used.
func Transcript(t ambry.Turn) string {
	var out strings.Builder
	for _, m := range t.Messages {
		if m.Hidden {
			continue
		}
		if m.Text != "" {
			section(&out, string(m.Role), m.Text)
		}
		for _, c := range m.Calls {
			section(&out, "tool "+c.Name, c.Input)
			if c.Output != "" {
				section(&out, "result of "+c.Name, c.Output)
			}
		}
	}
	return out.String()
}

func section(out *strings.Builder, heading, text string) {
	if out.Len() > 0 {
		out.WriteString("\n\n")
	}
	out.WriteString("## ")
	out.WriteString(heading)
	out.WriteString("\n\n")
	out.WriteString(strings.TrimRight(text, "\n"))
}
