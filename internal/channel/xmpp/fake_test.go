package xmpp

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mellium.im/xmlstream"
	"mellium.im/xmpp/jid"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

const header = `<?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' id='x' from='example.org' version='1.0'>`

const mechanisms = `<stream:features><mechanisms xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><mechanism>SCRAM-SHA-1</mechanism><mechanism>PLAIN</mechanism></mechanisms></stream:features>`

func challenge(text string) string {
	return "<challenge xmlns='urn:ietf:params:xml:ns:xmpp-sasl'>" + base64.StdEncoding.EncodeToString([]byte(text)) + "</challenge>"
}

// hostile is a server that says one thing after the other, each when it has heard
// something, and notes what it hears.
func hostile(t *testing.T, says ...string) (address string, heard func() string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	var serving sync.WaitGroup
	serving.Go(func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		r := bufio.NewReader(conn)
		for _, say := range says {
			part := make([]byte, 4096)
			n, err := r.Read(part)
			all.Write(part[:n])
			if _, err2 := io.WriteString(conn, say); err != nil || err2 != nil {
				return
			}
		}
		_, _ = io.Copy(&all, r) // until the other side ends it
	})
	return ln.Addr().String(), func() string {
		ln.Close()
		serving.Wait()
		return all.String()
	}
}

func TestServersThatAreNotBelieved(t *testing.T) {
	plain := strings.ReplaceAll(mechanisms, "<mechanism>SCRAM-SHA-1</mechanism>", "")
	for name, tt := range map[string]struct {
		security string
		says     []string
	}{
		"it offers nothing":              {"none", []string{header + "<stream:features/>"}},
		"it offers an address at once":   {"none", []string{header + "<stream:features><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></stream:features>"}},
		"it wants the password as it is": {"none", []string{header + plain}},
		"it has no TLS":                  {"starttls", []string{header + mechanisms, "<failure xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"}},
		"it does not begin TLS":          {"starttls", []string{header + mechanisms, "<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>", header + mechanisms}},
		"its challenge is empty":         {"none", []string{header + mechanisms, challenge("")}},
		"its challenge is for hours":     {"none", []string{header + mechanisms, challenge("r=x,s=c2FsdA==,i=2000000000")}},
		"it believes everybody":          {"none", []string{header + mechanisms, "<success xmlns='urn:ietf:params:xml:ns:xmpp-sasl'/>", header + "<stream:features/>"}},
		"what it says has no end":        {"none", []string{header + strings.Repeat("<a>", maxStanza)}},
		"it ends the connection":         {"none", []string{"</stream:stream>"}},
		"it is another one":              {"none", []string{strings.ReplaceAll(header, "example.org", "example.net") + mechanisms}},
	} {
		t.Run(name, func(t *testing.T) {
			address, heard := hostile(t, tt.says...)
			l, err := newLink(access(t, map[string]string{"address": "ambry@example.org", "password": password, "server": address, "security": tt.security}))
			if err != nil {
				t.Fatal(err)
			}
			_, err = l.Check(t.Context())
			if ambry.KindOf(err) != ambry.UpstreamFailed || strings.Contains(err.Error(), password) {
				t.Error(err)
			}
			all := heard()
			if strings.Contains(all, password) || strings.Contains(all, base64.StdEncoding.EncodeToString([]byte("\x00ambry\x00"+password))) {
				t.Errorf("the password went out: %q", all)
			}
		})
	}
}

func TestAWireOnWhichNothingComesIsDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		w := &wire{Conn: ours}
		w.left.Store(maxStanza)
		start := time.Now()
		if _, err := w.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != readWait {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		start = time.Now()
		if _, err := w.Write(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != writeWait {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		ours.Close()
	})
}

// reading is what comes in, of which nothing is answered.
type reading struct {
	xml.TokenReader
	xmlstream.Encoder
}

func (reading) EncodeToken(xml.Token) error { return nil }

// inside returns a session that is in a room, and what it passes on.
func inside(t testing.TB) (*session, *[]channel.Message) {
	in := &room{address: jid.MustParse("team@rooms.example.org"), nick: "ambry", in: true, settled: true, makers: true, people: map[string]string{"ann": "ann@example.org"}}
	l := &link{account: jid.MustParse("ambry@example.org"), nick: "ambry", Access: channel.Access{Log: access(t, nil).Log}}
	var passed []channel.Message
	s := &session{link: l, wire: &wire{}, rooms: map[string]*room{"team@rooms.example.org": in}, told: true, host: noted{all: &passed}}
	return s, &passed
}

// noted is a host that notes what it is passed.
type noted struct {
	channel.Host
	all *[]channel.Message
}

func (s *session) feed(text string) error {
	d := xml.NewDecoder(strings.NewReader(text))
	t, err := d.Token()
	start, ok := t.(xml.StartElement)
	if err != nil || !ok {
		return nil
	}
	return s.handle(reading{TokenReader: d}, &start)
}

