package edit

import (
	"bytes"
	"encoding/json/jsontext"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// newline is how the lines of a text end: as most of them do.
func newline(text []byte) string {
	if crlf := bytes.Count(text, []byte("\r\n")); 2*crlf > bytes.Count(text, []byte("\n")) {
		return "\r\n"
	}
	return "\n"
}

// lineStart is where the line begins that at is in.
func lineStart(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }

// lineEnd is where the line that at is in ends, before its line break.
func lineEnd(text []byte, at int) int {
	end := len(text)
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		end = at + i
	}
	if end > at && text[end-1] == '\r' {
		end--
	}
	return end
}

// nextLine is where the line after the one that at is in begins.
func nextLine(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

// margin is the blanks before the first other character of the line that at is in.
func margin(text []byte, at int) string {
	from := lineStart(text, at)
	if from == 0 && bytes.HasPrefix(text, bom) {
		from = len(bom)
	}
	line := text[from:lineEnd(text, from)]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// quote writes a text in double quotes, as JSON does; YAML and TOML read the
// same.
func quote(s string) string {
	data, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		data, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return strings.ReplaceAll(string(data), "\x7f", `\u007f`) // which TOML does not allow as it is
}

// layout is how values are written.
type layout struct {
	nl    string // "" to write on one line
	unit  string // one step of indentation
	colon string // between key and value
	comma string // between items on one line
	open  string // inside braces on one line
	bare  bool   // keys need no quotes
}

var bareKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]+$`) })

func (l layout) key(k string) string {
	if l.bare && bareKey().MatchString(k) {
		return k
	}
	return quote(k)
}

// value writes a value as JSON. The lines after the first begin with margin.
func (l layout) value(v any, margin string) string {
	switch v := v.(type) {
	case Default:
		return l.value(v.Value, margin)
	case Object:
		parts := make([]string, 0, len(v))
		for _, f := range v {
			parts = append(parts, l.key(f.Key)+l.colon+l.value(f.Value, margin+l.unit))
		}
		return l.wrap("{", parts, "}", margin)
	case []any:
		parts := make([]string, 0, len(v))
		for _, item := range v {
			parts = append(parts, l.value(item, margin+l.unit))
		}
		return l.wrap("[", parts, "]", margin)
	case []string:
		items := make([]any, 0, len(v))
		for _, s := range v {
			items = append(items, s)
		}
		return l.value(items, margin)
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case string:
		return quote(v)
	}
	panic("edit: a value of a type that is not written")
}

func (l layout) wrap(open string, parts []string, end, margin string) string {
	switch {
	case len(parts) == 0:
		return open + end
	case l.nl == "" && open == "{":
		return open + l.open + strings.Join(parts, l.comma) + l.open + end
	case l.nl == "":
		return open + strings.Join(parts, l.comma) + end
	}
	inner := l.nl + margin + l.unit
	return open + inner + strings.Join(parts, ","+inner) + l.nl + margin + end
}
