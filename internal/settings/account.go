package settings

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Account is where codes and sessions come from.
type Account struct {
	URL  string // of an account service elsewhere; empty means the one that is embedded
	SMTP SMTP   // of the one that is embedded
}

// SMTP is the way to a mail server.
type SMTP struct {
	Host     string // empty means that there is none
	Port     int    // 0 is the usual one
	Security string // starttls, tls or none
	User     string
	Password string // a reference: env:NAME or keychain:ID
	From     string
}

// accountOptions are what can be set of the account.
var accountOptions = []option{
	smtp("account.smtp.from", "address that mails with codes come from, such as ambry@example.org", func(s *SMTP) *string { return &s.From }, mailbox),
	smtp("account.smtp.host", "mail server that sends the codes of accounts", func(s *SMTP) *string { return &s.Host }, host),
	smtp("account.smtp.password", "where the password is: env:NAME, a variable that ends in _SMTP_PASSWORD, or keychain:ID", func(s *SMTP) *string { return &s.Password }, passwordReference),
	{
		key: "account.smtp.port", kind: number, live: true,
		about: "port of the mail server; 0 is 465 for tls, 587 for starttls and 25 for none",
		put: func(s *Settings, v value) error {
			s.Account.SMTP.Port = v.number
			if v.number < 0 || v.number > 65535 {
				return errors.New("must be 0 to 65535")
			}
			return nil
		},
		show: func(s Settings) string { return strconv.Itoa(s.Account.SMTP.Port) },
	},
	{
		key: "account.smtp.security", kind: text, live: true, initial: value{text: "starttls"},
		about: "how the connection to the mail server is protected: starttls, tls, or none",
		put: func(s *Settings, v value) error {
			s.Account.SMTP.Security = v.text
			if !slices.Contains([]string{"starttls", "tls", "none"}, v.text) {
				return errors.New("must be starttls, tls or none")
			}
			return nil
		},
		show: func(s Settings) string { return s.Account.SMTP.Security },
	},
	smtp("account.smtp.user", "name to log in to the mail server with; empty logs in as nobody", func(s *SMTP) *string { return &s.User }, printable),
	{
		key: "account.url", kind: text, live: true,
		about: "address of an account service of a team, see docs/account.md; if empty, Ambry sends the codes itself",
		put: func(s *Settings, v value) (err error) {
			if s.Account.URL, err = baseURL(v.text); err != nil {
				return err
			}
			if u, err := url.Parse(s.Account.URL); err != nil || u.Scheme == "http" && !loopback(s.Account.URL) {
				return errors.New("must be https: codes and sessions travel there")
			}
			return nil
		},
		show: func(s Settings) string { return s.Account.URL },
	},
}

func smtp(key, about string, of func(*SMTP) *string, check func(string) error) option {
	return option{
		key: key, about: about, kind: text, live: true,
		put: func(s *Settings, v value) error {
			*of(&s.Account.SMTP) = v.text
			if v.text == "" {
				return nil
			}
			return check(v.text)
		},
		show: func(s Settings) string { return *of(&s.Account.SMTP) },
	}
}

var (
	mailboxShape = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z0-9.!#$%&'*+/=?^_{|}~` + "`" + `-]{1,64}@[A-Za-z0-9.-]{1,185}$`)
	})
	hostShape     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$`) })
	passwordShape = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(env:[A-Za-z_][A-Za-z0-9_]{0,100}_SMTP_PASSWORD|keychain:[A-Za-z0-9][A-Za-z0-9._-]{0,99})$`)
	})
)

func mailbox(s string) error {
	if !mailboxShape().MatchString(s) {
		return errors.New("must be a plain address such as ambry@example.org")
	}
	return nil
}

func host(s string) error {
	if _, err := netip.ParseAddr(s); err != nil && !hostShape().MatchString(s) {
		return errors.New("must be the name or address of a host, without a port")
	}
	return nil
}

// passwordReference does not repeat what it refuses: it may be the password.
func passwordReference(s string) error {
	if !passwordShape().MatchString(s) {
		return errors.New("must say where the password is, env:NAME_SMTP_PASSWORD or keychain:ID; the password itself does not belong here")
	}
	return nil
}

func printable(s string) error {
	if len(s) > 254 || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("must be printable ASCII without spaces")
	}
	return nil
}

// agree reports what is wrong with values that are each valid.
func (a Account) agree(origins map[string]string) error {
	s := a.SMTP
	switch {
	case s.User != "" && s.Password == "":
		return fmt.Errorf("%s: account.smtp.user needs account.smtp.password beside it", origins["account.smtp.user"])
	case s.User != "" && s.Security == "none" && !loopback("//"+bracketed(s.Host)):
		return fmt.Errorf("%s: account.smtp.security none sends no password to another machine; use starttls or tls", origins["account.smtp.security"])
	}
	return nil
}

func bracketed(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}
