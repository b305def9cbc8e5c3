package learn

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// statement is a sentence that somebody said.
type statement struct {
	text   string // as it was said, without what decorates it
	low    string // in lower case, with plain quotes
	nth    int    // place in the message
	before string // the sentence before it
	taken  bool   // by a rule
}

// withBefore returns the sentence, after the one before it where it needs that to
// be understood.
func (s *statement) withBefore() string {
	if s.before != "" && needsContext.in(s.low) {
		return s.before + " " + s.text
	}
	return s.text
}

var needsContext = re(`\b(it|that|this|they|them|those|these|instead)\b|这样|那样|这个|那个|它`)

// Sizes of what is read of a message: a long one is mostly pasted.
const (
	maxMessage  = 24 << 10
	pastedLines = 40
	headLines   = 10
	tailLines   = 5
	minRunes    = 6
	maxRunes    = 280
)

// statements cuts what a person says into sentences. Code, quotations, pasted
// texts and what agents put into a message are left out.
func statements(text string) []statement {
	if len(text) > maxMessage || boilerplate(text) {
		return nil
	}
	lines := clean(text)
	if headings(lines) > 1 {
		return nil // a document
	}
	if len(lines) > pastedLines {
		lines = append(lines[:headLines:headLines], lines[len(lines)-tailLines:]...)
	}
	return sentences(lines)
}

// openings are how messages begin that no person has typed, in lower case.
var openings = []string{
	"this session is being continued", "caveat:", "[request interrupted", "you are a ", "you are an ", "you are the ", "you're a ",
	"# agents.md", "# claude.md", "your task is", "summarize the ", "generate a ", "here is the conversation", "analyze this ",
	"the following is ", "write a title", "please generate a", "base directory for this skill", "implement the following plan",
	"a previous agent", "context:", "system:", "[image", "api error", "warning:", "error:", "traceback",
	"the user opened", "review the ", "perform a ", "here are the results", "tool result", "command output",
}

func boilerplate(text string) bool {
	start := strings.ToLower(clip(strings.TrimSpace(text), 60))
	for _, o := range openings {
		if strings.HasPrefix(start, o) {
			return true
		}
	}
	return strings.Contains(text, "[REDACTED:")
}

// clean returns the lines of a text that are somebody's own words.
func clean(text string) []string {
	text = withoutTags(text)
	var out []string
	fence := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		trimmed := strings.TrimLeft(line, " \t")
		for _, f := range []string{"```", "~~~"} {
			if !strings.HasPrefix(trimmed, f) {
				continue
			}
			switch {
			case fence == f:
				fence = ""
			case fence == "" && strings.Count(trimmed, f) == 1:
				fence = f
			}
			trimmed = ""
		}
		if fence != "" || trimmed == "" || foreign(line, trimmed) {
			continue
		}
		out = append(out, trimmed)
	}
	return out
}

// withoutTags takes out what stands between an opening tag and its end: agents put
// their own words there.
func withoutTags(text string) string {
	for range 64 {
		at := strings.IndexByte(text, '<')
		start, name := at, ""
		for at >= 0 {
			if name = tagName(text[start+1:]); name != "" {
				break
			}
			next := strings.IndexByte(text[start+1:], '<')
			if next < 0 {
				return text
			}
			start += 1 + next
		}
		if name == "" {
			return text
		}
		closing := "</" + name + ">"
		end := strings.Index(text[start:], closing)
		if end < 0 {
			text = text[:start] + "\n" + text[start+1+len(name):]
			continue
		}
		text = text[:start] + "\n" + text[start+end+len(closing):]
	}
	return text
}

func tagName(text string) string {
	for i := range min(len(text), 48) {
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z', i > 0 && (c == '-' || c == '_' || c >= '0' && c <= '9'):
		case i > 2 && (c == '>' || c == ' '):
			return text[:i]
		default:
			return ""
		}
	}
	return ""
}

// codeStarts are how lines begin that are code, logs or output.
var codeStarts = []string{
	">", "|", "+", "@@", "//", "/*", "*/", "#!", "$ ", "% ", "import ", "from ", "def ", "func ", "class ", "return ", "const ", "let ", "var ",
	"at ", "e   ", "--", "===", "<", "{", "}", "[", "(", "traceback", "file \"", "diff ", "index ", "commit ", "author:", "date:", "error:",
	"warn", "info", "debug", "fatal:", "npm err", "panic:", "exit code", "user:", "assistant:", "human:", "q:", "a:", "note:", "tip:", "usage:", "example:",
	"package ", "select ", "insert ", "create table", "public ", "private ", "if (", "for (", "while (",
}

// foreign reports whether a line is not somebody's own words.
func foreign(line, trimmed string) bool {
	if strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t") {
		return true
	}
	low := strings.ToLower(clip(trimmed, 24))
	for _, p := range codeStarts {
		if strings.HasPrefix(low, p) {
			if p == "let " && !strings.Contains(trimmed, "=") {
				continue
			}
			if p == "from " && strings.HasPrefix(low, "from now on") || p == "return " && !strings.HasSuffix(trimmed, ";") {
				continue
			}
			if p == "from " && strings.HasPrefix(low, "from here") {
				continue
			}
			return true
		}
	}
	switch trimmed[len(trimmed)-1] {
	case '{', '}', '\\', '|':
		return true
	case ';':
		if strings.ContainsAny(trimmed, "=()") {
			return true
		}
	}
	letters, others := 0, 0
	for _, r := range trimmed {
		switch {
		case unicode.IsLetter(r):
			letters++
		case !unicode.IsSpace(r):
			others++
		}
	}
	return others > letters
}

