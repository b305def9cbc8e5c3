package email

import (
	"encoding/base64"
	"strings"
	"testing"
	"unicode/utf8"
)

// box returns a mailbox of which only the rules are used.
func box(t testing.TB, trust, word string) *link {
	t.Helper()
	values := good()
	values["trust"], values["word"] = trust, word
	l, err := newLink(access(t, values))
	if err != nil {
		t.Fatal(err)
	}
	return l.(*link)
}

const proved = "Authentication-Results: mx.example.org; spf=pass smtp.mailfrom=example.net; dmarc=pass (p=none) header.from=example.net\n"

func mailOf(head, body string) []byte {
	return []byte(strings.ReplaceAll(head+"\n"+body, "\n", "\r\n"))
}

func TestALetterIsRead(t *testing.T) {
	l := box(t, "mx.example.org", "")
	for name, tt := range map[string]struct{ head, body, want string }{
		"as it is":             {"", "When does the gate close?\n", "When does the gate close?"},
		"quoted-printable":     {"Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n", "W=F6rter und=\n so\n", "Wörter und so"},
		"in a Chinese coding":  {"Content-Type: text/plain; charset=gb18030\nContent-Transfer-Encoding: base64\n", base64.StdEncoding.EncodeToString([]byte{0xb9, 0xd8, 0xc3, 0xc5}) + "\n", "关门"},
		"in an unknown coding": {"Content-Type: text/plain; charset=klingon\n", "Qapla'\n", "Qapla'"},
		"in two ways": {
			"Content-Type: multipart/alternative; boundary=x\n",
			"--x\nContent-Type: text/html\n\n<b>html</b>\n--x\nContent-Type: text/plain\n\nplain\n--x--\n", "plain",
		},
		"in HTML": {
			"Content-Type: text/html; charset=utf-8\n",
			"<html><head><style>p{}</style><title>t</title></head><body><p>When &amp; where?<br>Now</p><div class=\"gmail_quote\"><div>old</div>older</div><blockquote>oldest</blockquote><script>x()</script></body></html>", "When & where?\nNow",
		},
		"with something attached": {
			"Content-Type: multipart/mixed; boundary=x\n",
			"--x\nContent-Type: text/plain\nContent-Disposition: attachment; filename=a.txt\n\nattached\n--x\nContent-Type: multipart/alternative; boundary=y\n\n--y\nContent-Type: text/plain\n\ninner\n--y--\n--x--\n", "inner",
		},
		"cut off": {
			"Content-Type: multipart/mixed; boundary=x\n",
			"--x\nContent-Type: text/plain\n\nthe text\n--x\nContent-Type: image/png\nContent-Transfer-Encoding: base64\n\niVBORw0KGgo", "the text",
		},
		"in the subject alone": {"Subject: =?utf-8?q?Re:_AW:_W=C3=B6rter=3F?=\n", "\n-- \nAnn\n", "Wörter?"},
	} {
		m, reason := l.read(mailOf(proved+"From: =?utf-8?q?Ann_=C3=84?= <Ann@example.net>\nTo: ambry@example.org\nMessage-ID: <1@example.net>\nReferences: <0@example.net> x\n"+tt.head, tt.body))
		if reason != "" || m.text != tt.want || m.sender != "ann@example.net" || m.name != "Ann Ä" || m.id != "<1@example.net>" || len(m.references) != 1 {
			t.Errorf("%s: %+v, %q", name, m, reason)
		}
	}
}

