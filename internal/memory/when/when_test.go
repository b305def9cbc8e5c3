package when_test

import (
	"testing"
	"time"

	"ambry.dev/ambry/internal/memory/when"
)

// now is a Wednesday.
var now = time.Date(2026, 6, 17, 16, 0, 0, 0, time.UTC)

func TestParse(t *testing.T) {
	for _, c := range []struct{ text, from, to string }{
		{"what broke yesterday", "2026-06-16", "2026-06-17"},
		{"the day before yesterday", "2026-06-15", "2026-06-16"},
		{"what did I do last week?", "2026-06-08", "2026-06-15"},
		{"deployed last Friday", "2026-06-12", "2026-06-13"},
		{"on Wednesday", "2026-06-10", "2026-06-11"},
		{"last weekend", "2026-06-13", "2026-06-15"},
		{"this month", "2026-06-01", "2026-07-01"},
		{"bugs of last month", "2026-05-01", "2026-06-01"},
		{"last year", "2025-01-01", "2026-01-01"},
		{"three days ago", "2026-06-14", "2026-06-15"},
		{"2 weeks ago", "2026-05-31", "2026-06-07"},
		{"in the last two weeks", "2026-06-03", "2026-06-18"},
		{"in March", "2026-03-01", "2026-04-01"},
		{"in October", "2025-10-01", "2025-11-01"},
		{"at the end of April", "2026-04-20", "2026-05-01"},
		{"early in may", "2026-05-01", "2026-06-01"},
		{"March 2024", "2024-03-01", "2024-04-01"},
		{"on 7 May 2023", "2023-05-07", "2023-05-08"},
		{"on May 7th", "2026-05-07", "2026-05-08"},
		{"since 2024", "2024-01-01", "2026-06-18"},
		{"in 2024", "2024-01-01", "2025-01-01"},
		{"2026-05-03", "2026-05-03", "2026-05-04"},
		{"logs of 2026-05", "2026-05-01", "2026-06-01"},
		{"昨天改了什么", "2026-06-16", "2026-06-17"},
		{"上周解决的问题", "2026-06-08", "2026-06-15"},
		{"上周五提醒的问题", "2026-06-12", "2026-06-13"},
		{"上个月的发布", "2026-05-01", "2026-06-01"},
		{"三天前", "2026-06-14", "2026-06-15"},
		{"四月份同步的毛病", "2026-04-01", "2026-05-01"},
		{"5月3号", "2026-05-03", "2026-05-04"},
		{"2025年十二月", "2025-12-01", "2026-01-01"},
		{"三月下旬", "2026-03-20", "2026-04-01"},
		{"先月、何を直した？", "2026-05-01", "2026-06-01"},
		{"先週の金曜日", "2026-06-12", "2026-06-13"},
		{"昨日のエラー", "2026-06-16", "2026-06-17"},
		{"2週間前", "2026-05-31", "2026-06-07"},
		{"Was haben wir letzten Freitag geändert?", "2026-06-12", "2026-06-13"},
		{"letzte Woche", "2026-06-08", "2026-06-15"},
		{"letzten Monat", "2026-05-01", "2026-06-01"},
		{"vor zwei Wochen", "2026-05-31", "2026-06-07"},
		{"im März", "2026-03-01", "2026-04-01"},
		{"am 3. Mai", "2026-05-03", "2026-05-04"},
		{"seit März", "2026-03-01", "2026-06-18"},
		{"gestern", "2026-06-16", "2026-06-17"},
		{"you may use it", "", ""},
		{"error 2024", "", ""},
		{"yesterdays", "", ""},
		{"how does the cache work", "", ""},
		{"port 8080", "", ""},
		{"", "", ""},
	} {
		t.Run(c.text, func(t *testing.T) {
			w, ok := when.Parse(c.text, now)
			from, to := "", ""
			if ok {
				from, to = w.From.Format(time.DateOnly), w.To.Format(time.DateOnly)
			}
			if from != c.from || to != c.to {
				t.Errorf("got %s to %s, want %s to %s", from, to, c.from, c.to)
			}
		})
	}
}

func TestDistance(t *testing.T) {
	w, _ := when.Parse("yesterday", now)
	for _, c := range []struct {
		at   time.Time
		want float64
	}{{now.AddDate(0, 0, -1), 0}, {w.From.AddDate(0, 0, -2), -2}, {w.To.AddDate(0, 0, 3), 3}, {w.From, 0}} {
		if got := w.Distance(c.at); got != c.want {
			t.Errorf("%v: got %v, want %v", c.at, got, c.want)
		}
	}
	if w.Days() != 1 {
		t.Errorf("a day is %d days long", w.Days())
	}
}

func TestTenseOf(t *testing.T) {
	for text, want := range map[string]when.Tense{
		"which port do we use now":         when.Present,
		"what is the current limit":        when.Present,
		"why did we move to Postgres":      when.Past,
		"what was the limit originally":    when.Past,
		"where are the logs":               when.Any,
		"现在用哪个端口":                          when.Present,
		"最初为什么选它":                          when.Past,
		"Welcher Port ist aktuell?":        when.Present,
		"今はどのポート？":                         when.Present,
		"Warum haben wir das so gemacht?":  when.Past,
		"what was the old and is now true": when.Present,
	} {
		if got := when.TenseOf(text); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

func TestChanged(t *testing.T) {
	for text, want := range map[string]bool{
		"free delivery only from 75 from now on": true,
		"we moved the service to 9090":           true,
		"switch to pnpm":                         true,
		"make it 30 minutes":                     true,
		"最低改成 26 吧":                              true,
		"以后都用 UTC":                               true,
		"ab sofort nur noch nachts":              true,
		"これからは夜だけ":                               true,
		"that is too long, at most 5 minutes":    true,
		"nightly runs from march on":             true,
		"I changed my mind about tabs":           true,
		"rescheduled to Friday":                  true,
		"das ist zu lang, höchstens 5":           true,
		"太慢了，最多 5 秒":                             true,
		"間隔が長すぎる":                                true,
		"add free shipping above 60":             false,
		"how does it work?":                      false,
		"状态管理用什么好":                               false,
	} {
		if got := when.Changed(text); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

func TestAsksAndTold(t *testing.T) {
	for text, want := range map[string]bool{
		"when did it break": true, "什么时候修好的": true, "wann war das": true, "いつ直した": true, "what broke": false,
		"¿ Since when is it red?": true, "and tell me what day it broke": true, "tell me when it broke": false, "whenever it broke": false,
	} {
		if got := when.Asks(text); got != want {
			t.Errorf("asks %q: got %v", text, got)
		}
	}
	for text, want := range map[string]bool{"it was on Friday": true, "昨天修好了": true, "it works": false} {
		if got := when.Told(text); got != want {
			t.Errorf("told %q: got %v", text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"last Friday", "上周五", "先月", "vor zwei Wochen", "7 May 2023", "2026-02-31", "99 years ago", "\xff月", "十十月十日"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w, ok := when.Parse(text, now)
		if ok && !w.From.Before(w.To) {
			t.Errorf("%q: from %v to %v", text, w.From, w.To)
		}
		when.TenseOf(text)
		when.Changed(text)
	})
}
