// Package email lets people write to Ambry by mail: it reads a mailbox by IMAP,
// and answers by SMTP. It changes nothing in the mailbox.
package email

import (
	"context"
	"net/mail"
	"strings"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

// Provider returns the service.
func Provider() channel.Provider {
	return channel.Provider{
		ID: "email", Name: "E-mail",
		Capabilities: []string{channel.Direct},
		Fields: []ambry.ChannelField{
			{Key: "address", Label: "Address", Kind: "text", Required: true, Description: "That Ambry has for itself, such as ambry@example.org. It answers to the sender alone; mails of lists and of programs are passed over"},
			{Key: "password", Label: "Password", Kind: "secret", Required: true, Description: "Of the mailbox; where the provider has two factors, one for apps"},
			{Key: "user", Label: "User", Kind: "text", Description: "Who to log in as, if it is not the address"},
			{Key: "imap", Label: "IMAP server", Kind: "text", Required: true, Description: "Such as imap.example.org, or imap.example.org:993"},
			{Key: "imapSecurity", Label: "Protection of IMAP", Kind: "text", Default: channel.TLS, Description: "tls, starttls, or none for a server on your own network"},
			{Key: "smtp", Label: "SMTP server", Kind: "text", Required: true, Description: "Such as smtp.example.org, or smtp.example.org:465"},
			{Key: "smtpSecurity", Label: "Protection of SMTP", Kind: "text", Default: channel.TLS, Description: "tls, starttls, or none for a server on your own network"},
			{Key: "folder", Label: "Folder", Kind: "text", Default: "INBOX", Description: "Where the mails come"},
			{Key: "trust", Label: "Who checks senders", Kind: "text", Description: "The name at the beginning of the header Authentication-Results that your provider writes into each mail, such as mx.google.com. Taken are then only mails whose sender passed DMARC there. Without it anybody can write a paired person's address as the sender, so a secret word is needed"},
			{Key: "word", Label: "Secret word", Kind: "secret", Description: "12 to 40 letters and digits. Taken are then only mails to the address with it (ambry+WORD@example.org), or with it in the subject. Needed where the provider does not check senders"},
		},
		New: newLink,
	}
}

// server is where mail comes from or goes to.
type server struct{ host, address, security string }

// link is a mailbox.
type link struct {
	channel.Access
	own            string // our address, in lower case
	user, password string
	imap, smtp     server
	folder         string
	trust, word    string
}

var _ channel.Link = (*link)(nil)

func newLink(a channel.Access) (channel.Link, error) {
	v := a.Values
	l := &link{
		Access: a, password: v["password"], user: strings.TrimSpace(v["user"]), folder: v["folder"],
		trust: strings.TrimSpace(v["trust"]), word: strings.ToLower(v["word"]),
	}
	address, err := mail.ParseAddress(v["address"])
	if err != nil || address.Name != "" || !plain(address.Address) {
		return nil, channel.Invalid("address", "must be an address such as ambry@example.org")
	}
	l.own = strings.ToLower(address.Address)
	if l.user == "" {
		l.user = address.Address
	}
	if l.password == "" || strings.ContainsAny(l.password+l.user, "\x00\r\n") {
		return nil, channel.Invalid("password", "must be given, on one line")
	}
	if l.imap, err = newServer(v, "imap", "993", "143"); err != nil {
		return nil, err
	}
	if l.smtp, err = newServer(v, "smtp", "465", "587"); err != nil {
		return nil, err
	}
	if l.folder == "" || len(l.folder) > 200 || strings.ContainsAny(l.folder, "\x00\r\n") {
		return nil, channel.Invalid("folder", "must be the name of a folder such as INBOX")
	}
	if strings.ContainsAny(l.trust, " \t\r\n;") || len(l.trust) > 253 {
		return nil, channel.Invalid("trust", "must be a name such as mx.google.com")
	}
	if l.word == "" && l.trust == "" {
		return nil, channel.Invalid("word", "must be given, or who checks senders: else anybody could write in another one's name")
	}
	if l.word != "" && !validWord(l.word) {
		return nil, channel.Invalid("word", "must be 12 to 40 letters and digits")
	}
	return l, nil
}

func newServer(v map[string]string, key, tls, other string) (s server, err error) {
	port := tls
	switch s.security = v[key+"Security"]; s.security {
	case channel.TLS:
	case channel.StartTLS, channel.NoTLS:
		port = other
	default:
		return s, channel.Invalid(key+"Security", "must be tls, starttls or none")
	}
	if s.host, s.address, err = channel.Address(v[key], port); err != nil {
		return s, channel.Invalid(key, err.Error())
	}
	return s, nil
}

func validWord(word string) bool {
	return len(word) >= 12 && len(word) <= 40 && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// plain reports whether an address is one as people have them, which means
// nothing else to any server.
func plain(address string) bool {
	local, domain, ok := strings.Cut(address, "@")
	return ok && local != "" && domain != "" && len(address) <= 254 &&
		!strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`"(),:;<>[\]`, r) }) &&
		!strings.Contains(domain, "@")
}

func (l *link) identity() channel.Identity { return channel.Identity{ID: l.own, Name: l.own} }

// Check logs in to both servers, and reads and sends nothing.
func (l *link) Check(ctx context.Context) (channel.Identity, error) {
	box, err := l.open(ctx)
	if err != nil {
		return channel.Identity{}, err
	}
	box.leave()
	out, err := l.outbox(ctx)
	if err != nil {
		return channel.Identity{}, err
	}
	out.close()
	return l.identity(), nil
}

// Run reads what comes until ctx ends.
func (l *link) Run(ctx context.Context, h channel.Host) error {
	box, err := l.open(ctx)
	if err == nil {
		err = box.run(ctx, h)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}
