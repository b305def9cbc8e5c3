package email

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"ambry.dev/ambry"
)

// wrote are the words of who introduces what others have written.
var wrote = []string{"wrote", "writes", "schrieb", "schreef", "skrev", "a écrit", "escribió", "escreveu", "ha scritto", "написал", "写道", "寫道", "のメール"}

// introduces reports whether a line introduces what others have written.
func introduces(l string) bool {
	if !strings.HasSuffix(l, ":") && !strings.HasSuffix(l, "：") {
		return false
	}
	l = strings.ToLower(l)
	return slices.ContainsFunc(wrote, func(verb string) bool { return strings.Contains(l, verb) })
}

// The marks after which, or on which, a mail tells only what others have written.
var (
	began = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(on|am|le|el|em|il|op|den|в|在|于)\s?.*\d`)
	})
	heading = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^\**(from|von|de|da|van|fra|от|发件人|寄件者|差出人)\s*[:：]`)
	})
	more = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^\**(sent|gesendet|date|datum|envoyé|enviado|fecha|data|inviato|to|an|à|para|дата|отправлено|发送时间|日期|收件人|傳送時間|送信日時)\s*[:：]`)
	})
	device = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(sent from my |sent from (mail|outlook)|get outlook for |von meinem .{1,40} gesendet|envoyé de mon |enviado desde mi |inviato da |发自我的|發自我的|从我的.{1,20}发送)`)
	})
	original = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^-{3,}\s?\S.{0,60}\S\s?-{3,}$|^_{10,}$`)
	})
)

// maxLooked is how many bytes of a text are looked at for what is to be left out.
const maxLooked = 128 << 10

// question is what somebody has written, without what they quote and how they
// sign.
func question(text string) string {
	if len(text) > maxLooked {
		text = strings.ToValidUTF8(text[:maxLooked], "")
	}
	lines := strings.Split(strings.ReplaceAll(ambry.Plain(strings.ReplaceAll(text, "\r", "\n")), "\u00a0", " "), "\n")
	var kept []string
	for i := 0; i < len(lines); i++ {
		l := strings.TrimSpace(lines[i])
		switch {
		case l == "--":
			return finish(kept) // a signature
		case original().MatchString(l), device().MatchString(l), heading().MatchString(l) && more().MatchString(following(lines, i)):
			return finish(kept)
		case strings.HasPrefix(l, ">"):
			continue
		}
		if n := introduction(lines, i); n > 0 {
			if !strings.HasPrefix(following(lines, i+n-1), ">") {
				return finish(kept) // all that follows is quoted, without a mark
			}
			i += n - 1
			continue
		}
		kept = append(kept, strings.TrimRight(lines[i], " \t"))
	}
	return finish(kept)
}

// introduction returns how many lines say who has written what follows, 0 if the
// line does not begin to.
func introduction(lines []string, i int) int {
	l := strings.TrimSpace(lines[i])
	if len(l) > 400 {
		return 0
	}
	for n := 1; n <= 3 && i+n <= len(lines); n++ {
		if n > 1 {
			next := strings.TrimSpace(lines[i+n-1])
			if next == "" || len(next) > 400 || !began().MatchString(l) && n == 2 {
				return 0
			}
			l += " " + next
		}
		if introduces(l) && (began().MatchString(l) || strings.HasPrefix(following(lines, i+n-1), ">")) {
			return n
		}
	}
	return 0
}

// following is the next line that is not empty.
func following(lines []string, i int) string {
	for _, l := range lines[min(i+1, len(lines)):min(i+4, len(lines))] {
		if l = strings.TrimSpace(l); l != "" {
			return l
		}
	}
	return ""
}

func finish(lines []string) string {
	text := strings.TrimSpace(strings.Join(lines, "\n"))
	for strings.Contains(text, "\n\n\n") {
		text = strings.ReplaceAll(text, "\n\n\n", "\n\n")
	}
	if r := []rune(text); len(r) > maxText {
		text = strings.TrimSpace(string(r[:maxText]))
	}
	return text
}

// silent are elements whose text nobody sees, or that quote.
var silent = []atom.Atom{atom.Head, atom.Script, atom.Style, atom.Title, atom.Template, atom.Noscript, atom.Blockquote, atom.Select, atom.Textarea, atom.Iframe, atom.Object, atom.Svg}

// breaks are elements that begin a line.
var breaks = []atom.Atom{atom.Br, atom.P, atom.Div, atom.Li, atom.Tr, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Hr, atom.Ul, atom.Ol, atom.Table, atom.Pre, atom.Section, atom.Article}

// void are elements without an end.
var void = []atom.Atom{atom.Br, atom.Hr, atom.Img, atom.Input, atom.Meta, atom.Link, atom.Col, atom.Base, atom.Area, atom.Wbr, atom.Embed, atom.Source, atom.Track}

// quoting are the names that mail programs give to what they quote.
var quoting = []string{"gmail_quote", "gmail_extra", "gmail_attr", "yahoo_quoted", "moz-cite-prefix", "protonmail_quote", "divRplyFwdMsg", "appendonsend", "mail-editor-reference-message-container", "OLK_SRC_BODY_SECTION", "isReplyContent", "moz-signature", "gmail_signature"}

// htmlText is the text that a person sees of HTML, without what is quoted.
func htmlText(source string) string {
	z := html.NewTokenizer(strings.NewReader(source))
	z.SetMaxBuf(maxMail)
	var out strings.Builder
	var hidden atom.Atom // the element within which nothing is seen
	depth := 0           // elements of its kind that are open
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return out.String()
		}
		t := z.Token()
		switch {
		case kind == html.StartTagToken && hidden != 0:
			if t.DataAtom == hidden {
				depth++
			}
		case kind == html.EndTagToken && hidden != 0:
			if t.DataAtom == hidden {
				if depth--; depth == 0 {
					hidden = 0
				}
			}
		case hidden != 0:
		case kind == html.StartTagToken && !slices.Contains(void, t.DataAtom) && t.DataAtom != 0 && (slices.Contains(silent, t.DataAtom) || quotes(t)):
			hidden, depth = t.DataAtom, 1
		case kind == html.TextToken:
			out.WriteString(spaces(t.Data))
		case slices.Contains(breaks, t.DataAtom):
			out.WriteByte('\n')
		case kind == html.StartTagToken && (t.DataAtom == atom.Td || t.DataAtom == atom.Th):
			out.WriteByte(' ')
		}
	}
}

// quotes reports whether an element is one that mail programs quote in.
func quotes(t html.Token) bool {
	for _, a := range t.Attr {
		if a.Key != "class" && a.Key != "id" {
			continue
		}
		for word := range strings.FieldsSeq(a.Val) {
			if slices.Contains(quoting, word) {
				return true
			}
		}
	}
	return false
}

// spaces is a text in which each run of spaces is one, as HTML is shown.
func spaces(text string) string {
	out := strings.Join(strings.Fields(text), " ")
	if out == "" {
		if text == "" {
			return ""
		}
		return " "
	}
	if strings.TrimLeft(text, " \t\r\n") != text {
		out = " " + out
	}
	if strings.TrimRight(text, " \t\r\n") != text {
		out += " "
	}
	return out
}
