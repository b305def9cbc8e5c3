package xmpp

import (
	"crypto/rand"
	"encoding/xml"
	"strings"
	"time"

	"mellium.im/xmpp/jid"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

const (
	roomWait  = 15 * time.Second // for rooms that do not answer
	manyTries = 4                // nicknames that are tried
	manyIn    = 20_000           // people in a room
)

// room is one that we want to be in. It is of the goroutine that reads.
type room struct {
	address jid.JID
	nick    string // ours there
	tries   int
	settled bool              // it has answered
	in      bool              // we are in
	asked   string            // the id of our question what it can do, "" once that is answered
	makers  bool              // it says by ids that last who writes
	people  map[string]string // who somebody is, by the name there
	warned  bool
}

// enter asks to be let in. What was said there before is not wanted.
func (s *session) enter(r *room) error {
	own, err := r.address.WithResource(r.nick)
	if err != nil {
		return err
	}
	if err := s.write(element(xml.Name{Local: "presence"}, attribute{"to", own.String()},
		element(xml.Name{Space: nsMUC, Local: "x"}, element(xml.Name{Local: "history"}, attribute{"maxstanzas", "0"})))); err != nil {
		return err
	}
	if r.asked != "" {
		return nil
	}
	r.asked = "room-" + rand.Text()
	return s.write(element(xml.Name{Local: "iq"}, attribute{"type", "get"}, attribute{"id", r.asked}, attribute{"to", r.address.String()},
		element(xml.Name{Space: nsDisco, Local: "query"})))
}

// presence is that somebody comes or goes.
type presence struct {
	From string `xml:"from,attr"`
	Type string `xml:"type,attr"`
	Room []struct {
		Item struct {
			JID  string `xml:"jid,attr"`
			Nick string `xml:"nick,attr"`
		} `xml:"item"`
		Codes []struct {
			Code string `xml:"code,attr"`
		} `xml:"status"`
	} `xml:"http://jabber.org/protocol/muc#user x"`
	Error *struct {
		Conflict *struct{} `xml:"urn:ietf:params:xml:ns:xmpp-stanzas conflict"`
	} `xml:"jabber:client error"`
}

// has reports whether a presence has a status.
func (p presence) has(codes ...string) bool {
	for _, x := range p.Room {
		for _, c := range x.Codes {
			for _, code := range codes {
				if c.Code == code {
					return true
				}
			}
		}
	}
	return false
}

// seen takes who is in the rooms, and whether we are.
func (s *session) seen(p presence) error {
	from, err := jid.Parse(p.From)
	if err != nil {
		return nil
	}
	r := s.rooms[from.Bare().String()]
	nick := from.Resourcepart()
	if r == nil || nick == "" {
		return nil // who wants to see whether we are there may not
	}
	own := p.has("110") || nick == r.nick
	switch {
	case p.Type == "error" && !r.in:
		return s.keptOut(r, p.Error != nil && p.Error.Conflict != nil)
	case p.Type == "unavailable" && own && p.has("303"):
		if renamed := p.Room[0].Item.Nick; renamed != "" {
			r.nick = renamed
		}
	case p.Type == "unavailable" && own && r.in:
		return s.thrownOut(r, p)
	case p.Type == "unavailable":
		delete(r.people, nick)
	case p.Type == "":
		delete(r.people, nick)
		// Another one in it would be of the person, not of the room.
		if len(p.Room) == 1 && p.Room[0].Item.JID != "" && len(r.people) < manyIn {
			if who, err := jid.Parse(p.Room[0].Item.JID); err == nil && who.Localpart() != "" {
				r.people[nick] = who.Bare().String()
			}
		}
		if own {
			r.nick, r.in, r.settled = nick, true, true
		}
	}
	return nil
}

// keptOut is that a room does not let us in: perhaps with another name.
func (s *session) keptOut(r *room, taken bool) error {
	if r.tries++; taken && r.tries < manyTries {
		r.nick = s.link.nick + strings.Repeat("_", r.tries)
		return s.enter(r)
	}
	r.settled = true
	s.link.Log.Warn("a room of XMPP does not let us in", "room", r.address.String())
	return nil
}

// thrownOut is that we are in a room no more. If nobody there wanted it, we begin
// anew.
func (s *session) thrownOut(r *room, p presence) error {
	r.in = false
	if !p.has("301", "307", "321", "322") {
		s.failed = ambry.UpstreamFailed.Errorf("the room %s has gone", r.address)
		return s.failed
	}
	s.link.Log.Warn("thrown out of a room of XMPP", "room", r.address.String())
	return nil
}

// tell says that people can write, when all rooms have answered or have had their
// time to.
func (s *session) tell() error {
	if s.told {
		return nil
	}
	for _, r := range s.rooms {
		if !(r.settled && r.asked == "") && !s.late.Load() {
			return nil
		}
	}
	s.told = true
	s.host.Connected(s.link.identity())
	return nil
}

// hearIn passes on what somebody writes in a room.
func (s *session) hearIn(r *room, from jid.JID, m message, text string) error {
	nick, chat := from.Resourcepart(), r.address.String()
	if nick == r.nick || !r.in {
		return nil
	}
	sender := r.people[nick]
	if sender == "" && r.makers && len(m.Makers) == 1 && m.Makers[0].ID != "" {
		sender = chat + "/occupant-id:" + m.Makers[0].ID // the room has put it in place of what the person wrote
	}
	if sender == "" {
		if !r.warned {
			r.warned = true
			s.link.Log.Warn("a room of XMPP does not tell who writes", "room", chat)
		}
		return nil
	}
	if sender == s.link.account.String() {
		return nil
	}
	id := m.idBy(chat)
	reply := id
	if id == "" && m.ID != "" {
		id = sender + " " + m.ID
	}
	body, mentioned := spokenTo(text, r.nick)
	return s.pass(channel.Message{
		ID: id, Chat: chat, Sender: sender, Name: nick, Text: body, At: m.at(chat), Group: true, Mentioned: mentioned,
	}, place{to: chat, kind: "groupchat", thread: m.Thread, address: nick + ": ", reply: reply, replyTo: m.From})
}

// spokenTo reports whether we are spoken to in a room, and what is said.
func spokenTo(text, own string) (string, bool) {
	rest := strings.TrimPrefix(text, "@")
	if len(rest) < len(own) || !strings.EqualFold(rest[:len(own)], own) {
		return text, false
	}
	after := rest[len(own):]
	if after != "" && after[0] != ':' && after[0] != ',' && (rest == text || after[0] != ' ') {
		return text, false
	}
	return strings.TrimLeft(after, ":, "), true
}
