package account

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"ambry.dev/ambry"
)

// The ways to protect a connection to a mail server.
const (
	StartTLS    = "starttls" // begun in the clear, and ended there unless TLS comes
	ImplicitTLS = "tls"
	NoTLS       = "none"
)

// mailWait is how long one step of the talk with a mail server may take.
const mailWait = 15 * time.Second

// SMTP is the way to a mail server.
type SMTP struct {
	Host     string // empty means that there is none
	Port     int
	Security string // one of the ways
	User     string // empty logs in as nobody
	From     string // plain address of the sender
}

// Mailer sends letters by SMTP. Settings and Dial are needed.
type Mailer struct {
	Settings func() SMTP // in force now
	Password func(ctx context.Context) (string, error)
	Dial     func(ctx context.Context, network, address string) (net.Conn, error)
	Roots    *x509.CertPool // who vouches for the server; nil means those of the system
	Unset    string         // what to set if there is no way to send mail, for people
}

// letter is a mail with a code, in the language of a locale.
func letter(code, locale string) text {
	minutes := int(CodeAge.Minutes())
	if chinese(locale) {
		return text{"您的 Ambry 登录验证码", fmt.Sprintf(`您好，

您的 Ambry 登录验证码是：%s

验证码在 %d 分钟内有效，只能使用一次。请不要把它告诉任何人。
如果不是您本人在登录，请忽略这封邮件，不会有任何变化。
`, code, minutes)}
	}
	return text{"Your code for Ambry", fmt.Sprintf(`Hello,

your code to log in to Ambry is: %s

It is good for %d minutes and can be used once. Tell it to nobody.
If it was not you who asked for it, ignore this mail; nothing changes.
`, code, minutes)}
}

type text struct{ subject, body string }

// talk is a connection to a mail server that has let us in.
type talk struct {
	client *gomail.Client
	conn   net.Conn
	from   string
}

// open connects and logs in. Nothing of it depends on whom a mail is for.
func (m *Mailer) open(ctx context.Context) (*talk, error) {
	set := m.Settings()
	if set.Host == "" || set.From == "" {
		return nil, ambry.DeliveryUnavailable.Errorf("no mail can be sent; %s", m.Unset)
	}
	t := &talk{from: set.From}
	options := []gomail.Option{
		gomail.WithPort(set.Port), gomail.WithTimeout(mailWait), gomail.WithoutNoop(), gomail.WithTLSConfig(m.tls(set.Host)),
		gomail.WithDialContextFunc(func(ctx context.Context, network, address string) (conn net.Conn, err error) {
			t.conn, err = m.connect(ctx, network, address, set)
			return t.conn, err
		}),
		gomail.WithTLSPolicy(map[string]gomail.TLSPolicy{StartTLS: gomail.TLSMandatory, NoTLS: gomail.NoTLS, ImplicitTLS: gomail.TLSOpportunistic}[set.Security]),
	}
	if set.User != "" {
		password, err := m.Password(ctx)
		if err != nil {
			return nil, ambry.DeliveryUnavailable.Wrap(err, "no mail can be sent; the password that account.smtp.password names is not there: "+err.Error())
		}
		options = append(options, gomail.WithUsername(set.User), gomail.WithPassword(password), authentication(set.Security))
	}
	var err error
	if t.client, err = gomail.NewClient(set.Host, options...); err != nil {
		return nil, unreachable(err)
	}
	if err := t.client.DialWithContext(ctx); err != nil {
		if t.conn != nil {
			t.conn.Close()
		}
		return nil, unreachable(err)
	}
	return t, nil
}

// authentication gives a password to a server without TLS only where the settings
// allow it: on this machine.
func authentication(security string) gomail.Option {
	if security == NoTLS {
		return gomail.WithOpportunisticSMTPAuth(gomail.SMTPAuthPlainNoEnc, gomail.SMTPAuthLoginNoEnc)
	}
	return gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover)
}

func (m *Mailer) tls(host string) *tls.Config {
	return &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12, RootCAs: m.Roots}
}

func (m *Mailer) connect(ctx context.Context, network, address string, set SMTP) (net.Conn, error) {
	conn, err := m.Dial(ctx, network, address)
	if err != nil || set.Security != ImplicitTLS {
		return conn, err
	}
	secure := tls.Client(conn, m.tls(set.Host))
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secure, nil
}

func unreachable(err error) error {
	if errors.Is(err, ErrLocalOnly) {
		return ambry.DeliveryUnavailable.Wrap(err, ErrLocalOnly.Error())
	}
	return ambry.DeliveryUnavailable.Wrap(err, "the mail server does not let us in; look at account.smtp.host, port, security, user and password")
}

// send hands a mail over.
func (t *talk) send(to string, what text) error {
	m := gomail.NewMsg(gomail.WithCharset(gomail.CharsetUTF8))
	if err := errors.Join(m.From(t.from), m.To(to)); err != nil {
		return err
	}
	_, domain, _ := strings.Cut(t.from, "@")
	m.SetMessageIDWithValue(strings.ToLower(rand.Text()) + "@" + domain) // by itself it would name this machine
	m.SetUserAgent("Ambry")
	m.SetDate()
	m.SetGenHeader("Auto-Submitted", "auto-generated") // no out-of-office answers
	m.Subject(what.subject)
	m.SetBodyString(gomail.TypeTextPlain, what.body)
	if err := t.client.Send(m); err != nil && !m.IsDelivered() { // what went wrong after that does not matter
		return err
	}
	return nil
}

// close says good-bye.
func (t *talk) close() {
	_ = t.client.Close() // the server may have gone already
	t.conn.Close()
}
