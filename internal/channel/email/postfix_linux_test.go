package email

import (
	"fmt"
	"net/smtp"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
	"ambry.dev/ambry/internal/channel/channeltest"
)

func TestConformanceWithDovecotAndPostfix(t *testing.T) {
	p := startPostfix(t)
	channeltest.Run(t, Provider(), p.world)
}

// Postfix asks Dovecot who may send.
func TestTheWaysToPostfix(t *testing.T) {
	p := startPostfix(t)
	for _, security := range []string{channel.TLS, channel.StartTLS, channel.NoTLS} {
		values := p.values()
		values["smtp"], values["smtpSecurity"] = p.smtp[security], security
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
			// Check would be refused by the mailbox first.
			if _, err := l.(*link).outbox(t.Context()); ambry.KindOf(err) != ambry.Unauthorized {
				t.Errorf("%s with %v: %v", security, wrong, err)
			}
		}
	}
	values := p.values()
	l, err := newLink(access(t, values))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.(*link).outbox(t.Context()); ambry.KindOf(err) != ambry.UpstreamFailed || !strings.Contains(err.Error(), "vouches") {
		t.Error(err)
	}
}

// Who writes to our address with the word is let in, and answers from there, as
// the answer asks.
func TestAWordInTheAddressThroughPostfix(t *testing.T) {
	p := startPostfix(t)
	values := p.values()
	values["trust"], values["word"] = "", "sesame1sesame"
	l, err := p.link(access(t, values))
	if err != nil {
		t.Fatal(err)
	}
	h, stop := run(t, l, "")
	<-h.connected
	seen := map[string]bool{}
	for i, to := range []string{"ambry@example.org", "ambry+sesame1sesame@example.org"} {
		raw := strings.Replace(written("ann", "", fmt.Sprint("question ", i)), "To: ambry@example.org", "To: friends: "+to+";", 1)
		before := p.count()
		if err := smtp.SendMail(p.relay, nil, "ann@example.org", []string{to}, []byte(raw)); err != nil {
			t.Fatal(err)
		}
		channeltest.Await(t, "a mail is delivered", func() bool { return p.count() > before })
	}
	m := <-h.received
	if m.Text != "question 1" {
		t.Errorf("received %+v", m.Message)
	}
	if err := m.send(t.Context(), "an answer"); err != nil {
		t.Fatal(err)
	}
	answer := ""
	channeltest.Await(t, "the answer arrives", func() bool { answer = p.news("ann", seen); return answer != "" })
	if !strings.Contains(answer, "Reply-To: <ambry+sesame1sesame@example.org>") {
		t.Errorf("the answer is %s", answer)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// postfixDir returns where Postfix is, as installed or as scripts/servers.sh
// unpacks it, and the environment it needs.
func postfixDir(t *testing.T) (daemons string, env []string) {
	t.Helper()
	unpacked, err := filepath.Abs("../../../build/postfix/usr/lib/postfix")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/usr/lib/postfix/sbin", "/usr/libexec/postfix", filepath.Join(unpacked, "sbin")} {
		if _, err := os.Stat(filepath.Join(dir, "master")); err == nil {
			return dir, append(os.Environ(), "LD_LIBRARY_PATH="+unpacked)
		}
	}
	t.Skip("postfix is not there (scripts/servers.sh)")
	return "", nil
}

const mainCf = `compatibility_level = 3.6
queue_directory = %[1]s/queue
data_directory = %[1]s/data
daemon_directory = %[2]s
shlib_directory = no
meta_directory = %[1]s
command_directory = %[1]s
import_environment = MAIL_CONFIG MAIL_LOGTAG LD_LIBRARY_PATH TZ LANG=C
mail_owner = %[3]s
setgid_group = %[4]s
maillog_file = %[1]s/postfix.log
maillog_file_prefixes = %[1]s
myhostname = test.example.org
mydestination =
mynetworks = 127.0.0.0/8
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
disable_dns_lookups = yes
alias_maps =
local_recipient_maps =
default_transport = error
fast_flush_domains =
in_flow_delay = 0
recipient_delimiter = +
virtual_mailbox_domains = example.org
virtual_mailbox_base = %[1]s/boxes
virtual_mailbox_maps = inline:{ambry@example.org=ambry/, ann@example.org=ann/, ben@example.org=ben/}
virtual_uid_maps = static:65534
virtual_gid_maps = static:65534
smtpd_relay_restrictions = permit_mynetworks, reject
smtpd_error_sleep_time = 0
smtpd_sasl_type = dovecot
smtpd_sasl_path = %[1]s/sasl
smtpd_tls_cert_file = %[1]s/cert.pem
smtpd_tls_key_file = %[1]s/key.pem
`

const masterCf = `127.0.0.1:%[1]d inet n - n - - smtpd
127.0.0.1:%[2]d inet n - n - - smtpd
  -o smtpd_tls_security_level=may -o smtpd_sasl_auth_enable=yes -o smtpd_client_restrictions=permit_sasl_authenticated,reject
127.0.0.1:%[3]d inet n - n - - smtpd
  -o smtpd_tls_wrappermode=yes -o smtpd_sasl_auth_enable=yes -o smtpd_client_restrictions=permit_sasl_authenticated,reject
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
error unix - - n - - error
retry unix - - n - - error
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
`

// startPostfix is mailboxes with Dovecot, and Postfix to send and to deliver.
func startPostfix(t *testing.T) *post {
	t.Helper()
	needsRoot(t)
	daemons, env := postfixDir(t)
	// It wants a user and a group that are not root's, not nobody's, and not the
	// same. Where it is not installed, there are others that do nothing here.
	owner, group := firstOf(t, "postfix", "mail"), "postdrop"
	if _, err := user.LookupGroup(group); err != nil {
		group = "news"
	}
	uid, err := strconv.Atoi(owner.Uid)
	if err != nil {
		t.Fatal(err)
	}
	dir := channeltest.Folder(t)
	p := layPost(t, dir)
	p.startDovecot(t, dir, fmt.Sprintf(`
protocols = imap
service auth {
	unix_listener %s/sasl {
		mode = 0666
	}
}
`, dir))
	for path, as := range map[string]int{
		"queue": 0, "queue/pid": 0, "data": uid, "queue/active": uid, "queue/bounce": uid, "queue/corrupt": uid, "queue/defer": uid, "queue/deferred": uid,
		"queue/flush": uid, "queue/hold": uid, "queue/incoming": uid, "queue/maildrop": uid, "queue/private": uid, "queue/public": uid, "queue/saved": uid, "queue/trace": uid,
	} {
		if err := os.MkdirAll(filepath.Join(dir, path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(filepath.Join(dir, path), as, 0); err != nil {
			t.Fatal(err)
		}
	}
	relay, submission, submissions := channeltest.Port(t), channeltest.Port(t), channeltest.Port(t)
	p.relay = local(relay)
	p.smtp = map[string]string{channel.TLS: local(submissions), channel.StartTLS: local(submission), channel.NoTLS: local(submission)}
	channeltest.File(t, dir, "main.cf", fmt.Sprintf(mainCf, dir, daemons, owner.Username, group))
	channeltest.File(t, dir, "master.cf", fmt.Sprintf(masterCf, relay, submission, submissions))
	t.Cleanup(func() {
		if said, err := os.ReadFile(filepath.Join(dir, "postfix.log")); err == nil && t.Failed() {
			t.Logf("postfix said:\n%s", said)
		}
	})
	master := exec.Command(filepath.Join(daemons, "master"), "-d", "-c", dir)
	master.Env = env
	master.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // when it ends, it ends its group
	channeltest.Serve(t, greets(p.relay, "220"), master)
	return p
}

// firstOf is the first of some users that this machine has.
func firstOf(t *testing.T, names ...string) *user.User {
	t.Helper()
	for _, name := range names {
		if u, err := user.Lookup(name); err == nil {
			return u
		}
	}
	t.Skipf("there is no user of %v", names)
	return nil
}
