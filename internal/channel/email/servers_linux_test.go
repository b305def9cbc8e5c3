package email

import (
	"bufio"
	"context"
	"crypto/x509"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
	"ambry.dev/ambry/internal/channel/channeltest"
)

// secret is put together so that nobody takes it for a real one.
var secret = strings.Join([]string{"open", "the", "harbour"}, "-")

func TestConformanceWithDovecotAndOpenSMTPD(t *testing.T) {
	p := startPost(t)
	channeltest.Run(t, Provider(), p.world)
}

func TestTheOtherWaysToDovecot(t *testing.T) {
	p := startPost(t)
	for _, security := range []string{channel.StartTLS, channel.NoTLS} {
		values := p.values()
		values["imap"], values["smtp"] = p.imap[security], p.smtp[security]
		values["imapSecurity"], values["smtpSecurity"] = security, security
		l, err := p.link(access(t, values))
		if err != nil {
			t.Fatal(err)
		}
		if who, err := l.Check(t.Context()); err != nil || who.ID != "ambry@example.org" {
			t.Errorf("%s: %+v, %v", security, who, err)
		}
		for _, wrong := range []map[string]string{{"password": "another"}, {"user": "nobody"}} {
			for k, v := range wrong {
				values[k] = v
			}
			l, err := p.link(access(t, values))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := l.Check(t.Context()); ambry.KindOf(err) != ambry.Unauthorized {
				t.Errorf("%s: %v", security, err)
			}
		}
	}
	values := p.values()
	l, err := newLink(access(t, values))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Check(t.Context()); ambry.KindOf(err) != ambry.UpstreamFailed || !strings.Contains(err.Error(), "vouches") {
		t.Error(err)
	}
	values["folder"] = "Nowhere"
	if l, err = p.link(access(t, values)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Check(t.Context()); ambry.KindOf(err) != ambry.UpstreamFailed || !strings.Contains(err.Error(), "folder") {
		t.Error(err)
	}
}

// post is real mail servers.
type post struct {
	imap, smtp map[string]string // by the way of protection
	relay      string            // where mail is delivered
	dir        string            // of the mailboxes
	roots      *x509.CertPool
	wires      *channeltest.Wires
}

// startPost is mailboxes with Dovecot, which takes our answers too and gives them
// to OpenSMTPD. What Debian 12 has of that cannot do TLS.
func startPost(t *testing.T) *post {
	t.Helper()
	needsRoot(t)
	smtpd, unshare := channeltest.Program(t, "smtpd"), channeltest.Program(t, "unshare")
	if out, err := exec.Command(unshare, "--mount", "true").CombinedOutput(); err != nil {
		t.Skipf("no mount namespace can be made here: %s", out)
	}
	dir := channeltest.Folder(t)
	p := layPost(t, dir)
	relayPort := channeltest.Port(t)
	smtpPort, smtpsPort := channeltest.Port(t), channeltest.Port(t)
	p.relay = local(relayPort)
	p.smtp = map[string]string{channel.TLS: local(smtpsPort), channel.StartTLS: local(smtpPort), channel.NoTLS: local(smtpPort)}
	config := channeltest.File(t, dir, "smtpd.conf", fmt.Sprintf(`listen on 127.0.0.1 port %d hostname test.example.org
table boxes { "ambry@example.org" = nobody, "ann@example.org" = nobody, "ben@example.org" = nobody }
action "keep" maildir "%s/%%{rcpt.user}" virtual <boxes>
match from local for domain "example.org" action "keep"
`, relayPort, p.dir))
	if err := os.Chmod(config, 0o600); err != nil {
		t.Fatal(err)
	}
	const script = `mount -t tmpfs -o mode=755 tmpfs /var/spool && mount -t tmpfs -o mode=755 tmpfs /run && exec "$1" -d -f "$0"`
	channeltest.Serve(t, greets(p.relay, "220"), exec.Command(unshare, "--mount", "--propagation", "private", "sh", "-c", script, config, smtpd))
	p.startDovecot(t, dir, fmt.Sprintf(`
protocols = imap submission
hostname = test.example.org
submission_relay_host = 127.0.0.1
submission_relay_port = %d
service submission-login {
	inet_listener submission {
		port = %d
	}
	inet_listener submissions {
		port = %d
		ssl = yes
	}
}
`, relayPort, smtpPort, smtpsPort))
	return p
}

func needsRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mail servers need root")
	}
}