func headings(lines []string) int {
	n := 0
	for _, l := range lines {
		if strings.HasPrefix(l, "# ") || strings.HasPrefix(l, "## ") || strings.HasPrefix(l, "### ") {
			n++
		}
	}
	return n
}

// ends are what a sentence ends with in any script.
const wideEnds = "。！？；"

// abbreviations do not end a sentence.
var abbreviations = []string{"e.g.", "i.e.", "etc.", "vs.", "z.b.", "bzw.", "ca.", "approx.", "incl.", "no.", "dr."}

// sentences cuts lines into sentences.
func sentences(lines []string) []statement {
	var out []statement
	before, nth := "", 0
	for _, line := range lines {
		if strings.HasPrefix(line, "#") {
			before = ""
			continue
		}
		line = strings.TrimSpace(strings.TrimLeft(bullet.without(line), " \t"))
		quoted := quoting{twice: strings.Count(line, `"`)%2 == 0}
		for line != "" {
			var one string
			one, line = sentence(line)
			if quoted.read(one) {
				before, nth = "", nth+1
				continue // it began within somebody else's words
			}
			if at, _ := request.place(strings.ToLower(one)); at > 0 {
				one = one[:min(at, len(one))] // what is asked beside it is not said
			}
			if s, ok := newStatement(one); ok {
				s.nth, s.before = nth, before
				out = append(out, s)
			}
			before = strings.TrimSpace(one)
			nth++
		}
	}
	return out
}

// quoting follows quotation marks through the sentences of a line.
type quoting struct {
	twice bool // plain marks come in pairs
	in    bool
	depth int
	low   bool // the outer one opened at the foot of the line, as in German
}

// read reports whether a sentence begins within a quotation, and goes on to its end.
func (q *quoting) read(text string) bool {
	began := q.in || q.depth > 0
	for _, r := range text {
		switch r {
		case '"':
			q.in = q.in != q.twice
		case '„':
			q.depth, q.low = q.depth+1, true
		case '“':
			if q.low {
				q.depth, q.low = max(q.depth-1, 0), false
				continue
			}
			q.depth++
		case '「', '『', '«':
			q.depth++
		case '”', '」', '』', '»':
			q.depth = max(q.depth-1, 0)
		}
	}
	return began
}

var request = re(`,? (?:so |and |but )?(?:can|could|would|will) you (?:please )?(?:help|explain|show|tell|give|check|review|provide|suggest|recommend|make|add|fix|look|write|create|update|walk)\b`)

var bullet = re(`^(?:[-*•]|\d{1,2}[.)]|\[[ x]\])\s+(?:\[[ x]\]\s+)?`)

// sentence splits the first sentence off, with what ends it.
func sentence(text string) (one, rest string) {
	for i, r := range text {
		next := i + utf8.RuneLen(r)
		switch {
		case strings.ContainsRune(wideEnds, r):
		case r == '.' || r == '!' || r == '?' || r == ';':
			for _, mark := range []string{`"`, "”"} { // the end of what is quoted ends with it
				if rest, ok := strings.CutPrefix(text[next:], mark); ok && (rest == "" || rest[0] == ' ') {
					next += len(mark)
				}
			}
			if next < len(text) && text[next] != ' ' {
				continue
			}
			if r == '.' && endsWithAny(strings.ToLower(text[:next]), abbreviations) {
				continue
			}
		default:
			continue
		}
		return text[:next], strings.TrimLeft(text[next:], " \t")
	}
	return text, ""
}

func endsWithAny(text string, ends []string) bool {
	for _, e := range ends {
		if strings.HasSuffix(text, e) {
			return true
		}
	}
	return false
}

var quotes = strings.NewReplacer("’", "'", "‘", "'", "“", `"`, "”", `"`, "**", "", "__", "")

// newStatement is false for what is too short, too long or only quoted.
func newStatement(text string) (statement, bool) {
	text = strings.TrimSpace(strings.ReplaceAll(text, "**", ""))
	n := utf8.RuneCountInString(text)
	if n < minRunes || n > maxRunes {
		return statement{}, false
	}
	low := strings.ToLower(quotes.Replace(text))
	switch first := low[0]; {
	case first == '"' || first == '\'' && strings.HasSuffix(strings.TrimRight(low, ".!?"), "'"):
		return statement{}, false
	case strings.HasPrefix(low, "「") || strings.HasPrefix(low, "『") || strings.HasPrefix(low, "《"):
		return statement{}, false
	}
	return statement{text: text, low: strings.TrimRight(low, " .!。！;；")}, true
}

func lowTrim(text string) string { return strings.ToLower(strings.TrimSpace(quotes.Replace(text))) }
