// Package irc lets people write to Ambry on IRC, alone or in channels. It joins
// the channels that it is told, and obeys nobody.
package irc

import (
	"context"
	"errors"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

// Provider returns the service.
func Provider() channel.Provider {
	return channel.Provider{
		ID: "irc", Name: "IRC",
		Capabilities: []string{channel.Direct, channel.Groups},
		Fields: []ambry.ChannelField{
			{Key: "server", Label: "Server", Kind: "text", Required: true, Description: "Such as irc.libera.chat, or irc.example.org:6697 with a port of its own"},
			{Key: "security", Label: "Protection", Kind: "text", Default: channel.TLS, Description: "tls, or none for a server on your own network"},
			{Key: "nick", Label: "Nickname", Kind: "text", Default: "ambry", Description: "If somebody else has it, one like it is taken. People are known by the account they are logged in to where the server tells it (account-tag), else by nick!user@host, which others can imitate on some networks: pair only with people who are logged in, or where you trust the server to hold on to hosts"},
			{Key: "account", Label: "Account", Kind: "text", Description: "That the nickname is registered with, if it has another name"},
			{Key: "password", Label: "Password of the account", Kind: "secret", Description: "Only if the nickname is registered; it is given by SASL"},
			{Key: "serverPassword", Label: "Password of the server", Kind: "secret", Description: "Only if the server asks everybody for one"},
			{Key: "channels", Label: "Channels", Kind: "text", Description: "To be joined, divided by commas, such as #team, #ops; a channel with a key is written as #team key. It answers there when it is spoken to by its name"},
		},
		New: func(a channel.Access) (channel.Link, error) { return newLink(a, usualPace) },
	}
}

// usualPace is how fast servers let people write without taking it for a flood.
var usualPace = pace{every: 2 * time.Second, burst: 5}

type pace struct {
	every time.Duration
	burst int
}

// link is a nickname on a server.
type link struct {
	channel.Access
	pace                               pace
	host, address, security            string
	nick, account, password, serverKey string
	rooms                              []room
}

// room is a channel of IRC.
type room struct{ name, key string }

var _ channel.Link = (*link)(nil)

func newLink(a channel.Access, p pace) (*link, error) {
	v := a.Values
	l := &link{
		Access: a, pace: p, security: v["security"],
		nick: strings.TrimSpace(v["nick"]), account: strings.TrimSpace(v["account"]), password: v["password"], serverKey: v["serverPassword"],
	}
	if l.account == "" {
		l.account = l.nick
	}
	port := "6697"
	switch l.security {
	case channel.TLS:
	case channel.NoTLS:
		port = "6667"
	default:
		return nil, channel.Invalid("security", "must be tls or none")
	}
	var err error
	if l.host, l.address, err = channel.Address(v["server"], port); err != nil {
		return nil, channel.Invalid("server", err.Error())
	}
	if !validNick(l.nick) {
		return nil, channel.Invalid("nick", "must be a nickname: letters, digits and _-[]{}^|` without spaces, which does not begin with a digit")
	}
	for key, value := range map[string]string{"account": l.account, "password": l.password, "serverPassword": l.serverKey} {
		if strings.ContainsAny(value, "\x00\r\n") || len(value) > 400 {
			return nil, channel.Invalid(key, "must be a single line of at most 400 characters")
		}
	}
	for text := range strings.SplitSeq(v["channels"], ",") {
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		r := room{name: words[0]}
		if len(words) > 1 {
			r.key = words[1]
		}
		if !strings.ContainsRune("#&+!", rune(r.name[0])) || len(words) > 2 || len(text) > 200 || strings.ContainsAny(text, "\x00\a\r\n:") {
			return nil, channel.Invalid("channels", "must be channels such as #team, divided by commas")
		}
		l.rooms = append(l.rooms, r)
	}
	return l, nil
}

func validNick(nick string) bool {
	for i, r := range nick {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("_[]{}\\^|`", r)
		if !letter && (i == 0 || (r < '0' || r > '9') && r != '-') {
			return false
		}
	}
	return nick != "" && len(nick) <= 64
}

// Check registers with the server, and leaves.
func (l *link) Check(ctx context.Context) (channel.Identity, error) {
	var who channel.Identity
	err := l.talk(ctx, nil, func(s *session) error {
		who = s.identity()
		return errLeave
	})
	if errors.Is(err, errLeave) {
		return who, nil
	}
	return who, err
}

// Run stays on the server until ctx ends.
func (l *link) Run(ctx context.Context, h channel.Host) error {
	err := l.talk(ctx, h, (*session).joinAll)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// errLeave ends a talk that has nothing more to do.
var errLeave = errors.New("nothing more to do")

func (l *link) limiter() *rate.Limiter {
	return rate.NewLimiter(rate.Every(l.pace.every), l.pace.burst)
}