func TestWhatIsPassedOver(t *testing.T) {
	l := box(t, "mx.example.org", "")
	const from = "From: ann@example.net\n"
	for name, head := range map[string]string{
		"without a proof":           from,
		"proved by another":         "Authentication-Results: mx.example.com; dmarc=pass header.from=example.net\n" + from,
		"proved below":              "Authentication-Results: mx.example.org; dmarc=fail header.from=example.net\n" + proved + from,
		"not judged":                "Authentication-Results: mx.example.org; spf=pass smtp.mailfrom=example.net\n" + proved + from,
		"two opinions":              "Authentication-Results: mx.example.org; dmarc=pass header.from=example.net; dmarc=fail header.from=example.net\n" + from,
		"another one is proved":     "Authentication-Results: mx.example.org; dmarc=pass header.from=example.com\n" + from,
		"proved in a comment":       "Authentication-Results: mx.example.org; spf=fail (a; dmarc=pass header.from=example.net) smtp.mailfrom=b\n" + from,
		"proved in quotes":          "Authentication-Results: mx.example.org; spf=fail smtp.mailfrom=\"a; dmarc=pass header.from=example.net\"\n" + from,
		"proved without an end":     "Authentication-Results: mx.example.org; dmarc=pass header.from=example.net; spf=fail (x\n" + from,
		"of two":                    proved + "From: ann@example.net, ben@example.com\n",
		"with two senders":          proved + from + from,
		"of nobody":                 proved,
		"of a strange address":      proved + "From: \"a b\"@example.net\n",
		"of ourselves":              "Authentication-Results: mx.example.org; dmarc=pass header.from=example.org\nFrom: Ambry <AMBRY@example.org>\n",
		"of ourselves, with a plus": "Authentication-Results: mx.example.org; dmarc=pass header.from=example.org\nFrom: ambry+x@example.org\n",
		"an answer of a program":    proved + from + "Auto-Submitted: auto-replied (vacation)\n",
		"without saying which":      proved + from + "Auto-Submitted:\n",
		"in bulk":                   proved + from + "Precedence: Bulk\n",
		"of a list":                 proved + from + "List-Id: <x.example.net>\n",
		"of a newsletter":           proved + from + "List-Unsubscribe: <https://example.net>\n",
		"that has come back":        proved + "Return-Path: <>\n" + from,
		"that was once ours":        proved + from + "X-Loop: ambry@example.org\n",
		"a report":                  proved + from + "Content-Type: multipart/report; boundary=x; report-type=delivery-status\n",
		"encrypted":                 proved + from + "Content-Type: multipart/encrypted; boundary=x\n",
		"of the post":               strings.ReplaceAll(proved, "example.net", "example.com") + "From: Mailer-Daemon@example.com\n",
		"of who wants no answer":    strings.ReplaceAll(proved, "example.net", "example.com") + "From: no-reply+1@example.com\n",
		"no mail":                   "x\n",
	} {
		if m, reason := l.read(mailOf(head+"To: ambry@example.org\n", "text\n")); reason == "" {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if m, reason := l.read(mailOf(proved+from, "> quoted\n")); reason == "" {
		t.Errorf("without a text: %+v", m)
	}
	if m, reason := l.read(mailOf(proved+"X-Long: "+strings.Repeat("x", maxHeader)+"\n"+from, "text\n")); reason == "" {
		t.Errorf("of headers alone: %+v", m)
	}
}

func TestASecretWordProvesASender(t *testing.T) {
	l := box(t, "", "Sesame1Sesame")
	for head, want := range map[string]string{
		"To: Ambry <AMBRY+sesame1sesame@example.org>\n":                      "ambry+sesame1sesame@example.org",
		"To: x@example.net\nDelivered-To: ambry+sesame1sesame@example.org\n": "ambry+sesame1sesame@example.org",
		"Subject: Re: [sesame1sesame] the gate\n":                            "",
	} {
		m, reason := l.read(mailOf("From: ann@example.net\n"+head, "text\n"))
		if reason != "" || m.replyTo != want {
			t.Errorf("%s: %+v, %q", head, m, reason)
		}
	}
	for _, head := range []string{"", "To: ambry@example.org\n", "To: ambry+sesame1sesam@example.org\n", "To: ambry+sesame1sesame@example.com\n", "Subject: sesame1sesamexx\n", "X-Note: sesame1sesame\n"} {
		if m, reason := l.read(mailOf("From: ann@example.net\n"+head, "sesame1sesame\n")); reason == "" {
			t.Errorf("%s: %+v", head, m)
		}
	}
	if m, reason := l.read(mailOf("From: ann@example.net\nSubject: [SESAME1sesame] Re: the gate?\n", "")); reason != "" || m.text != "the gate?" {
		t.Errorf("%+v, %q", m, reason)
	}
	both := box(t, "mx.example.org", "sesame1sesame")
	if _, reason := both.read(mailOf("From: ann@example.net\nSubject: sesame1sesame\n", "text\n")); reason == "" {
		t.Error("the word replaces the proof")
	}
	if _, reason := both.read(mailOf(proved+"From: ann@example.net\n", "text\n")); reason == "" {
		t.Error("the proof replaces the word")
	}
}

func TestAQuestionIsWithoutWhatItQuotes(t *testing.T) {
	for text, want := range map[string]string{
		"yes\n\nOn Mon, 2 Mar 2026 at 10:00, Ambry <ambry@example.org> wrote:\n> old\n> older\n": "yes",
		"yes\n\nOn Mon, 2 Mar 2026 at 10:00, Ambry\n<ambry@example.org> wrote:\n\n> old\n":       "yes",
		"yes\n\nAm 02.03.26 um 10:00 schrieb Ambry:\n> alt\nund das?":                            "yes\n\nund das?",
		"好的\n\n在 2026年3月2日，Ambry 写道：\n> 旧":                                                       "好的",
		"yes\n\nOn 2 Mar 2026, Ambry wrote:\nold without a mark\n":                               "yes",
		"yes\n\n-----Original Message-----\nFrom: Ambry\nold":                                    "yes",
		"yes\n________________________________\nFrom: Ambry\nSent: Monday\nold":                  "yes",
		"yes\n\nFrom: Ambry <a@example.org>\nSent: Monday, March 2\nTo: Ann\nold":                "yes",
		"yes\n\nVon: Ambry\nGesendet: Montag\nalt":                                               "yes",
		"发件人：Ambry\n发送时间：2026\n旧":                                                                "",
		"yes\n-- \nAnn\nExample Ltd":                                                             "yes",
		"yes\n\nSent from my phone":                                                              "yes",
		"> old\nyes\n> older\nno":                                                                "yes\nno",
		"Why is it that she wrote:\nthat is not a quotation":                                     "Why is it that she wrote:\nthat is not a quotation",
		"From: what I know\nthe gate is open":                                                    "From: what I know\nthe gate is open",
		"a\r\n\r\n\r\n\r\nb\x1b[31m\u202e":                                                       "a\n\nb[31m",
		"- one\n- two\n---\nthree":                                                               "- one\n- two\n---\nthree",
	} {
		if got := question(text); got != want {
			t.Errorf("question(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestHTMLIsReadAsItIsSeen(t *testing.T) {
	for source, want := range map[string]string{
		"<p>a</p><p>b &lt;c&gt;</p>":                            "a\nb <c>",
		"<div>a<br class=\"gmail_quote\">b</div>":               "a\nb",
		"a<div id=\"divRplyFwdMsg\">old<div>older</div></div>b": "ab",
		"<ul><li>one</li><li>two</li></ul>":                     "one\ntwo",
		"a <!-- hidden --> b<img src=x onerror=y>":              "a b",
		"<table><tr><td>a</td><td>b</td></tr></table>":          "a b",
		"<style>never closed":                                   "",
	} {
		lines := strings.FieldsFunc(htmlText(source), func(r rune) bool { return r == '\n' })
		for i := range lines {
			lines[i] = strings.Join(strings.Fields(lines[i]), " ")
		}
		if got := strings.Trim(strings.Join(lines, "\n"), "\n "); got != want {
			t.Errorf("htmlText(%q) = %q, want %q", source, got, want)
		}
	}
}

func TestAnAnswerHasTheSubjectOfItsThread(t *testing.T) {
	for subject, want := range map[string]string{"": "Re: your mail", "the gate": "Re: the gate", "RE: the gate": "RE: the gate"} {
		if got := reply(subject); got != want {
			t.Errorf("reply(%q) = %q", subject, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(mailOf(proved+"From: ann@example.net\nMessage-ID: <1@example.net>\n", "text\n"))
	f.Add(mailOf(proved+"From: ann@example.net\nContent-Type: multipart/mixed; boundary=x\n", "--x\nContent-Type: text/html; charset=gbk\n\n<p>text\n--x--\n"))
	f.Add(mailOf(proved+"From: ann@example.net\nContent-Transfer-Encoding: base64\nSubject: =?gbk?b?udg=?=\n", "AAAA\n"))
	l := box(f, "mx.example.org", "")
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, reason := l.read(raw)
		if reason != "" {
			return
		}
		if m.text == "" || !utf8.ValidString(m.text) || len([]rune(m.text)) > maxText || !plain(m.sender) || m.sender == l.own || strings.ContainsAny(m.subject+m.name+m.id+strings.Join(m.references, ""), "\r\n") {
			t.Errorf("%q: %+v", raw, m)
		}
		if !strings.Contains(strings.ToLower(string(raw)), "dmarc") {
			t.Errorf("%q is proved", raw)
		}
	})
}

func FuzzQuestion(f *testing.F) {
	for _, seed := range []string{"yes\n\nOn Mon, Ambry wrote:\n> old", "<p>a</p>", "-- \nx", "From: a\nSent: b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, got := range []string{question(text), question(htmlText(text))} {
			if !utf8.ValidString(got) || got != strings.TrimSpace(got) || len([]rune(got)) > maxText || strings.ContainsAny(got, "\x00\x1b\r") {
				t.Errorf("%q became %q", text, got)
			}
			for l := range strings.SplitSeq(got, "\n") {
				if strings.HasPrefix(strings.TrimSpace(l), ">") {
					t.Errorf("%q became %q", text, got)
				}
			}
		}
	})
}

// What a server that is not ours has written, or what a sender has put into it,
// never counts as a pass.
func FuzzDMARC(f *testing.F) {
	f.Add("mx.example.org; dmarc=pass header.from=example.net", "x")
	f.Add("mx.example.org 1; dmarc = pass (p=none) header.from = \"example.net\"", "; dmarc=pass header.from=example.net")
	f.Fuzz(func(t *testing.T, header, inner string) {
		_ = dmarcPassed([]string{header}, "mx.example.org", "example.net") // it ends
		inner = strings.NewReplacer("\\", "", "\"", "", "(", "", ")", "").Replace(inner)
		for _, h := range []string{"mx.example.org; spf=fail (" + inner + ") smtp.helo=x", `mx.example.org; spf=fail smtp.mailfrom="` + inner + `"`} {
			if dmarcPassed([]string{h, "mx.example.org; dmarc=pass header.from=example.net"}, "mx.example.org", "example.net") {
				t.Errorf("%q has passed", h)
			}
		}
	})
}
