package when

import (
	"strings"
	"time"
)

// expression is a name for days around today.
type expression struct {
	words  string // any of these, joined by |
	window func(today time.Time) Window
}

// named are looked for in this order: an expression that contains another one
// comes before it.
var named = []expression{
	{"day before yesterday|vorgestern|前天|おととい|一昨日", days(-2, -1)},
	{"yesterday|last night|gestern|昨天|昨日|昨晚|昨夜", days(-1, 0)},
	{"last weekend|letztes wochenende|letzten wochenende|上周末|上個週末|先週末", func(t time.Time) Window {
		saturday := monday(t).AddDate(0, 0, -2)
		return Window{From: saturday, To: saturday.AddDate(0, 0, 2)}
	}},
	{"week before last|vorletzte woche|vorletzter woche|上上周|上上星期|上上个星期|先々週", weeks(-2, -1)},
	{"last week|letzte woche|letzter woche|vorige woche|voriger woche|上周|上週|上星期|上个星期|上個星期|上个礼拜|先週", weeks(-1, 0)},
	{"this week|diese woche|dieser woche|本周|本週|这周|這週|这星期|这个星期|今週", weeks(0, 1)},
	{"month before last|vorletzten monat|上上个月|上上月|先々月", months(-2, -1)},
	{"last month|letzten monat|letztem monat|vorigen monat|上个月|上個月|上月|先月", months(-1, 0)},
	{"this month|diesen monat|diesem monat|本月|这个月|這個月|今月", months(0, 1)},
	{"last year|letztes jahr|letzten jahr|voriges jahr|去年|昨年", func(t time.Time) Window { return yearOf(t.Year() - 1) }},
	{"this year|dieses jahr|diesem jahr|今年", func(t time.Time) Window { return yearOf(t.Year()) }},
	{"today|this morning|tonight|heute|今天|今日|今早|今朝|今晚|今夜", days(0, 1)},
}

func days(from, to int) func(time.Time) Window {
	return func(t time.Time) Window { return Window{From: t.AddDate(0, 0, from), To: t.AddDate(0, 0, to)} }
}

func weeks(from, to int) func(time.Time) Window {
	return func(t time.Time) Window {
		m := monday(t)
		return Window{From: m.AddDate(0, 0, 7*from), To: m.AddDate(0, 0, 7*to)}
	}
}

func months(from, to int) func(time.Time) Window {
	return func(t time.Time) Window {
		first := time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
		return Window{From: first.AddDate(0, from, 0), To: first.AddDate(0, to, 0)}
	}
}

// monday returns the one of the week of t.
func monday(t time.Time) time.Time { return t.AddDate(0, 0, -(int(t.Weekday())+6)%7) }

func (p parser) named() (Window, bool) {
	for _, e := range named {
		for word := range strings.SplitSeq(e.words, "|") {
			if contains(p.text, word) {
				return e.window(p.today).named(word), true
			}
		}
	}
	return Window{}, false
}

// contains reports whether a word stands in text; one of Latin letters not
// inside another word.
func contains(text, word string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		start, end := at+i, at+i+len(word)
		if !latin(word[0]) || (start == 0 || !latin(text[start-1])) && (end == len(text) || !latin(text[end])) {
			return true
		}
		at = end
	}
}

func latin(b byte) bool { return 'a' <= b && b <= 'z' || b >= 0xc3 && b <= 0xc5 }

var (
	weekdayNamed = lazily(`\b(?:(last|on|this|since|letzten|am|diesen|seit) )(monday|tuesday|wednesday|thursday|friday|saturday|sunday|` +
		`montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonnabend|sonntag)\b`)
	weekdayHan = lazily(`(上上|上个?|这个?|本)?(?:周|週|星期|礼拜)([一二三四五六日天])`)
	weekdayJa  = lazily(`(先週の?|今週の?|この前の)?([月火水木金土日])曜日?`)
)

var weekdays = map[string]time.Weekday{
	"mon": time.Monday, "tue": time.Tuesday, "wed": time.Wednesday, "thu": time.Thursday, "fri": time.Friday, "sat": time.Saturday, "sun": time.Sunday,
	"die": time.Tuesday, "mit": time.Wednesday, "don": time.Thursday, "fre": time.Friday, "sam": time.Saturday, "son": time.Sunday,
	"一": time.Monday, "二": time.Tuesday, "三": time.Wednesday, "四": time.Thursday, "五": time.Friday, "六": time.Saturday, "天": time.Sunday,
	"月": time.Monday, "火": time.Tuesday, "水": time.Wednesday, "木": time.Thursday, "金": time.Friday, "土": time.Saturday, "日": time.Sunday,
}

