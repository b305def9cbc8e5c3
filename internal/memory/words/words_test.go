package words_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"ambry.dev/ambry/internal/memory/words"
)

// cut returns the terms of text, joined.
func cut(c *words.Cutter, text string) string {
	var out []string
	c.Each(text, func(t words.Term) { out = append(out, string(t.Text)) })
	return strings.Join(out, " ")
}

func TestTerms(t *testing.T) {
	c := words.NewCutter()
	for _, test := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"only marks", "?!… — (){};  \n", ""},
		{"words are stemmed", "Connections were connecting connected", "connect were connect connect"},
		{"single letters say nothing", "a x 7 ab", "ab"},
		{"camelCase", "handleTimeout", "handletimeout handl timeout"},
		{"an acronym in camelCase", "parseHTTPRequest", "parsehttprequest pars http request"},
		{"an acronym at the end", "serveHTTP", "servehttp serv http"},
		{"digits stay with their letters", "utf8Decoder sha256", "utf8decoder utf8 decod sha256"},
		{"snake_case", "max_retry_count", "max_retry_count max retri count"},
		{"constants", "MAX_RETRY", "max_retry max retri"},
		{"underscores around", "__init__ _private", "init privat"},
		{"dots", "os.ReadFile", "os.readfile os readfile read file"},
		{"the end of a sentence", "It works. Really.", "it work realli"},
		{"dashes", "well-known --force", "well-known well know forc"},
		{"irregular forms", "it broke, they were found, children wrote", "it break they were find child write"},
		{"a path", "/home/ana/pool/http_client.go", "home ana pool http_client.go http_client http client go"},
		{"a path of Windows", `C:\Users\ana`, "user ana"},
		{"numbers", "404 1,000 3.14", "404 000 3.14 14"},
		{"error codes", "E0502 SQLITE_BUSY TS2345", "e0502 sqlite_busy sqlite busi ts2345"},
		{"a commit id", "4fe2a91bc03d", "4fe2a91bc03d"},
		{"Chinese", "缓存过期", "缓 缓存 存 存过 过 过期 期"},
		{"Chinese with English", "修改HTTP接口", "修 修改 改 http 接 接口 口"},
		{"Japanese", "テストが", "テ テス ス スト ト トが が"},
		{"Korean", "빌드가", "빌 빌드 드 드가 가"},
		{"Thai", "แคช", "แ แค ค คช ช"},
		{"one character alone", "字", "字"},
		{"German", "Überprüfe naïve Straße", "überprüfe naïve straße"},
		{"Russian", "Часовой ПОЯС", "часовой пояс"},
		{"Greek and Arabic", "Λόγος العربي", "λόγος العربي"},
		{"a word that goes on beyond ASCII after a dash", "co-öperate", "co öperate"},
		{"emoji", "done ✅🚀 yes", "done yes"},
		{"encoded data keeps no parts", "aB3dE5fG7hI9jK1lM2nO4p", "ab3de5fg7hi9jk1lm2no4p"},
		{"data too long for a word", strings.Repeat("A1b2", 30), ""},
		{"invalid UTF-8", "ab\xffcd \xe7\xbc", "ab cd"},
		{"NUL", "ab\x00cd", "ab cd"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := cut(c, test.text); got != test.want {
				t.Errorf("%q\n got %q\nwant %q", test.text, got, test.want)
			}
		})
	}
}

func TestAppendBoundsRepeats(t *testing.T) {
	c := words.NewCutter()
	for column := range 3 {
		c.Begin()
		got := string(c.Append([]byte("x "), strings.Repeat("again once ", 10)))
		want := "x " + strings.Repeat("again onc ", words.MaxRepeats)
		if got != want {
			t.Errorf("column %d: got %q, want %q", column, got, want)
		}
	}
}

