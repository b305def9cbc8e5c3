package xmpp

import (
	"context"
	"crypto/rand"
	"encoding/xml"
	"strings"
	"time"

	"mellium.im/xmlstream"
	"mellium.im/xmpp/jid"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

// The names of what we understand beside messages.
const (
	nsAcks  = "urn:xmpp:sm:3"
	nsPing  = "urn:xmpp:ping"
	nsReply = "urn:xmpp:reply:0"
	nsPlain = "urn:xmpp:styling:0"
	nsMUC   = "http://jabber.org/protocol/muc"
	nsDisco = "http://jabber.org/protocol/disco#info"
	nsMaker = "urn:xmpp:occupant-id:0"
)

// longest is how many characters a message has at most. Servers take more, but
// nobody wants to read it in one.
const longest = 4000

// message is what somebody writes, as far as we care.
type message struct {
	ID     string `xml:"id,attr"`
	From   string `xml:"from,attr"`
	Type   string `xml:"type,attr"`
	Bodies []struct {
		Lang string `xml:"http://www.w3.org/XML/1998/namespace lang,attr"`
		Text string `xml:",chardata"`
	} `xml:"jabber:client body"`
	Thread string `xml:"jabber:client thread"`
	Delays []struct {
		From  string `xml:"from,attr"`
		Stamp string `xml:"stamp,attr"`
	} `xml:"urn:xmpp:delay delay"`
	IDs []struct {
		ID string `xml:"id,attr"`
		By string `xml:"by,attr"`
	} `xml:"urn:xmpp:sid:0 stanza-id"`
	Makers []struct {
		ID string `xml:"id,attr"`
	} `xml:"urn:xmpp:occupant-id:0 occupant-id"`
	Replaces  *struct{} `xml:"urn:xmpp:message-correct:0 replace"`
	Encrypted *struct{} `xml:"urn:xmpp:eme:0 encryption"`
	OMEMO     *struct{} `xml:"eu.siacs.conversations.axolotl encrypted"`
	Room      *struct{} `xml:"http://jabber.org/protocol/muc#user x"` // an invitation
	Invites   *struct{} `xml:"jabber:x:conference x"`
}

// text is what is written, "" if it is nothing new that we can read.
func (m message) text() string {
	if m.Type == "error" || m.Type == "headline" || m.Replaces != nil || m.Encrypted != nil || m.OMEMO != nil || m.Room != nil || m.Invites != nil {
		return ""
	}
	for _, b := range m.Bodies {
		if b.Lang == "" {
			return strings.TrimSpace(b.Text)
		}
	}
	if len(m.Bodies) > 0 {
		return strings.TrimSpace(m.Bodies[0].Text)
	}
	return ""
}

// idBy is the id that an address has given the message, "" if none.
func (m message) idBy(by string) string {
	id := ""
	for _, s := range m.IDs {
		if s.By == by && id == "" {
			id = s.ID
		}
	}
	return id
}

// at is when the message was written, as one of the servers that pass it on says.
func (m message) at(servers ...string) time.Time {
	for _, d := range m.Delays {
		for _, s := range servers {
			if at, err := time.Parse(time.RFC3339, d.Stamp); err == nil && d.From == s {
				return at
			}
		}
	}
	return time.Now()
}

// handle does what an element that comes asks for.
func (s *session) handle(t xmlstream.TokenReadEncoder, start *xml.StartElement) (err error) {
	s.wire.left.Store(maxStanza)
	d := xml.NewTokenDecoder(xmlstream.MultiReader(xmlstream.Token(*start), t))
	switch start.Name.Local {
	case "message":
		var m message
		if err = d.Decode(&m); err == nil {
			return s.fail(s.line.Taking(func() error { return s.take(t, m) }))
		}
	case "presence":
		var p presence
		if err = d.Decode(&p); err == nil {
			err = s.seen(p)
		}
	case "iq":
		var q query
		if err = d.Decode(&q); err == nil {
			err = s.asked(t, q)
		}
	case "enabled":
		s.acks.Store(start.Name.Space == nsAcks)
		return nil
	case "r":
		_, err = xmlstream.Copy(t, s.ack())
		return err
	default:
		return nil
	}
	if err == nil {
		s.handled.Add(1)
		err = s.tell()
	}
	return s.fail(err)
}

// take hears a message and confirms it: a server keeps what is not confirmed when the
// connection ends, and asks only now and then.
func (s *session) take(t xmlstream.TokenReadEncoder, m message) error {
	if err := s.hear(m); err != nil {
		return err
	}
	s.handled.Add(1)
	if s.acks.Load() {
		if _, err := xmlstream.Copy(t, s.ack()); err != nil {
			return err
		}
	}
	return s.tell()
}

// fail notes the first error.
func (s *session) fail(err error) error {
	if err != nil && s.failed == nil {
		s.failed = ambry.UpstreamFailed.Wrap(err, s.link.host+" says what makes no sense, or it could not be passed on")
	}
	return err
}

// query is a question or an answer that is no message.
type query struct {
	ID    string    `xml:"id,attr"`
	From  string    `xml:"from,attr"`
	Type  string    `xml:"type,attr"`
	Ping  *struct{} `xml:"urn:xmpp:ping ping"`
	Disco *struct {
		Features []struct {
			Var string `xml:"var,attr"`
		} `xml:"feature"`
	} `xml:"http://jabber.org/protocol/disco#info query"`
}

// asked answers the server whether we are there; all else that is asked, the
// library says no to. It also takes what rooms say about themselves.
func (s *session) asked(t xmlstream.TokenReadEncoder, q query) error {
	if q.Type == "get" && q.Ping != nil && (q.From == "" || q.From == s.link.account.Domainpart()) {
		_, err := xmlstream.Copy(t, element(xml.Name{Local: "iq"}, attribute{"type", "result"}, attribute{"id", q.ID}, attribute{"to", q.From}))
		return err
	}
	r := s.rooms[q.From]
	if r == nil || q.ID == "" || q.ID != r.asked || q.Type != "result" && q.Type != "error" {
		return nil
	}
	r.asked = ""
	if q.Type == "result" && q.Disco != nil {
		for _, f := range q.Disco.Features {
			r.makers = r.makers || f.Var == nsMaker
		}
	}
	return nil
}

// hear passes on what somebody writes.
func (s *session) hear(m message) error {
	text := m.text()
	from, err := jid.Parse(m.From)
	if text == "" || m.From == "" || err != nil {
		return nil // of nobody else, or nothing
	}
	bare := from.Bare().String()
	if r := s.rooms[bare]; r != nil {
		if m.Type == "groupchat" && from.Resourcepart() != "" {
			return s.hearIn(r, from, m, text)
		}
		return nil // whispered in a room, by whoever has that name there
	}
	if m.Type == "groupchat" || from.Localpart() == "" || from.Bare().Equal(s.link.account) {
		return nil // a room that we are not in, a server, or ourselves
	}
	id := m.idBy(s.link.account.String())
	if id == "" && m.ID != "" {
		id = bare + " " + m.ID
	}
	return s.pass(channel.Message{
		ID: id, Chat: bare, Sender: bare, Name: bare, Text: text,
		At: m.at(s.link.account.Domainpart(), s.link.account.String()),
	}, place{to: bare, kind: "chat", thread: m.Thread, reply: m.ID, replyTo: m.From})
}

// pass hands a message to the host.
func (s *session) pass(m channel.Message, p place) error {
	if m.ID == "" {
		m.ID = rand.Text() // it cannot be known again
	}
	return s.host.Receive(context.Background(), m, func(ctx context.Context, text string) error {
		return s.line.Send(ctx, func(ctx context.Context) error { return s.say(ctx, p, text) })
	})
}

// place is where an answer goes.
type place struct {
	to, kind, thread string
	address          string // what an answer begins with where others read along
	reply, replyTo   string // what it answers
}

// say writes a text, as plain as it is.
func (s *session) say(ctx context.Context, p place, text string) error {
	for i, part := range channel.Split(p.address+ambry.Plain(text), longest, channel.Runes) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if strings.HasPrefix(part, "/") {
			part = " " + part // clients make something of /me
		}
		parts := []any{
			attribute{"to", p.to},
			attribute{"type", p.kind},
			attribute{"id", rand.Text()},
			element(xml.Name{Local: "body"}, part), element(xml.Name{Space: nsPlain, Local: "unstyled"}),
		}
		if p.thread != "" {
			parts = append(parts, element(xml.Name{Local: "thread"}, p.thread))
		}
		if p.reply != "" && i == 0 {
			parts = append(parts, element(xml.Name{Space: nsReply, Local: "reply"}, attribute{"id", p.reply}, attribute{"to", p.replyTo}))
		}
		if err := s.write(element(xml.Name{Local: "message"}, parts...)); err != nil {
			return ambry.UpstreamFailed.Wrap(err, "the connection to "+s.link.host+" has ended")
		}
	}
	return nil
}