func (p parser) weekday() (Window, bool) {
	if m := weekdayNamed.FindStringSubmatch(p.text); m != nil {
		name := m[2][:3]
		if m[2] == "sonnabend" {
			name = "sam"
		}
		return p.before(weekdays[name]).named(m[0]), true
	}
	if m := weekdayHan.FindStringSubmatch(p.text); m != nil {
		return p.ofWeek(m[1], weekdays[m[2]]).named(m[0]), true
	}
	if m := weekdayJa.FindStringSubmatch(p.text); m != nil {
		return p.ofWeek(m[1], weekdays[m[2]]).named(m[0]), true
	}
	return Window{}, false
}

// before is the last such day before today.
func (p parser) before(d time.Weekday) Window {
	back := (int(p.today.Weekday()) - int(d) + 7) % 7
	if back == 0 {
		back = 7
	}
	from := p.today.AddDate(0, 0, -back)
	return Window{From: from, To: from.AddDate(0, 0, 1)}
}

// ofWeek is such a day of a week that is named, else the last one.
func (p parser) ofWeek(week string, d time.Weekday) Window {
	back := 0
	switch {
	case strings.HasPrefix(week, "上上"):
		back = 14
	case strings.HasPrefix(week, "上"), strings.HasPrefix(week, "先週"):
		back = 7
	case strings.HasPrefix(week, "这"), week == "本", strings.HasPrefix(week, "今週"):
	default:
		return p.before(d)
	}
	from := monday(p.today).AddDate(0, 0, (int(d)+6)%7-back)
	return Window{From: from, To: from.AddDate(0, 0, 1)}
}

const counted = `(\d+|a couple of|an|a|one|two|three|four|five|six|seven|eight|nine|ten)`

var (
	agoEnglish = lazily(`\b` + counted + ` (day|week|month|year)s? ago\b`)
	agoGerman  = lazily(`\bvor (\d+|einem|einer|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn) (tag|woche|monat|jahr)`)
	agoHan     = lazily(`(\d+|[一二两兩三四五六七八九十])(天|日|周|週間|週|个?星期|個?星期|个月|個月|か月|ヶ月|ヵ月|カ月|年)(?:之|以)?前`)

	spanEnglish = lazily(`\b(?:last|past|previous) ` + counted + ` (day|week|month|year)s\b`)
	spanGerman  = lazily(`\bletzten (\d+|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn) (tag|woche|monat|jahr)`)
	spanHan     = lazily(`(?:最近|过去|過去|ここ|この|近)(\d+|[一二两兩三四五六七八九十])(天|日|周|週間|週|个?星期|個?星期|个月|個月|か月|ヶ月|ヵ月|カ月|年)`)
)

// ago is the time around a distance: the exact day for days, some days around it
// for more.
func (p parser) ago() (Window, bool) {
	for _, r := range []pattern{agoEnglish, agoGerman, agoHan} {
		m := r.FindStringSubmatch(p.text)
		if m == nil {
			continue
		}
		at, slack := p.back(number(m[1]), m[2])
		return Window{at.AddDate(0, 0, -slack), at.AddDate(0, 0, slack+1), m[0]}, true
	}
	return Window{}, false
}

// span is the time from a distance until now.
func (p parser) span() (Window, bool) {
	for _, r := range []pattern{spanEnglish, spanGerman, spanHan} {
		m := r.FindStringSubmatch(p.text)
		if m == nil {
			continue
		}
		from, _ := p.back(number(m[1]), m[2])
		return Window{from, p.today.AddDate(0, 0, 1), m[0]}, true
	}
	return Window{}, false
}

// back goes back from today, and tells how exact such a number is meant.
func (p parser) back(n int, unit string) (at time.Time, slackDays int) {
	switch {
	case strings.HasPrefix(unit, "day"), strings.HasPrefix(unit, "tag"), unit == "天", unit == "日":
		return p.today.AddDate(0, 0, -n), 0
	case strings.HasPrefix(unit, "week"), strings.HasPrefix(unit, "woche"), strings.ContainsAny(unit, "周週") || strings.Contains(unit, "星期"):
		return p.today.AddDate(0, 0, -7*n), 3
	case strings.HasPrefix(unit, "year"), strings.HasPrefix(unit, "jahr"), unit == "年":
		return p.today.AddDate(-n, 0, 0), 90
	}
	return p.today.AddDate(0, -n, 0), 15
}
