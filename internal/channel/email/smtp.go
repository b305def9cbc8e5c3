package email

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

// smtpWait is how long one step of the talk with a mail server may take.
const smtpWait = 30 * time.Second

// outbox is a connection to a mail server that has let us in.
type outbox struct {
	client *gomail.Client
	conn   net.Conn
	stop   func() bool
}

// outbox connects and logs in.
func (l *link) outbox(ctx context.Context) (*outbox, error) {
	o := &outbox{}
	_, port, err := net.SplitHostPort(l.smtp.address)
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	policy := gomail.NoTLS // as far as the library knows
	if l.smtp.security == channel.StartTLS {
		policy = gomail.TLSMandatory
	}
	o.client, err = gomail.NewClient(l.smtp.host,
		gomail.WithPort(number), gomail.WithTimeout(smtpWait), gomail.WithoutNoop(), gomail.WithTLSConfig(l.TLSTo(l.smtp.host)), gomail.WithTLSPolicy(policy),
		gomail.WithHELO("[127.0.0.1]"), // by itself it would name this machine
		gomail.WithSMTPAuthCustom(&password{user: l.user, password: l.password}),
		gomail.WithDialContextFunc(func(dialing context.Context, _, address string) (net.Conn, error) {
			conn, err := l.Connect(dialing, address, l.smtp.security)
			if err == nil {
				o.conn = conn
				o.stop = context.AfterFunc(ctx, func() { conn.Close() }) // dialing ends before the talk does
			}
			return conn, err
		}))
	if err == nil {
		err = o.client.DialWithContext(ctx)
	}
	if err != nil {
		if o.conn != nil {
			o.stop()
			o.conn.Close()
		}
		return nil, l.refused(l.smtp.host, err)
	}
	return o, nil
}

// refused is the error of a server that does not let us in.
func (l *link) refused(host string, err error) error {
	if e, ok := errors.AsType[*ambry.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*textproto.Error](err); ok && (e.Code == 535 || e.Code == 534 || e.Code == 530) {
		return ambry.Unauthorized.Wrap(err, host+" does not take the user and the password")
	}
	return l.broken(host, err)
}

// close says good-bye.
func (o *outbox) close() {
	_ = o.client.Close() // the server may have gone already
	o.stop()
	o.conn.Close()
}

// password lets us in by a password, which is protected as far as the connection
// is: in the clear it goes to a server on the own network only.
type password struct {
	user, password string
	asked          int // by the way that is called LOGIN
	login          bool
}

var errNoPassword = errors.New("the server takes no passwords")

// Start begins in a way that the server has.
func (p *password) Start(s *smtp.ServerInfo) (string, []byte, error) {
	switch {
	case slices.Contains(s.Auth, "PLAIN"):
		return "PLAIN", []byte("\x00" + p.user + "\x00" + p.password), nil
	case slices.Contains(s.Auth, "LOGIN"):
		p.login = true
		return "LOGIN", nil, nil
	}
	return "", nil, errNoPassword
}

// Next answers what a server asks.
func (p *password) Next(_ []byte, more bool) ([]byte, error) {
	if !more {
		return nil, nil
	}
	if p.asked++; p.login && p.asked == 1 {
		return []byte(p.user), nil
	}
	if p.login && p.asked == 2 {
		return []byte(p.password), nil
	}
	return nil, errors.New("the server asks for more than a password")
}

// answer sends a text to who wrote a mail, in its thread.
func (l *link) answer(ctx context.Context, to letter, text string) error {
	m := gomail.NewMsg(gomail.WithCharset(gomail.CharsetUTF8), gomail.WithEncoding(gomail.EncodingQP))
	if err := errors.Join(m.From(l.own), m.To(to.sender)); err != nil {
		return ambry.UpstreamFailed.Wrap(err, "there is nobody to whom the answer could go")
	}
	if to.replyTo != "" {
		if err := m.ReplyTo(to.replyTo); err != nil {
			return ambry.UpstreamFailed.Wrap(err, "there is nobody to whom the answer could go")
		}
	}
	_, domain, _ := strings.Cut(l.own, "@")
	m.SetMessageIDWithValue(strings.ToLower(rand.Text()) + "@" + domain)
	m.SetUserAgent("Ambry")
	m.SetDate()
	// No program is to answer.
	m.SetGenHeader("Auto-Submitted", "auto-replied")
	m.SetGenHeader("X-Auto-Response-Suppress", "All")
	m.SetGenHeader("X-Loop", l.own)
	if to.id != "" {
		m.SetGenHeader("In-Reply-To", to.id)
		m.SetGenHeader("References", strings.Join(append(slices.Clone(to.references), to.id), " "))
	}
	m.Subject(reply(to.subject))
	m.SetBodyString(gomail.TypeTextPlain, ambry.Plain(text))
	out, err := l.outbox(ctx)
	if err != nil {
		return err
	}
	defer out.close()
	if err := out.client.Send(m); err != nil && !m.IsDelivered() { // what went wrong after that does not matter
		return l.broken(l.smtp.host, err)
	}
	return nil
}

// reply is the subject of an answer.
func reply(subject string) string {
	if subject == "" {
		return "Re: your mail"
	}
	if len(subject) >= 3 && strings.EqualFold(subject[:3], "re:") {
		return subject
	}
	return "Re: " + subject
}
