// Package when understands what a question says about time, in English, Chinese,
// Japanese and German: which days it is about, whether it asks for the present
// state or for what was, and whether a text says that something changed. It reads
// words only; it knows no memory and no index.
package when

import (
	"strconv"
	"strings"
	"time"
)

// Window is a range of days that a question is about: from the beginning of one
// to the beginning of another, which is not part of it. Days are UTC, as in the
// index.
type Window struct {
	From, To time.Time
	Words    string // what named it, in lower case, unless it is a date that a text may hold too
}

func (w Window) named(words string) Window {
	w.Words = words
	return w
}

// Days returns how many days long the window is.
func (w Window) Days() int { return int(w.To.Sub(w.From).Hours()/24 + 0.5) }

// Distance returns how many days at is outside of the window: 0 if inside,
// negative if before.
func (w Window) Distance(at time.Time) float64 {
	switch {
	case at.Before(w.From):
		return at.Sub(w.From).Hours() / 24
	case at.Before(w.To):
		return 0
	}
	return at.Sub(w.To).Hours() / 24
}

// Parse finds the first time expression of a question that it understands,
// relative to now. The most exact one wins: a date before a month, "last Friday"
// before "last week".
func Parse(question string, now time.Time) (Window, bool) {
	p := parser{text: strings.ToLower(question), today: midnight(now.UTC())}
	for _, read := range []func() (Window, bool){p.iso, p.date, p.weekday, p.ago, p.span, p.named, p.month, p.year} {
		if w, ok := read(); ok {
			if w.From.Before(p.today) && since.MatchString(p.text) {
				w.To = p.today.AddDate(0, 0, 1)
			}
			return w, true
		}
	}
	return Window{}, false
}

// since begins a time that goes on until now.
var since = lazily(`\b(since|seit)\b|以来|以來`)

type parser struct {
	text  string
	today time.Time
}

func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

func day(year int, month time.Month, d int) Window {
	from := time.Date(year, month, d, 0, 0, 0, 0, time.UTC)
	return Window{From: from, To: from.AddDate(0, 0, 1)}
}

func monthOf(year int, month time.Month) Window {
	from := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	return Window{From: from, To: from.AddDate(0, 1, 0)}
}

func yearOf(year int) Window {
	from := time.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC)
	return Window{From: from, To: from.AddDate(1, 0, 0)}
}

var isoDate = lazily(`\b((?:19|20)\d\d)[-/](\d\d?)(?:[-/](\d\d?))?\b`)

func (p parser) iso() (Window, bool) {
	m := isoDate.FindStringSubmatch(p.text)
	if m == nil {
		return Window{}, false
	}
	month := number(m[2])
	if month < 1 || month > 12 {
		return Window{}, false
	}
	if m[3] == "" {
		return monthOf(number(m[1]), time.Month(month)), true
	}
	if d := number(m[3]); d >= 1 && d <= 31 {
		return day(number(m[1]), time.Month(month), d), true
	}
	return Window{}, false
}

// The names of months. "may" is also a verb, so it needs a word before it that
// a month has, or a day.
const monthNames = `january|february|march|april|june|july|august|september|october|november|december|` +
	`jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec|` +
	`januar|februar|märz|mai|juni|juli|oktober|dezember`

var (
	dayMonth  = lazily(`\b(\d{1,2})(?:st|nd|rd|th|\.)?(?: of)? (` + monthNames + `|may)\b(?:,? ((?:19|20)\d\d))?`)
	monthDay  = lazily(`\b(` + monthNames + `|may) (\d{1,2})(?:st|nd|rd|th)?\b(?:,? ((?:19|20)\d\d))?`)
	hanDate   = lazily(`(?:((?:19|20)\d\d) ?年 ?)?(\d{1,2}|` + hanMonths + `) ?月 ?(\d{1,2}|` + hanDays + `) ?[日号號]`)
	monthOnly = lazily(`\b(?:(early|mid|late|end of|beginning of|start of|middle of|anfang|mitte|ende)[ -])?(?:(?:in|im|since|until|by|during|of|from|last|this|seit|bis) )?(` +
		monthNames + `)\b(?:,? ((?:19|20)\d\d))?`)
	mayOnly  = lazily(`\b(early|mid|late|end of|beginning of|start of|middle of|in|since|until|by|during|of|last|this)[ -](may)\b(?:,? ((?:19|20)\d\d))?`)
	hanMonth = lazily(`(?:((?:19|20)\d\d) ?年 ?)?(\d{1,2}|` + hanMonths + `) ?月(?:份)?(初|上旬|头|頭|中旬|下旬|底|末)?`)
	onlyYear = lazily(`\b(?:in|since|during|of|im jahr|seit) ((?:19|20)\d\d)\b|((?:19|20)\d\d) ?年`)
)

