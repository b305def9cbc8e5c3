package irc

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mellium.im/sasl"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
	"ambry.dev/ambry/internal/channel/channeltest"
)

// near is a connection that says it leads to this machine.
type near struct{ net.Conn }

func (near) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 6667} }

// fake is the side of a server of ours, for what ngircd does not do.
type fake struct {
	t *testing.T
	*bufio.Scanner
	left *bool       // we have said good-bye
	out  chan string // as a network does, it holds what nobody reads yet
}

func (f fake) say(format string, args ...any) { f.out <- fmt.Sprintf(format+"\r\n", args...) }

// hear waits for a line that begins with prefix, and returns the rest of it.
func (f fake) hear(prefix string) string {
	for f.Scan() {
		if rest, ok := strings.CutPrefix(f.Text(), prefix); ok {
			return rest
		}
		if f.Text() == "QUIT" {
			*f.left = true
			break
		}
	}
	return ""
}

// serve makes a link to a server that does what script says, and then reads until
// the end.
func serve(t *testing.T, values map[string]string, script func(fake)) (l *link, over func()) {
	t.Helper()
	for k, v := range map[string]string{"server": "irc.example.org", "security": "none", "nick": "ambry"} {
		if values[k] == "" {
			values[k] = v
		}
	}
	a := access(t, values)
	var servers sync.WaitGroup
	a.Dial = func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		servers.Go(func() {
			f := fake{t, bufio.NewScanner(theirs), new(bool), make(chan string, 1000)}
			servers.Go(func() {
				for text := range f.out {
					_, _ = io.WriteString(theirs, text) // who reads may have gone
				}
				theirs.Close()
			})
			defer close(f.out)
			script(f)
			for !*f.left && f.Scan() && f.Text() != "QUIT" {
				if p, ok := strings.CutPrefix(f.Text(), "PING "); ok && values["silent"] == "" {
					f.say("PONG :%s", p)
				}
			}
		})
		return near{ours}, nil
	}
	l, err := newLink(a, noPace)
	if err != nil {
		t.Fatal(err)
	}
	return l, servers.Wait
}

func (f fake) welcome() {
	f.say(":irc.example.org 001 ambry :Welcome")
	f.say(":irc.example.org 005 ambry CASEMAPPING=rfc1459 CHANTYPES=# BOT=B :are supported")
	f.say(":irc.example.org 422 ambry :no news")
	f.hear("MODE ambry +B")
}

// accountPassword is put together so that nobody takes it for a real one.
var accountPassword = strings.Repeat("correct horse ", 28)

