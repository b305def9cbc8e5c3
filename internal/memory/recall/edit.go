package recall

import (
	"encoding/json"
	"strings"

	"ambry.dev/ambry"
)

// How much is read of the calls of a memory for edits, and how much of a line may
// be another value.
const (
	maxEdits    = 16 << 10 // bytes of all calls
	maxEditLine = 200
	maxValue    = 24
)

// revalues reports whether a call puts another value in the place of one: a line
// is taken away, and one is added that says the same but for one place. It reads
// so many bytes at most as rest says, and takes them off.
func revalues(c ambry.ToolCall, rest *int) bool {
	input := upTo(c.Input, rest)
	if strings.HasPrefix(input, "{") {
		var fields struct {
			Old   string `json:"old_string"`
			New   string `json:"new_string"`
			Input string `json:"input"` // of a tool that takes a patch
			Patch string `json:"patch"`
		}
		// What is none of these has no edit that can be read.
		if mayEdit(input) && json.Unmarshal([]byte(input), &fields) == nil {
			input = fields.Input + "\n" + fields.Patch
			if otherLines(fields.Old, fields.New) || diffRevalues(input) {
				return true
			}
		}
	} else if diffRevalues(input) {
		return true
	}
	return diffRevalues(upTo(c.Output, rest))
}

// mayEdit tells without reading all of it whether arguments can be of an edit.
func mayEdit(input string) bool {
	return strings.Contains(input, `"old_string"`) || strings.Contains(input, `\n-`)
}

// upTo returns the beginning of text that rest allows, and takes it off.
func upTo(text string, rest *int) string {
	text = text[:min(len(text), *rest)]
	*rest -= len(text)
	return text
}

// otherLines compares what an edit replaces with what it puts there, if these are
// as many lines.
func otherLines(before, after string) bool {
	if before == "" || strings.Count(before, "\n") != strings.Count(after, "\n") {
		return false
	}
	for old := range strings.Lines(before) {
		var fresh string
		fresh, after, _ = strings.Cut(after, "\n")
		if len(old) <= maxEditLine && otherValue(old, fresh) {
			return true
		}
	}
	return false
}

// diffRevalues does the same for a diff: the lines that are taken away stand
// before those that are added.
func diffRevalues(text string) bool {
	if !strings.Contains(text, "\n+") {
		return false
	}
	var taken []string
	for line := range strings.Lines(text) {
		switch {
		case len(line) > maxEditLine:
			taken = taken[:0]
		case line[0] == '-':
			taken = append(taken, line[1:])
		case line[0] != '+':
			taken = taken[:0]
		default:
			for _, old := range taken[:min(len(taken), maxTaken)] {
				if otherValue(old, line[1:]) {
					return true
				}
			}
		}
	}
	return false
}

// maxTaken bounds with how many lines that are taken away one is compared.
const maxTaken = 8

// otherValue reports whether two lines say the same but for one short value, of
// which there is more left than that.
func otherValue(a, b string) bool {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	n, m := 0, 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	for m < min(len(a), len(b))-n && a[len(a)-1-m] == b[len(b)-1-m] {
		m++
	}
	x, y := len(a)-n-m, len(b)-n-m
	return x+y > 0 && x <= maxValue && y <= maxValue && n+m >= max(x, y)
}
