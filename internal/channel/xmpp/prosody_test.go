package xmpp

import (
	"context"
	"crypto/x509"
	"encoding/xml"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"mellium.im/xmlstream"
	"mellium.im/xmpp"
	"mellium.im/xmpp/jid"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
	"ambry.dev/ambry/internal/channel/channeltest"
)

// password is put together so that nobody takes it for a real one.
var password = strings.Join([]string{"open", "the", "harbour"}, "-")

func TestConformanceWithProsody(t *testing.T) {
	p := startProsody(t, true)
	channeltest.Run(t, Provider(), func(t *testing.T) channeltest.World { return p.world(t, channel.StartTLS) })
}

func TestTheOtherWaysToProsody(t *testing.T) {
	p := startProsody(t, true)
	for _, security := range []string{channel.TLS, channel.NoTLS} {
		l, err := p.link(access(t, map[string]string{"address": "ambry@example.org", "password": password, "server": p.server[security], "security": security}))
		if err != nil {
			t.Fatal(err)
		}
		if who, err := l.Check(t.Context()); err != nil || who.ID != "ambry@example.org" {
			t.Errorf("%s: %+v, %v", security, who, err)
		}
		l, err = p.link(access(t, map[string]string{"address": "ambry@example.org", "password": "another", "server": p.server[security], "security": security}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Check(t.Context()); ambry.KindOf(err) != ambry.Unauthorized {
			t.Errorf("%s: %v", security, err)
		}
	}
}

func TestACertificateThatNobodyVouchesForIsRefused(t *testing.T) {
	p := startProsody(t, true)
	for _, security := range []string{channel.TLS, channel.StartTLS} {
		l, err := newLink(access(t, map[string]string{"address": "ambry@example.org", "password": password, "server": p.server[security], "security": security}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Check(t.Context()); ambry.KindOf(err) != ambry.UpstreamFailed || !strings.Contains(err.Error(), "vouches") {
			t.Errorf("%s: %v", security, err)
		}
	}
}

// Where a room does not show who is who, people are known by the ids that it gives.
func TestInARoomWithoutAddressesPeopleAreKnownByItsIDs(t *testing.T) {
	p := startProsody(t, false)
	w := p.world(t, channel.StartTLS)
	l, err := p.link(access(t, w.Values))
	if err != nil {
		t.Fatal(err)
	}
	h := channeltest.Listen(t, l)
	h.Run()
	<-h.Ready
	for _, from := range []string{"ann", "ben"} {
		w.Say(channeltest.Line{From: from, In: "harbour", Mention: true, Text: "hello"})
	}
	w.Say(channeltest.Line{From: "ann", In: "harbour", Mention: true, Text: "hello again"})
	first, second, third := <-h.Heard, <-h.Heard, <-h.Heard
	prefix := "harbour@rooms.example.org/occupant-id:"
	if !strings.HasPrefix(first.Sender, prefix) || first.Sender == second.Sender || first.Sender != third.Sender || first.Name != "ann" {
		t.Errorf("received %+v, %+v, %+v", first.Message, second.Message, third.Message)
	}
	h.Stop()
}

// maxWorlds is how many worlds a server has room for.
const maxWorlds = 40

// ours is who we are in a world: a message to somebody else that was not confirmed
// when a case ended comes again later, and is none of the next case's.
func ours(world int) string { return "ambry" + strconv.Itoa(world) }

// prosody is a real server.
type prosody struct {
	worlds int
	server map[string]string // by the way of protection
	roots  *x509.CertPool
	wires  *channeltest.Wires
}

func startProsody(t *testing.T, publicRooms bool) *prosody {
	t.Helper()
	program, dir := channeltest.Program(t, "prosody"), channeltest.Folder(t)
	cert, key, roots := channeltest.Certificate(t, dir, "example.org")
	accounts := filepath.Join(dir, "data", "example%2eorg", "accounts")
	if err := os.MkdirAll(accounts, 0o755); err != nil {
		t.Fatal(err)
	}
	names := []string{"ambry", "ann", "ben"}
	for n := range maxWorlds {
		names = append(names, ours(n+1))
	}
	for _, name := range names {
		channeltest.File(t, accounts, name+".dat", fmt.Sprintf("return { [\"password\"] = %q; };\n", password))
	}
	plain, secure := channeltest.Port(t), channeltest.Port(t)
	config := channeltest.File(t, dir, "prosody.cfg.lua", fmt.Sprintf(`
run_as_root = true
data_path = %q
pidfile = %q
log = { warn = "*console" }
interfaces = { "127.0.0.1" }
c2s_ports = { %d }
c2s_direct_tls_ports = { %d }
s2s_ports = { }
c2s_require_encryption = false
authentication = "internal_hashed"
storage = "internal"
modules_enabled = { "roster", "saslauth", "tls", "disco", "ping", "smacks", "offline", "presence", "message", "iq", "c2s", "posix" }
modules_disabled = { "s2s" }
ssl = { certificate = %q, key = %q }
c2s_direct_tls_ssl = { certificate = %q, key = %q }
VirtualHost "example.org"
Component "rooms.example.org" "muc"
	muc_room_default_public_jids = %t
	restrict_room_creation = false
	muc_room_locking = false
`, filepath.Join(dir, "data"), filepath.Join(dir, "pid"), plain, secure, cert, key, cert, key, publicRooms))
	wires := channeltest.Lay(t, net.JoinHostPort("127.0.0.1", strconv.Itoa(plain)), new(net.Dialer).DialContext)
	p := &prosody{roots: roots, wires: wires, server: map[string]string{
		channel.StartTLS: wires.Address,
		channel.TLS:      net.JoinHostPort("127.0.0.1", strconv.Itoa(secure)),
		channel.NoTLS:    net.JoinHostPort("127.0.0.1", strconv.Itoa(plain)),
	}}
	channeltest.Serve(t, func() bool {
		conn, err := net.Dial("tcp", p.server[channel.TLS])
		if err != nil {
			return false
		}
		conn.Close()
		return true
	}, exec.Command(program, "-F", "--config", config))
	return p
}

func (p *prosody) link(a channel.Access) (channel.Link, error) {
	a.Roots = p.roots
	return newLink(a)
}

func (p *prosody) world(t *testing.T, security string) channeltest.World {
	p.worlds++
	us := ours(p.worlds)
	ann, ben := p.join(t, "ann", us), p.join(t, "ben", us)
	people := map[string]*person{"ann": ann, "ben": ben}
	values := map[string]string{
		"address": us + "@example.org", "password": password, "server": p.server[security], "security": security,
		"rooms": "harbour@rooms.example.org, basin@rooms.example.org",
	}
	wrong := map[string]string{"address": us + "@example.org", "password": "another", "server": p.server[security], "security": security}
	return channeltest.World{
		Values: values, Wrong: wrong, New: p.link,
		Say: func(l channeltest.Line) {
			to, kind, text := us+"@example.org", "chat", l.Text
			if l.In != "" {
				to, kind = l.In+"@rooms.example.org", "groupchat"
			}
			if l.Mention {
				text = us + ": " + text
			}
			people[l.From].write(to, kind, text)
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
		Cut:       p.wires.Cut,
		Remembers: true,
		Libraries: []string{"mellium.im/"},
	}
}

// person is somebody on the server.
type person struct {
	t     *testing.T
	nick  string
	us    string // whom they listen to
	xmpp  *xmpp.Session
	heard chan channeltest.Sent
	done  chan string // ids of questions that were answered
	in    chan string // rooms that we are in
	n     int
}

func (p *prosody) join(t *testing.T, nick, us string) *person {
	t.Helper()
	conn, err := net.Dial("tcp", p.server[channel.NoTLS])
	if err != nil {
		t.Fatal(err)
	}
	l, err := p.link(access(t, map[string]string{"address": nick + "@example.org", "password": password, "server": p.server[channel.NoTLS], "security": "none"}))
	if err != nil {
		t.Fatal(err)
	}
	s := &session{link: l.(*link)}
	if err := s.negotiate(conn, jid.MustParse(nick+"@example.org")); err != nil {
		t.Fatal(err)
	}
	who := &person{t: t, nick: nick, us: us, xmpp: s.xmpp, heard: make(chan channeltest.Sent, 1000), done: make(chan string, 10), in: make(chan string, 10)}
	var reading sync.WaitGroup
	reading.Go(func() { _ = s.xmpp.Serve(xmpp.HandlerFunc(who.handle)) })
	t.Cleanup(func() {
		s.xmpp.Close()
		reading.Wait() // the server has ended it
		conn.Close()
	})
	who.send(element(xml.Name{Local: "presence"}))
	for _, room := range []string{"harbour", "basin"} {
		who.send(element(xml.Name{Local: "presence"}, attribute{"to", room + "@rooms.example.org/" + nick}, element(xml.Name{Space: nsMUC, Local: "x"})))
		<-who.in
	}
	return who
}

func (p *person) send(r xml.TokenReader) {
	p.t.Helper()
	if err := p.xmpp.Send(context.Background(), r); err != nil {
		p.t.Error(err)
	}
}

// write returns when the server has taken the message.
func (p *person) write(to, kind, text string) {
	p.t.Helper()
	p.n++
	id := strconv.Itoa(p.n)
	p.send(element(xml.Name{Local: "message"}, attribute{"to", to}, attribute{"type", kind}, attribute{"id", p.nick + id + strconv.FormatInt(time.Now().UnixNano(), 36)}, element(xml.Name{Local: "body"}, text)))
	p.send(element(xml.Name{Local: "iq"}, attribute{"type", "get"}, attribute{"id", id}, attribute{"to", "example.org"}, element(xml.Name{Space: nsPing, Local: "ping"})))
	for id != <-p.done {
	}
}

func (p *person) handle(t xmlstream.TokenReadEncoder, start *xml.StartElement) error {
	d := xml.NewTokenDecoder(xmlstream.MultiReader(xmlstream.Token(*start), t))
	switch start.Name.Local {
	case "iq":
		var q query
		if err := d.Decode(&q); err == nil && q.ID != "" {
			p.done <- q.ID
		}
	case "presence":
		var pr presence
		if err := d.Decode(&pr); err == nil && pr.has("110") && pr.Type == "" {
			p.in <- pr.From
		}
	case "message":
		var m struct {
			message
			Plain *struct{} `xml:"urn:xmpp:styling:0 unstyled"`
			HTML  *struct{} `xml:"http://jabber.org/protocol/xhtml-im html"`
		}
		if err := d.Decode(&m); err != nil {
			return err
		}
		from := jid.MustParse(m.From)
		if len(m.Bodies) == 0 || from.Localpart() != p.us && from.Resourcepart() != p.us {
			return nil
		}
		s := channeltest.Sent{In: p.nick, Text: m.Bodies[0].Text}
		if m.Type == "groupchat" {
			s.In = from.Localpart()
			_, s.Text, _ = strings.Cut(s.Text, ": ")
		}
		if strings.HasPrefix(s.Text, "/me") || m.Plain == nil || m.HTML != nil {
			s.Live = "what clients make something of"
		}
		s.Text = strings.TrimPrefix(s.Text, " ") // before a slash
		p.heard <- s
	}
	return nil
}
