package irc

import (
	"bufio"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
	"ambry.dev/ambry/internal/channel/channeltest"
)

// noPace writes as fast as the servers of tests allow.
var noPace = pace{every: time.Microsecond, burst: 100}

// serverKey is put together so that nobody takes it for a real one.
var serverKey = strings.Join([]string{"open", "the", "harbour"}, "-")

func TestConformanceWithNgircd(t *testing.T) {
	n := startNgircd(t)
	channeltest.Run(t, Provider(), n.world)
}

func TestConformanceWithNgircdInTheClear(t *testing.T) {
	n := startNgircd(t)
	channeltest.Run(t, Provider(), func(t *testing.T) channeltest.World {
		w := n.world(t)
		for _, values := range []map[string]string{w.Values, w.Wrong} {
			values["security"], values["server"] = channel.NoTLS, n.plain
		}
		w.Cut = nil
		return w
	})
}

// ngircd is a real server.
type ngircd struct {
	plain, secure string
	newLink       func(channel.Access) (channel.Link, error)
	wires         *channeltest.Wires
}

func startNgircd(t *testing.T) *ngircd {
	t.Helper()
	program, dir := channeltest.Program(t, "ngircd"), channeltest.Folder(t)
	cert, key, roots := channeltest.Certificate(t, dir, "127.0.0.1")
	plain, secure := channeltest.Port(t), channeltest.Port(t)
	config := channeltest.File(t, dir, "ngircd.conf", fmt.Sprintf(`[Global]
Name = irc.example.org
Info = test
Listen = 127.0.0.1
Ports = %d
Password = %s
ServerUID = 65534
ServerGID = 65534
[Limits]
MaxConnectionsIP = 0
MaxNickLength = 20
MaxPenaltyTime = 0
[Options]
DNS = no
Ident = no
PAM = no
[SSL]
CertFile = %s
KeyFile = %s
DHFile = %s
Ports = %d
`, plain, serverKey, cert, key, channeltest.File(t, dir, "dh.pem", group), secure))
	n := &ngircd{
		plain: net.JoinHostPort("127.0.0.1", strconv.Itoa(plain)),
		newLink: func(a channel.Access) (channel.Link, error) {
			a.Roots = roots
			return newLink(a, noPace)
		},
	}
	n.wires = channeltest.Lay(t, net.JoinHostPort("127.0.0.1", strconv.Itoa(secure)), new(net.Dialer).DialContext)
	n.secure = n.wires.Address
	channeltest.Serve(t, func() bool {
		conn, err := net.Dial("tcp", n.plain)
		if err != nil {
			return false
		}
		conn.Close()
		return true
	}, exec.Command(program, "-n", "-f", config))
	return n
}

func (n *ngircd) world(t *testing.T) channeltest.World {
	ann, ben := n.join(t, "ann"), n.join(t, "ben")
	people := map[string]*person{"ann": ann, "ben": ben}
	return channeltest.World{
		Values: map[string]string{"server": n.secure, "serverPassword": serverKey, "channels": "#harbour, #basin"},
		Wrong:  map[string]string{"server": n.secure, "serverPassword": "another"},
		New:    n.newLink,
		Say: func(l channeltest.Line) {
			to, text := "ambry", l.Text
			if l.In != "" {
				to = "#" + l.In
			}
			if l.Mention {
				text = "ambry: " + text
			}
			people[l.From].do("PRIVMSG " + to + " :" + text)
		},
		Hear: func(within time.Duration) (channeltest.Sent, bool) {
			end := time.After(within)
			for {
				select {
				case s := <-ann.heard:
					return s, true
				case s := <-ben.heard:
					if s.In == "ben" { // of what both hear, ann tells
						return s, true
					}
				case <-end:
					return channeltest.Sent{}, false
				}
			}
		},
		Cut:       n.wires.Cut,
		Long:      4000,
		Libraries: []string{"mellium.im/"},
	}
}

// person is somebody on the server.
type person struct {
	t     *testing.T
	conn  net.Conn
	nick  string
	heard chan channeltest.Sent
	pongs chan string
	lines chan line
}