func TestWhatIsNotPassedOn(t *testing.T) {
	const from = `<message xmlns='jabber:client' to='ambry@example.org' id='1' `
	for name, text := range map[string]string{
		"an error":                from + `from='ann@example.org/x' type='error'><body>x</body></message>`,
		"a headline":              from + `from='ann@example.org/x' type='headline'><body>x</body></message>`,
		"without text":            from + `from='ann@example.org/x' type='chat'><active xmlns='http://jabber.org/protocol/chatstates'/></message>`,
		"of the server":           from + `from='example.org'><body>x</body></message>`,
		"of nobody":               from + `><body>x</body></message>`,
		"of ourselves":            from + `from='ambry@example.org/phone' type='chat'><body>x</body></message>`,
		"a copy of another's":     from + `from='ann@example.org/x' type='chat'><sent xmlns='urn:xmpp:carbons:2'><forwarded xmlns='urn:xmpp:forward:0'><message xmlns='jabber:client' from='ben@example.org/x'><body>x</body></message></forwarded></sent></message>`,
		"a correction":            from + `from='ann@example.org/x' type='chat'><body>x</body><replace id='0' xmlns='urn:xmpp:message-correct:0'/></message>`,
		"encrypted":               from + `from='ann@example.org/x' type='chat'><body>x</body><encrypted xmlns='eu.siacs.conversations.axolotl'/></message>`,
		"encrypted otherwise":     from + `from='ann@example.org/x' type='chat'><body>x</body><encryption xmlns='urn:xmpp:eme:0' namespace='x'/></message>`,
		"an invitation":           from + `from='other@rooms.example.org'><body>x</body><x xmlns='http://jabber.org/protocol/muc#user'><invite from='ben@example.org'/></x></message>`,
		"of a room we are not in": from + `from='other@rooms.example.org/ann' type='groupchat'><body>ambry: x</body></message>`,
		"whispered in a room":     from + `from='team@rooms.example.org/ann' type='chat'><body>x</body></message>`,
		"our own in a room":       from + `from='team@rooms.example.org/ambry' type='groupchat'><body>x</body></message>`,
		"of the room itself":      from + `from='team@rooms.example.org' type='groupchat'><body>x</body></message>`,
		"of who is not known":     from + `from='team@rooms.example.org/ben' type='groupchat'><body>x</body></message>`,
		"of who has two ids":      from + `from='team@rooms.example.org/ben' type='groupchat'><body>x</body><occupant-id xmlns='urn:xmpp:occupant-id:0' id='a'/><occupant-id xmlns='urn:xmpp:occupant-id:0' id='b'/></message>`,
	} {
		s, passed := inside(t)
		if err := s.feed(text); err != nil || len(*passed) != 0 {
			t.Errorf("%s: %+v, %v", name, *passed, err)
		}
	}
}

func TestWhatIsPassedOn(t *testing.T) {
	stamp := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	for text, want := range map[string]channel.Message{
		`<message xmlns='jabber:client' from='Ann@example.org/x' id='1'><body xml:lang='de'>ja</body><body> yes </body><stanza-id xmlns='urn:xmpp:sid:0' by='evil@example.org' id='s0'/><delay xmlns='urn:xmpp:delay' from='example.org' stamp='2026-03-01T10:00:00Z'/></message>`: {
			ID: "ann@example.org 1", Chat: "ann@example.org", Sender: "ann@example.org", Name: "ann@example.org", Text: "yes", At: stamp,
		},
		`<message xmlns='jabber:client' from='ann@example.org/x' type='chat' id='1'><body>yes</body><stanza-id xmlns='urn:xmpp:sid:0' by='ambry@example.org' id='s1'/><delay xmlns='urn:xmpp:delay' from='ambry@example.org' stamp='2026-03-01T10:00:00Z'/></message>`: {
			ID: "s1", Chat: "ann@example.org", Sender: "ann@example.org", Name: "ann@example.org", Text: "yes", At: stamp,
		},
		`<message xmlns='jabber:client' from='team@rooms.example.org/ann' type='groupchat' id='1'><body>@Ambry when?</body><delay xmlns='urn:xmpp:delay' from='team@rooms.example.org' stamp='2026-03-01T10:00:00Z'/></message>`: {
			ID: "ann@example.org 1", Chat: "team@rooms.example.org", Sender: "ann@example.org", Name: "ann", Text: "when?", At: stamp, Group: true, Mentioned: true,
		},
		`<message xmlns='jabber:client' from='team@rooms.example.org/ben' type='groupchat' id='1'><body>ambryonic</body><occupant-id xmlns='urn:xmpp:occupant-id:0' id='o1'/><stanza-id xmlns='urn:xmpp:sid:0' by='team@rooms.example.org' id='s2'/><delay xmlns='urn:xmpp:delay' from='team@rooms.example.org' stamp='2026-03-01T10:00:00Z'/></message>`: {
			ID: "s2", Chat: "team@rooms.example.org", Sender: "team@rooms.example.org/occupant-id:o1", Name: "ben", Text: "ambryonic", At: stamp, Group: true,
		},
	} {
		s, passed := inside(t)
		if err := s.feed(text); err != nil || len(*passed) != 1 || (*passed)[0] != want {
			t.Errorf("%s\n%+v, %v", text, *passed, err)
		}
	}
}