func TestAnAccountIsProvedBySASL(t *testing.T) {
	salt := []byte("salt of the server")
	for _, tt := range []struct {
		offered, password string
		mechanism         sasl.Mechanism
		want              ambry.Kind
	}{
		{"sasl=PLAIN,EXTERNAL", accountPassword, sasl.Plain, ""},
		{"sasl", accountPassword, sasl.Plain, ""},
		{"sasl=PLAIN,SCRAM-SHA-256", accountPassword, sasl.ScramSha256, ""},
		{"sasl=PLAIN", "another", sasl.Plain, ambry.Unauthorized},
		{"sasl=SCRAM-SHA-256", "another", sasl.ScramSha256, ambry.Unauthorized},
		{"sasl=EXTERNAL", accountPassword, sasl.Plain, ambry.UpstreamFailed},
		{"server-time", accountPassword, sasl.Plain, ambry.UpstreamFailed},
	} {
		server := func(f fake) {
			f.hear("CAP LS 302")
			f.hear("USER")
			f.say("CAP * LS * :multi-prefix")
			f.say("CAP * LS :%s account-tag", tt.offered)
			asked := f.hear("CAP REQ :")
			if !strings.Contains(asked, "sasl") {
				return
			}
			f.say("CAP ambry ACK :%s", asked)
			if got := f.hear("AUTHENTICATE "); got != tt.mechanism.Name {
				if tt.want == ambry.UpstreamFailed {
					return
				}
				f.t.Errorf("%s: logged in by %q", tt.offered, got)
				return
			}
			if !f.prove(tt.mechanism, salt) {
				f.say("904 ambry :no")
				return
			}
			f.say("903 ambry :yes")
			f.hear("CAP END")
			f.welcome()
		}
		l, over := serve(t, map[string]string{"account": "Ambry", "password": tt.password}, server)
		who, err := l.Check(t.Context())
		over()
		if tt.want == "" && (err != nil || who.ID != "Ambry" || who.Name != "ambry") || tt.want != "" && ambry.KindOf(err) != tt.want {
			t.Errorf("%s: %+v, %v", tt.offered, who, err)
		}
		if err != nil && strings.Contains(err.Error(), tt.password) {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

// prove is the side of the server in SASL.
func (f fake) prove(mechanism sasl.Mechanism, salt []byte) bool {
	password := []byte(accountPassword)
	server := sasl.NewServer(mechanism, func(n *sasl.Negotiator) bool {
		user, given, _ := n.Credentials()
		return string(user) == "Ambry" && string(given) == string(password)
	}, sasl.SaltedCredentials(func(user, _ []byte, _ string) ([]byte, []byte, int64, error) {
		salted, err := salted(password, salt)
		return salt, salted, 4096, err
	}))
	f.say("AUTHENTICATE +")
	for {
		var text string
		for {
			part := f.hear("AUTHENTICATE ")
			if part != "+" {
				text += part
			}
			if len(part) != chunk {
				break
			}
		}
		answer, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			f.t.Error(err)
			return false
		}
		if len(answer) == 0 { // the end of SCRAM is confirmed
			return true
		}
		more, challenge, err := server.Step(answer)
		if err != nil {
			return false
		}
		if !more && len(challenge) == 0 {
			return true
		}
		f.say("AUTHENTICATE %s", base64.StdEncoding.EncodeToString(challenge))
	}
}

func TestAServerThatDoesNotKnowThePasswordIsNotBelieved(t *testing.T) {
	for name, after := range map[string]func(fake){
		"at once":             func(f fake) { f.say("903 ambry :yes") },
		"after an empty part": func(f fake) { f.say("AUTHENTICATE +") },
		"after a part for hours": func(f fake) {
			f.say("AUTHENTICATE %s", base64.StdEncoding.EncodeToString([]byte("r=x,s=c2FsdA==,i=2000000000")))
		},
		"after parts without end": func(f fake) { f.say("AUTHENTICATE %s", strings.Repeat("A", chunk)) },
	} {
		l, over := serve(t, map[string]string{"password": accountPassword}, func(f fake) {
			f.hear("USER")
			f.say("CAP * LS :sasl=SCRAM-SHA-256")
			f.say("CAP ambry ACK :%s", f.hear("CAP REQ :"))
			f.hear("AUTHENTICATE ")
			f.say("AUTHENTICATE +")
			f.hear("AUTHENTICATE ")
			for range 20 {
				after(f)
			}
		})
		if _, err := l.Check(t.Context()); ambry.KindOf(err) != ambry.UpstreamFailed {
			t.Errorf("%s: %v", name, err)
		}
		over()
	}
}

func TestWhoWritesIsTheirAccount(t *testing.T) {
	l, over := serve(t, map[string]string{"channels": "#Team"}, func(f fake) {
		f.hear("USER")
		f.say("CAP * LS :account-tag message-tags server-time")
		f.say("CAP ambry ACK :%s", f.hear("CAP REQ :"))
		f.hear("CAP END")
		f.welcome()
		f.hear("JOIN #Team")
		f.say(":ambry!~a@h JOIN #Team")
		for _, l := range []string{
			`@account=Ann;msgid=m1;time=2026-03-01T10:00:00.000Z :Ann[x]!a@h PRIVMSG ambry :one`,
			`@account=Ann;bot :Ann!a@h PRIVMSG ambry :not passed on`,
			":ann!a@h NOTICE ambry :not passed on",
			":ann!a@h PRIVMSG ambry :\x01VERSION\x01",
			":ambry!a@h PRIVMSG ambry :not passed on",
			":irc.example.org PRIVMSG ambry :not passed on",
			":a,b!a@h PRIVMSG ambry :not passed on",
			":ann!a@h PRIVMSG other :not passed on",
			":ann!a@h PRIVMSG ambry",
			"@" + strings.Repeat("x", 2*longestLine) + " :ann!a@h PRIVMSG ambry :not passed on",
			":Ben!b@h PRIVMSG AMBRY :\x02two\x02 \x0304,01red\x03 \x0412ab34blue",
			":Ben!b@h PRIVMSG #TEAM :about ambry: three",
			":Ben!b@h PRIVMSG #TEAM :@ambry four",
			":Ben!b@h PRIVMSG #TEAM :ambry2: five",
		} {
			f.say("%s", l)
		}
		if got := f.hear("PRIVMSG #TEAM :Ben: "); got != "yes" {
			t.Errorf("the answer is %q", got)
		}
	})
	h := channeltest.Listen(t, l)
	h.Run()
	<-h.Ready
	m := <-h.Heard
	if m.ID != "m1" || m.Sender != "account/ann" || m.Name != "Ann[x]" || m.Text != "one" || m.Group || !m.At.Equal(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)) {
		t.Errorf("received %+v", m.Message)
	}
	for _, want := range []channel.Message{
		{Sender: "ben!b@h", Chat: "ben!b@h", Text: "two red blue"},
		{Sender: "ben!b@h", Chat: "#team", Text: "about ambry: three", Group: true},
		{Sender: "ben!b@h", Chat: "#team", Text: "four", Group: true, Mentioned: true},
		{Sender: "ben!b@h", Chat: "#team", Text: "ambry2: five", Group: true},
	} {
		m := <-h.Heard
		if m.ID == "" || m.Name != "Ben" || m.At.IsZero() {
			t.Errorf("received %+v", m.Message)
		}
		want.ID, want.Name, want.At = m.ID, m.Name, m.At
		if m.Message != want {
			t.Errorf("received %+v, want %+v", m.Message, want)
		}
		if m.Mentioned {
			if err := m.Send(t.Context(), "yes"); err != nil {
				t.Error(err)
			}
		}
	}
	h.Stop()
	over()
}

func TestServersThatDoNotLetUsIn(t *testing.T) {
	for said, want := range map[string]ambry.Kind{
		"464 ambry :Password incorrect":                 ambry.Unauthorized,
		"ERROR :Closing Link: Bad Password":             ambry.Unauthorized,
		"465 ambry :You are banned":                     ambry.UpstreamFailed,
		"432 * ambry :Erroneous":                        ambry.UpstreamFailed,
		"ERROR :Closing Link: too many connections\x02": ambry.UpstreamFailed,
	} {
		l, over := serve(t, map[string]string{}, func(f fake) {
			f.hear("USER")
			f.say("%s", said)
		})
		if _, err := l.Check(t.Context()); ambry.KindOf(err) != want || strings.Contains(err.Error(), "\x02") {
			t.Errorf("%s: %v", said, err)
		}
		over()
	}
	l, over := serve(t, map[string]string{}, func(f fake) {
		for f.Scan() && f.Text() != "QUIT" {
			if strings.HasPrefix(f.Text(), "NICK") {
				f.say("433 * ambry :taken")
			}
		}
		*f.left = true
	})
	if _, err := l.Check(t.Context()); ambry.KindOf(err) != ambry.UpstreamFailed {
		t.Error(err)
	}
	over()
}

// A channel that does not answer, or not well, keeps nobody from writing.
func TestAChannelThatCannotBeJoinedIsNotWaitedFor(t *testing.T) {
	for _, answer := range []string{":irc.example.org 471 ambry #team :full", ":irc.exa"} {
		synctest.Test(t, func(t *testing.T) {
			l, over := serve(t, map[string]string{"channels": "#team"}, func(f fake) {
				f.hear("USER")
				f.welcome()
				f.hear("JOIN")
				f.out <- answer
				time.Sleep(20 * time.Second)
				f.say("mple.org PRIVMSG")
				f.say(":ann!a@h PRIVMSG ambry :hello")
			})
			h := channeltest.Listen(t, l)
			h.Run()
			<-h.Ready
			if m := <-h.Heard; m.Text != "hello" {
				t.Errorf("received %+v", m.Message)
			}
			h.Stop()
			over()
		})
	}
}

func TestAConnectionOnWhichNothingComesIsDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, over := serve(t, map[string]string{"silent": "yes"}, func(f fake) {
			f.hear("USER")
			f.welcome()
		})
		start := time.Now()
		err := l.Run(t.Context(), channeltest.Listen(t, l))
		if took := time.Since(start); ambry.KindOf(err) != ambry.UpstreamFailed || took > 80*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		over()
	})
}

func TestAQuietServerThatAnswersIsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, over := serve(t, map[string]string{}, func(f fake) {
			f.hear("USER")
			f.welcome()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := l.Run(ctx, channeltest.Listen(t, l)); err != nil {
			t.Error(err)
		}
		over()
	})
}

func TestANicknameIsAskedForUntilItIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, over := serve(t, map[string]string{}, func(f fake) {
			f.hear("USER")
			f.say("433 * ambry :taken")
			f.hear("NICK ambry_")
			f.say("001 ambry_ :Welcome")
			f.say("422 ambry_ :no news")
			f.hear("NICK ambry")
			f.say("433 ambry_ ambry :taken")
			f.hear("NICK ambry")
			f.say(":ambry_!~a@h NICK :ambry")
			f.say(":ann!a@h PRIVMSG ambry :hello")
		})
		h := channeltest.Listen(t, l)
		h.Run()
		if m := <-h.Heard; m.Text != "hello" || m.Group {
			t.Errorf("received %+v", m.Message)
		}
		h.Stop()
		over()
	})
}

// What is written is no flood, and answers are not mixed.
func TestAnswersAreWrittenSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		l, over := serve(t, map[string]string{}, func(f fake) {
			f.hear("USER")
			f.welcome()
			f.say(":ann!a@h PRIVMSG ambry :hello")
			for len(said) < 20 {
				said = append(said, f.hear("PRIVMSG ann :"))
			}
		})
		l.pace = usualPace
		h := channeltest.Listen(t, l)
		h.Run()
		m := <-h.Heard
		start := time.Now()
		var both sync.WaitGroup
		for _, word := range []string{"a", "b"} {
			both.Go(func() {
				if err := m.Send(t.Context(), strings.Repeat(word+"\r\n\r\n", 10)); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		if took := time.Since(start); took < 30*time.Second {
			t.Errorf("20 lines took %v", took)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := m.Send(gone, "late"); !errors.Is(err, context.Canceled) {
			t.Errorf("sent for nobody: %v", err)
		}
		h.Stop()
		over()
		if got := strings.Join(said, ""); got != strings.Repeat("a", 10)+strings.Repeat("b", 10) && got != strings.Repeat("b", 10)+strings.Repeat("a", 10) {
			t.Errorf("said %q", got)
		}
	})
}
