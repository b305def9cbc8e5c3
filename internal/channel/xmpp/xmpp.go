// Package xmpp lets people write to Ambry on XMPP (Jabber), alone or in rooms. It
// takes no part in encryption between people, and says so in its description.
package xmpp

import (
	"context"
	"crypto/rand"
	"strings"

	"mellium.im/xmpp/jid"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

// Provider returns the service.
func Provider() channel.Provider {
	return channel.Provider{
		ID: "xmpp", Name: "XMPP",
		Capabilities: []string{channel.Direct, channel.Groups},
		Fields: []ambry.ChannelField{
			{Key: "address", Label: "Address", Kind: "text", Required: true, Description: "Of an account that Ambry has for itself, such as ambry@example.org. What is encrypted with OMEMO or OpenPGP it cannot read"},
			{Key: "password", Label: "Password", Kind: "secret", Required: true, Description: "Of that account"},
			{Key: "server", Label: "Server", Kind: "text", Description: "Such as xmpp.example.org, or xmpp.example.org:5222, if it is another one than the address says: SRV records are not looked up. Its certificate is to be for the domain of the address"},
			{Key: "security", Label: "Protection", Kind: "text", Default: channel.StartTLS, Description: "starttls, tls, or none for a server on your own network"},
			{Key: "nick", Label: "Nickname in rooms", Kind: "text", Description: "Left out, it is the first part of the address"},
			{Key: "rooms", Label: "Rooms", Kind: "text", Description: "To be joined, divided by commas, such as team@rooms.example.org. It answers there when its nickname is at the beginning (ambry: ...). People are known there if the room shows their addresses to members, or gives them ids that last (XEP-0421); in other rooms nobody is answered"},
		},
		New: newLink,
	}
}

// link is an account of XMPP.
type link struct {
	channel.Access
	account, origin         jid.JID // origin has the name of this connection
	password, nick          string
	host, address, security string
	rooms                   []jid.JID
}

var _ channel.Link = (*link)(nil)

func newLink(a channel.Access) (channel.Link, error) {
	v := a.Values
	l := &link{Access: a, password: v["password"], security: v["security"], nick: strings.TrimSpace(v["nick"])}
	account, err := jid.Parse(strings.TrimSpace(v["address"]))
	if err != nil || account.Localpart() == "" || account.Resourcepart() != "" {
		return nil, channel.Invalid("address", "must be an address such as ambry@example.org")
	}
	// Another connection of the same link takes the place of one that was lost; that
	// of another Ambry does not.
	l.account = account
	if l.origin, err = account.WithResource("ambry-" + strings.ToLower(rand.Text()[:8])); err != nil {
		return nil, channel.Invalid("address", "must be an address such as ambry@example.org")
	}
	if l.password == "" {
		return nil, channel.Invalid("password", "must be given")
	}
	port := "5222"
	switch l.security {
	case channel.StartTLS, channel.NoTLS:
	case channel.TLS:
		port = "5223"
	default:
		return nil, channel.Invalid("security", "must be starttls, tls or none")
	}
	server := v["server"]
	if strings.TrimSpace(server) == "" {
		server = account.Domainpart()
	}
	if l.host, l.address, err = channel.Address(server, port); err != nil {
		return nil, channel.Invalid("server", err.Error())
	}
	if l.nick == "" {
		l.nick = account.Localpart()
	}
	for text := range strings.SplitSeq(v["rooms"], ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		room, err := jid.Parse(text)
		if err != nil || room.Localpart() == "" || room.Resourcepart() != "" {
			return nil, channel.Invalid("rooms", "must be addresses of rooms such as team@rooms.example.org, divided by commas")
		}
		if _, err := room.WithResource(l.nick); err != nil {
			return nil, channel.Invalid("nick", "must be a nickname")
		}
		l.rooms = append(l.rooms, room)
	}
	return l, nil
}

func (l *link) identity() channel.Identity {
	return channel.Identity{ID: l.account.String(), Name: l.account.String()}
}

// Check logs in and out.
func (l *link) Check(ctx context.Context) (channel.Identity, error) {
	s, err := l.connect(ctx, l.account)
	if err != nil {
		return channel.Identity{}, err
	}
	s.close()
	return l.identity(), nil
}

// Run stays logged in until ctx ends.
func (l *link) Run(ctx context.Context, h channel.Host) error {
	s, err := l.connect(ctx, l.origin)
	if err == nil {
		err = s.run(ctx, h)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}