// Who somebody in a room is, the room says, and nobody else.
func TestNobodyTakesTheAddressOfAnother(t *testing.T) {
	s, passed := inside(t)
	for _, text := range []string{
		`<presence xmlns='jabber:client' from='team@rooms.example.org/ben'><x xmlns='http://jabber.org/protocol/muc#user'><item jid='ann@example.org/x'/></x><x xmlns='http://jabber.org/protocol/muc#user'><item jid='ben@example.org/x'/></x></presence>`,
		`<presence xmlns='jabber:client' from='ben@example.org/team'><x xmlns='http://jabber.org/protocol/muc#user'><item jid='ann@example.org/x'/></x></presence>`,
		`<presence xmlns='jabber:client' from='team@rooms.example.org/ann' type='unavailable'/>`,
		`<message xmlns='jabber:client' from='team@rooms.example.org/ann' type='groupchat'><body>x</body></message>`,
		`<message xmlns='jabber:client' from='team@rooms.example.org/ben' type='groupchat'><body>x</body></message>`,
	} {
		if err := s.feed(text); err != nil {
			t.Error(err)
		}
	}
	if len(*passed) != 0 {
		t.Errorf("passed on %+v", *passed)
	}
}

func TestARoomThatGoesAwayIsEnteredAnew(t *testing.T) {
	s, _ := inside(t)
	if err := s.feed(`<presence xmlns='jabber:client' from='team@rooms.example.org/ambry' type='unavailable'><x xmlns='http://jabber.org/protocol/muc#user'><status code='110'/><status code='307'/></x></presence>`); err != nil {
		t.Errorf("thrown out, it ends: %v", err)
	}
	s, _ = inside(t)
	if err := s.feed(`<presence xmlns='jabber:client' from='team@rooms.example.org/ambry' type='unavailable'><x xmlns='http://jabber.org/protocol/muc#user'><status code='110'/><status code='332'/></x></presence>`); ambry.KindOf(err) != ambry.UpstreamFailed {
		t.Errorf("the room has gone: %v", err)
	}
}

// answering notes what is answered to an element.
type answering struct {
	reading
	said []xml.StartElement
}

func (a *answering) EncodeToken(t xml.Token) error {
	if start, ok := t.(xml.StartElement); ok {
		a.said = append(a.said, start.Copy())
	}
	return nil
}

// TestAMessageIsConfirmedUnasked feeds messages to a session of a server that keeps what is
// not confirmed, and to one of a server that does not.
func TestAMessageIsConfirmedUnasked(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		s, _ := inside(t)
		if keeps {
			if err := s.feed(`<enabled xmlns='urn:xmpp:sm:3'/>`); err != nil {
				t.Fatal(err)
			}
		}
		for n := 1; n <= 2; n++ {
			d := xml.NewDecoder(strings.NewReader(`<message xmlns='jabber:client' from='ann@example.org/x' id='1'><body>yes</body></message>`))
			first, err := d.Token()
			if err != nil {
				t.Fatal(err)
			}
			start := first.(xml.StartElement)
			a := &answering{reading: reading{TokenReader: d}}
			if err := s.handle(a, &start); err != nil {
				t.Fatal(err)
			}
			confirmed := len(a.said) == 1 && a.said[0].Name == xml.Name{Space: nsAcks, Local: "a"} && a.said[0].Attr[0].Value == strconv.Itoa(n)
			if keeps != confirmed || !keeps && len(a.said) > 0 {
				t.Errorf("the server keeps what is not confirmed: %v, message %d is answered with %+v", keeps, n, a.said)
			}
		}
	}
}

func FuzzHandle(f *testing.F) {
	for _, seed := range []string{
		`<message xmlns='jabber:client' from='ann@example.org/x' id='1'><body>yes</body></message>`,
		`<message xmlns='jabber:client' from='team@rooms.example.org/ann' type='groupchat'><body>ambry, yes</body></message>`,
		`<presence xmlns='jabber:client' from='team@rooms.example.org/ambry' type='unavailable'><x xmlns='http://jabber.org/protocol/muc#user'><status code='303'/><item nick='n'/></x></presence>`,
		`<iq xmlns='jabber:client' type='get' id='1'><ping xmlns='urn:xmpp:ping'/></iq>`, `<r xmlns='urn:xmpp:sm:3'/>`, `<enabled xmlns='urn:xmpp:sm:3'/>`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, passed := inside(t)
		_ = s.feed(text) // what makes no sense is an error
		for _, m := range *passed {
			if m.ID == "" || m.Chat == "" || m.Sender == "" || m.At.IsZero() || strings.Contains(m.Chat, "/") {
				t.Errorf("%q: %+v", text, m)
			}
		}
	})
}

func (n noted) Receive(_ context.Context, m channel.Message, _ channel.Send) error {
	*n.all = append(*n.all, m)
	return nil
}
