package irc

import (
	"bufio"
	"context"
	"crypto/pbkdf2"
	"crypto/sha256"
	"io"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"
)

func salted(password, salt []byte) ([]byte, error) {
	return pbkdf2.Key(sha256.New, string(password), salt, 4096, sha256.Size)
}

func TestParse(t *testing.T) {
	for raw, want := range map[string]line{
		"PING :a b\r\n":                       {command: "PING", params: []string{"a b"}},
		":irc.example.org 001 me :hi":         {nick: "irc.example.org", command: "001", params: []string{"me", "hi"}},
		":n!u@h  privmsg  #c   ::) ":          {nick: "n", user: "u@h", command: "PRIVMSG", params: []string{"#c", ":) "}},
		`@a=1;b;c=\:\s\\\n\x\ :n!u@h JOIN #c`: {tags: map[string]string{"a": "1", "b": "", "c": "; \\\nx"}, nick: "n", user: "u@h", command: "JOIN", params: []string{"#c"}},
		"TOPIC #c :":                          {command: "TOPIC", params: []string{"#c", ""}},
	} {
		if got, ok := parse(raw); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("parse(%q) = %+v", raw, got)
		}
	}
	for _, raw := range []string{"", "\r\n", ":only", "@tags", "@tags :source", "   "} {
		if got, ok := parse(raw); ok {
			t.Errorf("parse(%q) = %+v", raw, got)
		}
	}
}

func TestFoldIsAsTheServerSays(t *testing.T) {
	for mapping, want := range map[string]string{"ascii": `ab[]\^`, "rfc1459": "ab{}|~", "strict-rfc1459": "ab{}|^", "": "ab{}|~"} {
		if got := fold(`AB[]\^`, mapping); got != want {
			t.Errorf("%s: %q, want %q", mapping, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"PING", "PING :x", "@a=b;c :n!u@h PRIVMSG #c :text \x0301,02x\x04ffffff", ":n JOIN #c", "@\\ \\ :\x00 x", "005 me A=B C :are"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		l, ok := parse(raw)
		if ok && (l.command == "" || strings.Contains(l.command, " ")) || len(l.params) > maxParams || strings.Contains(l.nick, " ") {
			t.Errorf("%q: %+v", raw, l)
		}
		for i, p := range l.params {
			if i < len(l.params)-1 && (p == "" || strings.Contains(p, " ")) {
				t.Errorf("%q: %+v", raw, l)
			}
		}
		if text := bare(l.last()); strings.ContainsAny(text, "\x00\x01\x02\x03\r") || text != strings.TrimSpace(text) {
			t.Errorf("%q is bare %q", raw, text)
		}
	})
}

// Whatever an answer holds, what goes out is lines of the protocol that say it,
// each whole and short enough, and nothing else.
func FuzzSay(f *testing.F) {
	for _, seed := range []string{"yes", "a\r\nQUIT :bye\nJOIN #x", "\x01VERSION\x01", strings.Repeat("長い ", 400), "!op\n.help\x00", "\u2028\u0085x"} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, text string, group bool) {
		ours, theirs := net.Pipe()
		s := &session{link: &link{}, conn: near{ours}, ended: t.Context(), saying: make(chan struct{}, 1), nick: "ambry_with_a_name"}
		s.limit = (&link{pace: pace{time.Nanosecond, 1 << 20}}).limiter()
		target, address, prefix := "ann", "", "PRIVMSG ann :"
		if group {
			target, address, prefix = "#team", "ann: ", "PRIVMSG #team :"
		}
		var said []string
		var reading sync.WaitGroup
		reading.Go(func() {
			for r := bufio.NewReader(theirs); ; {
				l, err := r.ReadString('\n')
				if err == io.EOF {
					return
				}
				said = append(said, l)
			}
		})
		if err := s.say(context.Background(), target, address, text); err != nil {
			t.Error(err)
		}
		ours.Close()
		reading.Wait()
		for i, l := range said {
			body, ok := strings.CutPrefix(strings.TrimSuffix(l, "\r\n"), prefix)
			if !ok || body == "" || strings.ContainsFunc(body, func(r rune) bool { return r < ' ' || r == 0x7f }) || !utf8.ValidString(body) {
				t.Errorf("%q became %q", text, l)
			}
			if len(":ambry_with_a_name")+ownMask+len(" ")+len(l) > maxLine {
				t.Errorf("%d bytes: %q", len(l), l)
			}
			if group && (i == 0 && !strings.HasPrefix(body, "ann: ") || i > 0 && strings.IndexByte("!.@~&%+$?\\/^;,:=<>`", body[0]) >= 0) {
				t.Errorf("%q became %q", text, l)
			}
		}
	})
}