const (
	hanMonths = `十[一二]|[一二三四五六七八九十]`
	hanDays   = `三十一|三十|二十[一二三四五六七八九]|二十|十[一二三四五六七八九]|[一二三四五六七八九十]`
)

func (p parser) date() (Window, bool) {
	if m := dayMonth.FindStringSubmatch(p.text); m != nil {
		return p.on(m[3], monthNamed(m[2]), number(m[1]))
	}
	if m := monthDay.FindStringSubmatch(p.text); m != nil {
		return p.on(m[3], monthNamed(m[1]), number(m[2]))
	}
	if m := hanDate.FindStringSubmatch(p.text); m != nil {
		return p.on(m[1], time.Month(number(m[2])), number(m[3]))
	}
	return Window{}, false
}

// on is a day, by default the last one of that name.
func (p parser) on(year string, month time.Month, d int) (Window, bool) {
	if month < 1 || month > 12 || d < 1 || d > 31 {
		return Window{}, false
	}
	if year != "" {
		return day(number(year), month, d), true
	}
	w := day(p.today.Year(), month, d)
	if w.From.After(p.today) {
		w = day(p.today.Year()-1, month, d)
	}
	return w, true
}

func (p parser) month() (Window, bool) {
	if m := monthOnly.FindStringSubmatch(p.text); m != nil {
		return p.in(m[3], monthNamed(m[2]), m[1])
	}
	if m := mayOnly.FindStringSubmatch(p.text); m != nil {
		return p.in(m[3], time.May, m[1])
	}
	if m := hanMonth.FindStringSubmatch(p.text); m != nil {
		return p.in(m[1], time.Month(number(m[2])), m[3])
	}
	return Window{}, false
}

// in is a month or a part of it, by default the last one of that name.
func (p parser) in(year string, month time.Month, part string) (Window, bool) {
	if month < 1 || month > 12 {
		return Window{}, false
	}
	y := p.today.Year()
	if year != "" {
		y = number(year)
	} else if month > p.today.Month() {
		y--
	}
	w := monthOf(y, month)
	switch part {
	case "early", "beginning of", "start of", "anfang", "初", "上旬", "头", "頭":
		w.To = w.From.AddDate(0, 0, 11)
	case "mid", "middle of", "mitte", "中旬":
		w.From, w.To = w.From.AddDate(0, 0, 8), w.From.AddDate(0, 0, 22)
	case "late", "end of", "ende", "下旬", "底", "末":
		w.From = w.From.AddDate(0, 0, 19)
	}
	return w, true
}

func (p parser) year() (Window, bool) {
	m := onlyYear.FindStringSubmatch(p.text)
	if m == nil {
		return Window{}, false
	}
	return yearOf(number(m[1] + m[2])), true
}

func monthNamed(name string) time.Month {
	switch name[:3] {
	case "jan":
		return time.January
	case "feb":
		return time.February
	case "mar", "m\xc3\xa4":
		return time.March
	case "apr":
		return time.April
	case "may", "mai":
		return time.May
	case "jun":
		return time.June
	case "jul":
		return time.July
	case "aug":
		return time.August
	case "sep":
		return time.September
	case "oct", "okt":
		return time.October
	case "nov":
		return time.November
	}
	return time.December
}

// numbers in words, as they stand before days, weeks and months.
var numbers = map[string]int{
	"a": 1, "an": 1, "one": 1, "two": 2, "a couple of": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
	"ein": 1, "einem": 1, "einer": 1, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6, "sieben": 7, "acht": 8, "neun": 9, "zehn": 10,
	"一": 1, "二": 2, "两": 2, "兩": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10,
}

// number reads digits or words.
func number(s string) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	if n, ok := numbers[s]; ok {
		return n
	}
	tens, ones, ok := strings.Cut(s, "十") // up to 三十一
	if !ok {
		return 0
	}
	n := 10
	if tens != "" {
		n = 10 * numbers[tens]
	}
	return n + numbers[ones]
}