// FuzzEach checks what the index relies on, for any text at all.
func FuzzEach(f *testing.F) {
	for _, s := range []string{"handleTimeout in pool/http_client.go", "修改HTTP接口 naïve", "a.b-c_d", "\xff\xfe\x00", "ÀÉ_x.ß"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := words.NewCutter()
		last := 0
		var terms [][]byte
		c.Each(text, func(term words.Term) {
			b := term.Text
			switch {
			case len(b) == 0 || len(b) > words.MaxTerm:
				t.Errorf("a term of %d bytes", len(b))
			case bytes.ContainsFunc(b, func(r rune) bool {
				return r < 0x80 && !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789_.-", r)
			}):
				t.Errorf("term %q", b)
			case b[0] == '.' || b[0] == '-':
				t.Errorf("term %q begins with a mark", b)
			case utf8.ValidString(text) && !utf8.Valid(b):
				t.Errorf("term %q is torn", b)
			case term.Start < 0 || term.End > len(text) || term.Start >= term.End:
				t.Errorf("term %q at %d to %d", b, term.Start, term.End)
			case term.Start < last && term.Kind != words.Whole && term.Kind != words.Part && term.Kind != words.Pair:
				t.Errorf("term %q at %d comes after %d", b, term.Start, last)
			}
			last = max(last, term.Start)
			terms = append(terms, bytes.Clone(b))
		})
		var again []byte
		c.Each(text, func(term words.Term) { again = append(append(again, term.Text...), 0) })
		if want := append(bytes.Join(terms, []byte{0}), 0); len(terms) > 0 && !bytes.Equal(again, want) {
			t.Error("cutting twice gives different terms")
		}
	})
}

func BenchmarkTokenize(b *testing.B) {
	text := strings.Repeat("Why does handleTimeout() in pool/http_client.go return 410 instead of 225?\n\tif session != nil && len(max_retry_count) > 93 {\n"+
		"We should deploy the migration before we run any broken timeout. 数据库迁移脚本没有加锁。\n", 200)
	c := words.NewCutter()
	var dst []byte
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		c.Begin()
		dst = c.Append(dst[:0], text)
	}
}

// TestLookingForTermsFindsTheSame compares cutting everything with looking for
// some of the terms.
func TestLookingForTermsFindsTheSame(t *testing.T) {
	lookForEach(t, "Caught, felt and thought; they were connecting dying skies; he went and took the children's ParseHTTPHeaders to internal/caches_test.go, naïve 缓存 failures")
}

// FuzzLookingForTerms does so with any text.
func FuzzLookingForTerms(f *testing.F) {
	for _, s := range []string{"__init__.py HTTPServer2x", "Überprüfung der ÄÖ_x.Y", "修改HTTP接口", "a-é.B_ c.-d", "lying, tied and gone.", "\xff\xfeA\x00"} {
		f.Add(s)
	}
	f.Fuzz(lookForEach)
}

func lookForEach(t *testing.T, text string) {
	all, some := words.NewCutter(), words.NewCutter()
	var terms []string
	all.Each(text, func(term words.Term) { terms = append(terms, string(term.Text)) })
	for _, wanted := range terms[:min(len(terms), 100)] {
		if len(wanted) < 2 {
			continue // no text is looked through for one letter
		}
		var begin words.Beginnings
		begin.Add(wanted)
		count := func(each func(func(words.Term))) (n int) {
			each(func(term words.Term) {
				if string(term.Text) == wanted {
					n++
				}
			})
			return n
		}
		want := count(func(f func(words.Term)) { all.Each(text, f) })
		got := count(func(f func(words.Term)) { some.EachOf(text, &begin, f) })
		if got != want || want == 0 {
			t.Errorf("%q: found %d times, not %d", wanted, got, want)
		}
	}
}

// TestStemsBeginAsTheirWords is what passing over words relies on.
func TestStemsBeginAsTheirWords(t *testing.T) {
	c := words.NewCutter()
	var b strings.Builder
	for first := 'a'; first <= 'z'; first++ {
		for second := 'a'; second <= 'z'; second++ {
			for _, rest := range []string{"", "s", "ed", "ing", "ies", "ied", "ying", "ly", "e", "er", "ness", "tional", "ized"} {
				b.WriteString(string(first) + string(second) + rest + " ")
				b.WriteString(string(first) + string(second) + "y" + rest + " ")
				b.WriteString(string(first) + "i" + string(second) + rest + " ")
				b.WriteString(string(first) + string(second) + string(second) + rest + " ")
			}
		}
	}
	text := b.String()
	c.Each(text, func(term words.Term) {
		var begin words.Beginnings
		begin.Add(string(term.Text))
		if word := text[term.Start:term.End]; !begin.HasWord([]byte(word)) {
			t.Errorf("%q is not looked for as %q", word, term.Text)
		}
	})
}