func local(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// layPost makes the mailboxes, which servers fill as somebody else, and who
// vouches for the servers.
func layPost(t *testing.T, dir string) *post {
	t.Helper()
	p := &post{dir: filepath.Join(dir, "boxes")}
	_, _, p.roots = channeltest.Certificate(t, dir, "127.0.0.1")
	for _, name := range []string{"", "ambry", "ann", "ben"} {
		if err := os.Mkdir(filepath.Join(p.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(p.dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// startDovecot begins to serve the mailboxes, and what more is asked of it.
func (p *post) startDovecot(t *testing.T, dir, more string) {
	t.Helper()
	dovecot := channeltest.Program(t, "dovecot")
	imapPort, imapsPort := channeltest.Port(t), channeltest.Port(t)
	p.wires = channeltest.Lay(t, local(imapsPort), new(net.Dialer).DialContext)
	p.imap = map[string]string{channel.TLS: p.wires.Address, channel.StartTLS: local(imapPort), channel.NoTLS: local(imapPort)}
	config := channeltest.File(t, dir, "dovecot.conf", fmt.Sprintf(`
base_dir = %[1]s/run
state_dir = %[1]s/state
log_path = /dev/stderr
listen = 127.0.0.1
ssl = yes
ssl_cert = <%[1]s/cert.pem
ssl_key = <%[1]s/key.pem
disable_plaintext_auth = no
first_valid_uid = 1
first_valid_gid = 1
auth_failure_delay = 0
service anvil {
	unix_listener anvil-auth-penalty {
		mode = 0
	}
}
mail_location = maildir:%[2]s/%%n
passdb {
	driver = static
	args = password=%[5]s user=ambry@example.org
}
userdb {
	driver = static
	args = uid=nobody gid=nogroup home=%[1]s/home
}
service imap-login {
	inet_listener imap {
		port = %[3]d
	}
	inet_listener imaps {
		port = %[4]d
		ssl = yes
	}
}
`, dir, p.dir, imapPort, imapsPort, secret)+more)
	channeltest.Serve(t, greets(local(imapPort), "* OK"), exec.Command(dovecot, "-F", "-c", config))
}

// greets reports whether a server says something.
func greets(address, what string) func() bool {
	return func() bool {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return false
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second)) // it may listen without serving yet
		said, _ := bufio.NewReader(conn).ReadString('\n')
		return strings.HasPrefix(said, what)
	}
}

func (p *post) link(a channel.Access) (channel.Link, error) {
	a.Roots = p.roots
	return newLink(a)
}

func (p *post) values() map[string]string {
	return map[string]string{
		"address": "ambry@example.org", "password": secret, "imap": p.imap[channel.TLS], "smtp": p.smtp[channel.TLS], "trust": "mx.example.org",
		"imapSecurity": "tls", "smtpSecurity": "tls", "folder": "INBOX",
	}
}

func (p *post) world(t *testing.T) channeltest.World {
	wrong := p.values()
	wrong["password"] = "another"
	var last string
	seen := map[string]bool{}
	for _, name := range []string{"ann", "ben"} {
		for p.news(name, seen) != "" { // what is there is of the test before
		}
	}
	return channeltest.World{
		Values: p.values(), Wrong: wrong, New: p.link,
		Say: func(l channeltest.Line) {
			head := ""
			if l.Bot {
				head = "Auto-Submitted: auto-generated\r\n"
			}
			last = written(l.From, head, l.Text)
			p.deliver(t, l.From, last)
		},
		Hear: func(within time.Duration) (s channeltest.Sent, ok bool) {
			for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
				for _, name := range []string{"ann", "ben"} {
					if raw := p.news(name, seen); raw != "" {
						return heard(t, name, raw), true
					}
				}
			}
			return s, false
		},
		Cut:       p.wires.Cut,
		Again:     func() { p.deliver(t, "ann", last) },
		NoGroups:  true,
		Bots:      true,
		Remembers: true,
		Libraries: []string{"github.com/emersion/", "github.com/wneessen/"},
	}
}

// written is a mail as people write it, and as the server that checks it passes
// it on.
func written(from, head, text string) string {
	var body strings.Builder
	w := quotedprintable.NewWriter(&body)
	_, _ = w.Write([]byte(strings.ReplaceAll(text, "\n", "\r\n"))) // to memory
	_ = w.Close()
	return fmt.Sprintf("Authentication-Results: mx.example.org;\r\n\tdmarc=pass (p=none) header.from=example.org\r\n"+
		"From: %s <%s@example.org>\r\nTo: ambry@example.org\r\nSubject: a question\r\nDate: %s\r\nMessage-ID: <%d@example.org>\r\n%s"+
		"MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n%s\r\n\r\n-- \r\n%s\r\n",
		strings.ToUpper(from[:1])+from[1:], from, time.Now().Format(time.RFC1123Z), time.Now().UnixNano(), head, body.String(), from)
}

// deliver returns when the mail is in our mailbox.
func (p *post) deliver(t *testing.T, from, raw string) {
	t.Helper()
	before := p.count()
	if err := smtp.SendMail(p.relay, nil, from+"@example.org", []string{"ambry@example.org"}, []byte(raw)); err != nil {
		t.Error(err)
		return
	}
	channeltest.Await(t, "a mail is delivered", func() bool { return p.count() > before })
}

func (p *post) count() (n int) {
	for _, folder := range []string{"new", "cur"} {
		files, _ := os.ReadDir(filepath.Join(p.dir, "ambry", folder)) // there is none before the first mail
		n += len(files)
	}
	return n
}

// news is the next mail in somebody's mailbox, "" if there is none.
func (p *post) news(name string, seen map[string]bool) string {
	files, _ := os.ReadDir(filepath.Join(p.dir, name, "new")) // there is none before the first mail
	for _, f := range files {
		if path := filepath.Join(p.dir, name, "new", f.Name()); !seen[path] {
			seen[path] = true
			if raw, err := os.ReadFile(path); err == nil {
				return string(raw)
			}
		}
	}
	return ""
}

// heard is an answer as people read it.
func heard(t *testing.T, name, raw string) channeltest.Sent {
	t.Helper()
	m, err := mail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	s := channeltest.Sent{In: name}
	subject, _ := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if kind := m.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/plain") || m.Header.Get("Auto-Submitted") != "auto-replied" ||
		m.Header.Get("In-Reply-To") == "" || !slices.Contains(strings.Fields(m.Header.Get("References")), m.Header.Get("In-Reply-To")) || subject != "Re: a question" {
		s.Live = fmt.Sprintf("%v", m.Header)
	}
	var body strings.Builder
	r := bufio.NewReader(quotedprintable.NewReader(m.Body))
	_, _ = r.WriteTo(&body) // from memory
	s.Text = strings.TrimSpace(strings.ReplaceAll(body.String(), "\r\n", "\n"))
	return s
}

// Mails that came while nobody read are found, also when the server has given
// them new numbers.
func TestAMailboxWithNewNumbersIsReadWhereItWasLeft(t *testing.T) {
	p := startPost(t)
	l, err := p.link(access(t, p.values()))
	if err != nil {
		t.Fatal(err)
	}
	p.deliver(t, "ann", written("ann", "", "before anything"))
	h, stop := run(t, l, "")
	<-h.connected
	p.deliver(t, "ann", written("ann", "", "first"))
	if m := <-h.received; m.Text != "first" {
		t.Errorf("received %+v", m.Message)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	at, ok := parseCursor(h.cursor())
	if !ok {
		t.Fatalf("kept %q", h.cursor())
	}
	at.validity++
	at.last += 1000
	p.deliver(t, "ann", written("ann", "", "second"))
	h, stop = run(t, l, at.String())
	<-h.connected
	m := <-h.received
	for m.Text != "second" { // what came in the same second is read again
		m = <-h.received
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Run(ctx, h); err != nil {
		t.Error(err)
	}
}