func (n *ngircd) join(t *testing.T, nick string) *person {
	t.Helper()
	conn, err := net.Dial("tcp", n.plain)
	if err != nil {
		t.Fatal(err)
	}
	p := &person{t: t, conn: conn, nick: nick, heard: make(chan channeltest.Sent, 1000), pongs: make(chan string, 1), lines: make(chan line, 1000)}
	var reading sync.WaitGroup
	reading.Go(p.read)
	t.Cleanup(func() { // the name is free when the server ends the connection
		fmt.Fprintf(conn, "QUIT\r\n")
		reading.Wait()
		conn.Close()
	})
	fmt.Fprintf(conn, "PASS %s\r\nNICK %s\r\nUSER %s 0 * :%s\r\n", serverKey, nick, nick, nick)
	p.do("JOIN #harbour,#basin")
	return p
}

func (p *person) read() {
	defer close(p.pongs)
	for r := bufio.NewScanner(p.conn); r.Scan(); {
		l, _ := parse(r.Text())
		switch l.command {
		case "PING":
			fmt.Fprintf(p.conn, "PONG :%s\r\n", l.last())
		case "PONG":
			p.pongs <- l.last()
		case "PRIVMSG":
			if strings.HasPrefix(l.nick, "ambry") {
				p.heard <- p.sent(l)
			}
		default:
			select {
			case p.lines <- l:
			default:
			}
		}
	}
}

func (p *person) sent(l line) channeltest.Sent {
	s := channeltest.Sent{In: strings.TrimPrefix(l.param(0), "#"), Text: l.last()}
	if strings.ContainsFunc(s.Text, func(r rune) bool { return r < ' ' }) {
		s.Live = "a control character"
	}
	if s.In != p.nick {
		_, s.Text, _ = strings.Cut(s.Text, ": ")
	}
	return s
}

// do sends a command, and returns when the server has done it.
func (p *person) do(command string) {
	p.t.Helper()
	fmt.Fprintf(p.conn, "%s\r\nPING :done\r\n", command)
	if _, ok := <-p.pongs; !ok {
		p.t.Error("the server has ended the connection")
	}
}

func TestACertificateThatNobodyVouchesForIsRefused(t *testing.T) {
	n := startNgircd(t)
	l, err := newLink(access(t, map[string]string{"server": n.secure, "security": "tls", "nick": "ambry", "serverPassword": serverKey}), noPace)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Check(t.Context()); ambry.KindOf(err) != ambry.UpstreamFailed || !strings.Contains(err.Error(), "vouches") {
		t.Error(err)
	}
}

func TestATakenNicknameIsChangedAndTakenWhenItIsFree(t *testing.T) {
	n := startNgircd(t)
	ann, other := n.join(t, "ann"), n.join(t, "ambry")
	l, err := n.newLink(access(t, map[string]string{"server": n.secure, "security": "tls", "nick": "ambry", "serverPassword": serverKey, "channels": "#harbour"}))
	if err != nil {
		t.Fatal(err)
	}
	h := channeltest.Listen(t, l)
	h.Run()
	if who := <-h.Ready; who.Name != "ambry_" {
		t.Errorf("we are %+v", who)
	}
	ann.do("PRIVMSG #harbour :ambry_: hello")
	if m := <-h.Heard; !m.Mentioned || m.Text != "hello" {
		t.Errorf("received %+v", m.Message)
	}
	other.do("NICK other")
	for l := range ann.lines {
		if l.command == "NICK" && l.nick == "ambry_" && l.param(0) == "ambry" {
			break
		}
	}
	ann.do("PRIVMSG #harbour :Ambry, hello")
	if m := <-h.Heard; !m.Mentioned || m.Text != "hello" {
		t.Errorf("received %+v", m.Message)
	}
	h.Stop()
}

// group is ffdhe2048 of RFC 7919. Without it the server looks for one of its own,
// for seconds.
const group = `-----BEGIN DH PARAMETERS-----
MIIBCAKCAQEA//////////+t+FRYortKmq/cViAnPTzx2LnFg84tNpWp4TZBFGQz
+8yTnc4kmz75fS/jY2MMddj2gbICrsRhetPfHtXV/WVhJDP1H18GbtCFY2VVPe0a
87VXE15/V8k1mE8McODmi3fipona8+/och3xWKE2rec1MKzKT0g6eXq8CrGCsyT7
YdEIqUuyyOP7uWrat2DX9GgdT0Kj3jlN9K5W7edjcrsZCwenyO4KbXCeAvzhzffi
7MA0BM0oNC9hkXL+nOmFg/+OTxIy7vKBg8P+OxtMb61zO7X8vC7CIAXFjvGDfRaD
ssbzSibBsu/6iGtCOGEoXJf//////////wIBAg==
-----END DH PARAMETERS-----
`
